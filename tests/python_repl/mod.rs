//! The tool `python_repl` on this machine: sessions, and code that does its worst.

mod cli;
#[cfg(feature = "docker")]
mod container;
mod hostile;
mod output;
mod sessions;

use std::{fs, time::Duration};

use serde_json::json;
use toolyard::{
    Engine, ExecuteOptions, ToolCall, ToolResult,
    builtin::python_repl::{HostProcess, PythonReplConfig, PythonReplTool},
};

/// An engine with the tool alone.
struct Repl(Engine);

impl Repl {
    fn new() -> Self {
        Self::with(PythonReplConfig::default())
    }

    fn with(config: PythonReplConfig) -> Self {
        let mut host = HostProcess::default();
        host.max_processes = 16;
        Self(Engine::builder().tool(PythonReplTool::new(config, host)).build().unwrap())
    }

    /// Settings under which a call is given up soon.
    fn hasty() -> Self {
        let mut config = PythonReplConfig::default();
        config.timeout = Duration::from_secs(2);
        Self::with(config)
    }

    fn run(&self, code: &str) -> ToolResult {
        self.run_for(None, code)
    }

    fn run_for(&self, agent: Option<&str>, code: &str) -> ToolResult {
        let options = agent.into_iter().fold(ExecuteOptions::new(), ExecuteOptions::agent);
        let calls = vec![ToolCall::new("python_repl", json!({"code": code}).into())];
        self.0.execute_blocking(calls, options).unwrap().results.remove(0)
    }

    /// Runs code that works, and gives its text.
    fn text(&self, code: &str) -> String {
        let result = self.run(code);
        assert!(result.is_ok(), "{code}: {result:?}");
        text(&result).to_owned()
    }

    /// The folder of the current session, which all its processes are in.
    fn folder(&self) -> String {
        self.text("import os\nprint(os.getcwd())").trim().to_owned()
    }
}

fn text(result: &ToolResult) -> &str {
    result.output.as_ref().unwrap_or_else(|| panic!("no output: {result:?}")).as_text().unwrap()
}

fn error(result: &ToolResult) -> &str {
    result.error.as_deref().unwrap_or_else(|| panic!("no error: {result:?}"))
}

/// Runs code whose text has half characters (lone surrogates), in every place where a session gives text.
fn check_half_characters(run: impl Fn(&str) -> ToolResult) {
    let half = "half characters (lone surrogates) are given as U+FFFD";
    let show = "class Show:\n    def __repr__(self): return 'a\\ud800b'\n";
    for (code, expected, notes) in [
        ("print('a\\udcffb')", "a\u{fffd}b\n", vec![half]),
        ("import sys; print('a\\udcffb', file=sys.stderr)", "a\u{fffd}b\n", vec![half]),
        (&format!("{show}Show()"), "a\u{fffd}b", vec![half]),
        // Two halves that belong together are a character.
        ("print('\\ud83d\\ude00')", "\u{1f600}\n", vec![]),
        // Python itself writes them so.
        ("'\\ud800'", "'\\ud800'", vec![]),
        ("'\u{fffd}'", "'\u{fffd}'", vec![]),
    ] {
        let result = run(code);
        assert!(result.is_ok(), "{code}: {result:?}");
        assert_eq!(text(&result), expected, "{code}");
        assert_eq!(result.detail.unwrap_or_default().notes, notes, "{code}");
    }
    let failed = run("raise ValueError('a\\udcffb')");
    assert_eq!(error(&failed), "ValueError: a\u{fffd}b");
    let detail = failed.detail.unwrap();
    assert_eq!(detail.notes, [half]);
    assert!(detail.traceback.unwrap().ends_with("ValueError: a\u{fffd}b\n"));
}

/// The running processes in a folder, by their ids.
fn processes_in(folder: &str) -> Vec<String> {
    let entries =
        fs::read_dir("/proc").unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let is_in = |id: &String| {
        let place = fs::read_link(format!("/proc/{id}/cwd"));
        place.is_ok_and(|place| place.to_string_lossy().starts_with(folder))
    };
    entries.filter(|name| name.bytes().all(|byte| byte.is_ascii_digit())).filter(is_in).collect()
}
