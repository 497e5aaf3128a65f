//! `toolyard sandbox run`, `doctor`, and the tools by their names.

use std::{
    io::Write,
    process::{Command, Output, Stdio},
};

use serde_json::{Value, json};

use super::{config, containers};

fn toolyard(folder: &std::path::Path, arguments: &[&str], input: &str) -> (Value, i32, String) {
    let mut program = Command::new(env!("CARGO_BIN_EXE_toolyard"));
    program.args(arguments).current_dir(folder);
    let mut child =
        program.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
    let answer = serde_json::from_slice(&stdout).unwrap_or(Value::Null);
    (answer, status.code().unwrap(), String::from_utf8(stderr).unwrap())
}

#[test]
fn one_run_prints_its_result_and_leaves_nothing() {
    let name = config().sandbox.name;
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("toolyard.toml"), format!("[sandbox]\nname = \"{name}\"")).unwrap();
    let (mut answer, code, stderr) =
        toolyard(folder.path(), &["sandbox", "run", "-"], "print('it\\'s')\nopen('a.png', 'w').write('x')");
    assert!(answer["elapsed_ms"].take().is_u64(), "{answer} {stderr}");
    let expected = json!({
        "exit_code": 0, "signal": null, "stdout": "it's\n", "stderr": "", "value": null, "timed_out": false,
        "oom": false, "truncated": false, "elapsed_ms": null, "artifacts": [{"path": "a.png", "bytes": 1}],
    });
    assert_eq!((answer, code, stderr.as_str()), (expected, 0, ""));
    let (answer, code, _) =
        toolyard(folder.path(), &["sandbox", "run", "--shell", "-"], "echo err >&2; exit 3");
    assert_eq!((&answer["exit_code"], &answer["stderr"], code), (&json!(3), &json!("err\n"), 1));
    let late = ["sandbox", "run", "--timeout", "0.3", "-"];
    let (answer, code, _) = toolyard(folder.path(), &late, "while True: pass");
    assert_eq!((&answer["timed_out"], &answer["signal"], code), (&json!(true), &json!(9), 1));
    assert_eq!(containers(&name), Vec::<String>::new());
}

#[test]
fn what_is_missing_is_one_line_and_status_3_and_the_doctor_says_so_too() {
    let folder = tempfile::tempdir().unwrap();
    let configure = |text: &str| std::fs::write(folder.path().join("toolyard.toml"), text).unwrap();
    configure("[sandbox]\nimage = \"toolyard-no-such-image:1\"");
    let (_, code, stderr) = toolyard(folder.path(), &["sandbox", "run", "-"], "1");
    assert_eq!((code, stderr.lines().count()), (3, 1), "{stderr}");
    assert!(stderr.contains("toolyard sandbox build"), "{stderr}");
    let docker = |answer: &Value| {
        let checks = answer["checks"].as_array().unwrap().clone();
        checks.into_iter().find(|check| check["name"] == "docker").unwrap()
    };
    let (answer, code, _) = toolyard(folder.path(), &["doctor"], "");
    assert_eq!((&docker(&answer)["ok"], code), (&json!(false), 1));
    assert!(docker(&answer)["says"].as_str().unwrap().contains("toolyard sandbox build"), "{answer}");
    configure("[sandbox]\ndaemon = \"unix:///nowhere\"");
    let (_, code, stderr) = toolyard(folder.path(), &["sandbox", "run", "-"], "1");
    assert!(code == 3 && stderr.contains("unix:///nowhere"), "{stderr}");
    configure("");
    let (answer, _, _) = toolyard(folder.path(), &["doctor"], "");
    assert_eq!(docker(&answer)["ok"], true, "{answer}");
}

#[test]
fn the_tools_are_there_when_they_are_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let (answer, _, _) = toolyard(folder.path(), &["tools"], "");
    assert!(!answer.to_string().contains("sandbox_python"), "they need a service: {answer}");
    let list = r#"[{"name": "sandbox_python", "arguments": "print(6 * 7)"}, {"name": "sandbox_shell", "arguments": {"code": "echo hi"}}]"#;
    let (answer, code, stderr) =
        toolyard(folder.path(), &["call", "--tools", "sandbox_python,sandbox_shell"], list);
    assert_eq!(code, 0, "{answer} {stderr}");
    assert_eq!(answer["results"][0]["output"]["stdout"], "42\n");
    assert_eq!(answer["results"][1]["output"]["stdout"], "hi\n");
}
