//! `toolyard.toml` and the options that win over it.

use std::{fs, path::Path};

use tempfile::TempDir;

use super::{json, outcomes, toolyard};

const LIST: &str = r#"[{"name": "calculator", "arguments": "1+1"}, {"name": "file_read", "arguments": {"path": "note.txt"}}]"#;

/// A folder with a configuration and a file to read.
fn folder(toml: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("toolyard.toml"), toml).unwrap();
    fs::write(folder.path().join("note.txt"), "hello").unwrap();
    fs::write(folder.path().join("list.json"), LIST).unwrap();
    folder
}

/// Runs the program in a folder; its outcomes, its exit status, its standard error.
fn call(folder: &Path, options: &[&str]) -> (Vec<String>, i32, String) {
    let arguments = [&["call", "list.json"], options].concat();
    let output = toolyard(&arguments).current_dir(folder).output().unwrap();
    let shown = if output.stdout.is_empty() {
        Vec::new()
    } else {
        outcomes(&json(&output)).iter().map(|&o| o.to_owned()).collect()
    };
    (shown, output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn the_configuration_of_the_current_folder_is_used_and_options_win_over_it() {
    let folder = folder("[tools]\nenable = [\"calculator\"]");
    assert_eq!(call(folder.path(), &[]).0, ["ok", "unknown_tool"]);
    assert_eq!(call(folder.path(), &["--tools", "calc,file_read"]).0, ["ok", "ok"]);
}

#[test]
fn a_configuration_elsewhere_is_named_and_its_root_begins_in_its_folder() {
    let (here, there) = (folder(""), folder("[tools]\nroot = \".\""));
    fs::remove_file(here.path().join("note.txt")).unwrap();
    let config = there.path().join("toolyard.toml");
    assert_eq!(call(here.path(), &["--config", config.to_str().unwrap()]).0, ["ok", "ok"]);
    assert_eq!(call(here.path(), &[]).0, ["ok", "failed"]);
}

#[test]
fn rules_of_the_command_line_come_before_those_of_the_file_and_keep_their_order() {
    let folder = folder("[[tools.rule]]\nmode = \"deactivate\"\npattern = \"file_*\"");
    assert_eq!(call(folder.path(), &[]).0, ["ok", "inactive"]);
    assert_eq!(call(folder.path(), &["--activate", "file_read"]).0, ["ok", "ok"]);
    assert_eq!(call(folder.path(), &["--activate", "*read", "--deactivate", "*"]).0, ["inactive", "ok"]);
    assert_eq!(
        call(folder.path(), &["--deactivate", "*", "--activate", "*read"]).0,
        ["inactive", "inactive"]
    );
}

#[test]
fn a_tool_that_is_switched_off_is_not_listed() {
    let folder = folder("");
    let list = |options: &[&str]| {
        let arguments = [&["tools", "--format", "names"], options].concat();
        let output = toolyard(&arguments).current_dir(folder.path()).output().unwrap();
        json(&output).as_array().unwrap().iter().map(|tool| tool["name"].clone()).collect::<Vec<_>>()
    };
    let all = list(&[]);
    let others: Vec<_> = all.iter().filter(|name| !name.as_str().unwrap().starts_with("file_")).collect();
    assert_eq!(list(&["--deactivate", "file_*"]).iter().collect::<Vec<_>>(), others);
    assert_eq!(all.len(), others.len() + 2);
}

#[test]
fn a_bad_configuration_is_one_line_with_file_line_and_column_and_exit_status_2() {
    for (toml, expected) in [
        (
            "[engine]\nmax_in_fligth = 1",
            "toolyard: toolyard.toml: line 2, column 1: unknown key \"max_in_fligth\"; the nearest known one is \"max_in_flight\"\n",
        ),
        (
            "[tools]\nenable = [\"calculater\"]",
            "toolyard: tools.enable: no built-in tool is named \"calculater\"; there is: calculator\n",
        ),
    ] {
        let folder = folder(toml);
        assert_eq!(call(folder.path(), &[]), (vec![], 2, expected.to_owned()));
    }
    let folder = folder("");
    let (_, status, error) = call(folder.path(), &["--config", "none.toml"]);
    assert_eq!(status, 2);
    assert!(error.starts_with("toolyard: none.toml: "), "{error}");
}

#[test]
fn limits_of_the_file_tools_come_from_the_file_and_from_options_that_win_over_it() {
    let folder = folder("[file_read]\nmax_bytes = 4\n");
    assert_eq!(call(folder.path(), &[]).0, ["ok", "failed"], "the file has 5 bytes");
    assert_eq!(call(folder.path(), &["--max-file-bytes", "5"]).0, ["ok", "ok"]);
    let only =
        |extensions| call(folder.path(), &["--max-file-bytes", "5", "--file-extensions", extensions]).0;
    assert_eq!(only("md,TXT"), ["ok", "ok"]);
    assert_ne!(only("md")[1], "ok");
    let write = r#"[{"name": "file_write", "arguments": {"path": "new/a.txt", "content": "1"}}]"#;
    fs::write(folder.path().join("list.json"), write).unwrap();
    assert_ne!(call(folder.path(), &["--no-create-folders"]).0, ["ok"]);
    assert!(!folder.path().join("new").exists());
    assert_eq!(call(folder.path(), &[]).0, ["ok"]);
}
