//! File tools do not write what a running child process takes code from.

use std::{fs, os::unix::fs::symlink, process::Command};

use serde_json::{Value, json};
use toolyard::{
    Engine, ExecuteOptions, PythonConfig, PythonFile, ToolCall,
    builtin::file::{FileRoot, FileWriteTool},
};

use super::{Place, results, run, toolyard};

/// An engine that may write a folder and runs a Python file.
fn engine(root: &std::path::Path, file: &std::path::Path, change: impl FnOnce(&mut PythonConfig)) -> Engine {
    let mut config = PythonConfig::default();
    change(&mut config);
    let write = FileWriteTool::new(FileRoot::open(root).unwrap());
    let engine =
        Engine::builder().tool(write).python(config).python_file(PythonFile::new(file)).build().unwrap();
    assert_eq!(engine.python_report().problems, Vec::<String>::new());
    engine
}

/// Writes to a path in every way; the outcomes.
fn write(engine: &Engine, path: &str) -> Vec<&'static str> {
    let ways: [Value; 4] = [
        json!({"path": path, "content": "x"}),
        json!({"path": path, "content": "x", "append": true}),
        json!({"path": path, "content": ""}),
        json!({"input": path, "text": "x"}),
    ];
    let calls = ways.map(|arguments| ToolCall::new("file_write", arguments.into()));
    let report = engine.execute_blocking(calls.to_vec(), ExecuteOptions::new()).unwrap();
    report.results.iter().map(|result| result.outcome.as_str()).collect()
}

const REFUSED: [&str; 4] = ["denied"; 4];
const WRITTEN: [&str; 4] = ["ok"; 4];

#[test]
fn nothing_is_written_that_a_python_file_may_import_by_any_spelling() {
    let root = Place::new();
    root.write(
        "t/tools.py",
        "import helper, linked\nfrom package import inner\ndef hello(): return helper.said\n",
    );
    root.write("t/helper.py", "said = 'hello'\n");
    root.write("t/package/__init__.py", "");
    root.write("t/package/inner.py", "");
    root.write("t/note.txt", "");
    // A module that is a link to elsewhere, and ways to the folder and to a file that are links.
    root.write("real/linked.py", "");
    symlink(root.path("real/linked.py"), root.path("t/linked.py")).unwrap();
    symlink(root.path("t"), root.path("way")).unwrap();
    symlink(root.path("t/helper.py"), root.path("note")).unwrap();
    let engine = engine(root.0.path(), &root.path("t/tools.py"), |_| ());

    let stems =
        ["tools", "helper", "new", "json", "sitecustomize", "package/inner", "package/__init__", "p/q/x"];
    let suffixes = ["py", "PY", "Py", "pyc", "pth", "so", "cpython-311-x86_64-linux-gnu.so", "pyd", "so.1"];
    let folders = ["t/", "way/", "./t//", "t/package/../", "other/../t/"];
    fs::create_dir(root.path("other")).unwrap();
    let mut refused = Vec::new();
    for (index, stem) in stems.iter().enumerate() {
        for (other, suffix) in suffixes.iter().enumerate() {
            refused.push(format!("{}{stem}.{suffix}", folders[(index + other) % folders.len()]));
        }
    }
    let whole = root.shown("t/helper.py");
    let others = [
        "note",
        "real/linked.py",
        "t/__pycache__/helper.txt",
        "t/package/__pycache__/x",
        "T/helper.py",
        &whole,
    ];
    for path in refused.iter().map(String::as_str).chain(others) {
        assert_eq!(write(&engine, path), REFUSED, "{path}");
    }
    for path in ["t/note.txt", "t/data/x.json", "t/py", "t/x.py.txt", "x.py", "other/json.py", "json.pth"] {
        assert_eq!(write(&engine, path), WRITTEN, "{path}");
    }
    assert!(!root.path("t/p").exists(), "no folder was made either: Python takes it for a package");
    assert_eq!(fs::read_to_string(root.path("t/helper.py")).unwrap(), "said = 'hello'\n");
    let calls = vec![ToolCall::new("file_write", json!({"path": "t/x.py", "content": ""}).into())];
    let refused = engine.execute_blocking(calls, ExecuteOptions::new()).unwrap().results.remove(0);
    let error = refused.error.unwrap();
    assert!(error.contains("\"t/x.py\"") && error.contains("take code from it"), "{error}");
}

#[test]
fn a_virtual_environment_in_the_folder_is_not_written() {
    let root = Place::new();
    let made = Command::new("python3")
        .args(["-m", "venv", "--without-pip"])
        .arg(root.path("venv"))
        .status()
        .unwrap();
    assert!(made.success());
    root.write("apart/tools.py", "def hello(): return 'hello'\n");
    let engine = engine(root.0.path(), &root.path("apart/tools.py"), |config| {
        config.interpreter = root.path("venv/bin/python");
    });
    let library = fs::read_dir(root.path("venv/lib")).unwrap().next().unwrap().unwrap().file_name();
    let packages = format!("venv/lib/{}/site-packages", library.display());
    let inside = ["x.pth", "json.py", "x/__init__.py", "x-1.dist-info/entry_points.txt"];
    let inside = inside.map(|name| format!("{packages}/{name}"));
    let outside = ["venv/pyvenv.cfg", "venv/bin/activate", "venv/x"].map(str::to_owned);
    for path in inside.iter().chain(&outside) {
        assert_eq!(write(&engine, path), REFUSED, "{path}");
    }
    assert_eq!(write(&engine, "x.pth"), WRITTEN);
}

#[test]
fn configurations_and_the_scripts_of_servers_are_not_written() {
    let place = Place::new();
    place.write("server/main.py", "");
    place.write("server/main.js", "");
    let config = format!(
        "[tools]\nenable = [\"file_write\"]\n[mcp.servers.s]\ncommand = \"python3\"\nargs = [{:?}]\n\
         [mcp.servers.n]\ncommand = \"server/main.js\"\n",
        place.shown("server/main.py")
    );
    place.write("here.toml", &config);
    place.write("servers.json", r#"{"mcpServers": {}}"#);
    let paths = [
        "here.toml",
        "toolyard.toml",
        "servers.json",
        "server/main.py",
        "server/json.py",
        "server/new.js",
        "server/main.js",
        "server/node_modules/a/index.js",
        "server/package.json",
        "SERVER/.env",
    ];
    let written = ["notes.txt", "server/notes.txt", "other/main.py"];
    let call = |path: &&str| json!({"name": "file_write", "arguments": {"path": path, "content": "x"}});
    let list: Vec<_> = paths.iter().chain(&written).map(call).collect();
    let options = ["call", "--config", "here.toml", "--mcp-config", "servers.json"];
    let output = run(toolyard(place.0.path(), &options), &json!(list).to_string());
    let outcomes: Vec<_> = results(&output).into_iter().map(|(outcome, _)| outcome).collect();
    let expected = paths.iter().map(|_| "denied").chain(written.iter().map(|_| "ok"));
    assert_eq!(outcomes, expected.collect::<Vec<_>>(), "{output:?}");
}
