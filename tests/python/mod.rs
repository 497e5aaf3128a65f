//! Python functions as tools.

mod calls;
mod engine_killed;
mod frameworks;
mod loading;
mod multi_turn;
mod overlap;
mod results;
mod schemas;
mod state;
mod waiting;
mod workers_killed;

use std::{fs, path::PathBuf};

use serde_json::Value;
use tempfile::TempDir;
use toolyard::{
    Engine, EngineBuilder, ExecuteOptions, PythonConfig, PythonFile, Report, ToolCall, ToolResult,
};

/// A folder with Python files.
struct Files(TempDir);

impl Files {
    fn new(files: &[(&str, &str)]) -> Self {
        let files_here = Self(tempfile::tempdir().expect("a temporary folder"));
        for (name, source) in files {
            files_here.write(name, source);
        }
        files_here
    }

    fn write(&self, name: &str, source: &str) {
        fs::write(self.path(name), source).expect("a file in a temporary folder");
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn file(&self, name: &str) -> PythonFile {
        PythonFile::new(self.path(name))
    }
}

/// The default settings with a change.
fn config(change: impl FnOnce(&mut PythonConfig)) -> PythonConfig {
    let mut config = PythonConfig::default();
    change(&mut config);
    config
}

/// An engine over one Python file; the folder must live as long as it.
fn engine_of(source: &str) -> (Engine, Files) {
    engine_with(Engine::builder(), source)
}

fn engine_with(builder: EngineBuilder, source: &str) -> (Engine, Files) {
    let files = Files::new(&[("tools.py", source)]);
    let engine = builder.python_file(files.file("tools.py")).build().expect("an engine");
    assert_eq!(engine.python_report().problems, Vec::<String>::new());
    (engine, files)
}

fn call(name: &str, arguments: Value) -> ToolCall {
    ToolCall::new(name, arguments.into())
}

fn run_all(engine: &Engine, calls: Vec<ToolCall>) -> Report {
    engine.execute_blocking(calls, ExecuteOptions::new()).expect("the list is taken")
}

fn run(engine: &Engine, name: &str, arguments: Value) -> ToolResult {
    run_all(engine, vec![call(name, arguments)]).results.remove(0)
}

/// The output of a call that must work, as a JSON value.
fn output(engine: &Engine, name: &str, arguments: Value) -> Value {
    let result = run(engine, name, arguments);
    assert!(result.is_ok(), "{result:?}");
    result.output.map_or(Value::Null, |output| output.to_value())
}

fn error_of(result: &ToolResult) -> &str {
    result.error.as_deref().unwrap_or_default()
}
