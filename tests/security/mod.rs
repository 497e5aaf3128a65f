//! What no call, no document and no file that a model wrote can bring about.

mod offered;
mod planted;
mod secrets;
mod written;

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use serde_json::Value;
use tempfile::TempDir;

/// A server that gives the value of a variable, among other things.
const MCP_SERVER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/mcp/server.py");

/// A folder with files.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn shown(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn write_program(&self, name: &str, text: &str) {
        self.write(name, text);
        fs::set_permissions(self.path(name), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    }
}

/// The program in a folder.
fn toolyard(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_toolyard"));
    command.args(arguments).current_dir(folder);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Lets a program run on `input` to its end.
fn run(mut command: Command, input: &str) -> Output {
    let mut child = command.spawn().unwrap();
    // It may end before it has read everything.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}

/// The outcome of each call and what it gave, output or error.
fn results(output: &Output) -> Vec<(String, String)> {
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let results = answer["results"].as_array().unwrap().iter();
    results
        .map(|result| {
            let given = if result["error"].is_null() { &result["output"] } else { &result["error"] };
            (text(&result["outcome"]), text(given))
        })
        .collect()
}
