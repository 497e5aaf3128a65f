//! The program as scripts use it.

mod benchmark;
mod call;
mod configured;
#[cfg(feature = "python")]
mod endings;
mod interrupt;
mod overflow;
mod paths;
mod plan;
mod resume;
pub(crate) mod state;
mod state_lock;
mod state_resume;
mod state_shape;

use std::{
    io::Write,
    process::{Command, Output, Stdio},
};

use serde_json::Value;

/// The program, with pipes to and from it.
pub(crate) fn toolyard(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_toolyard"));
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Runs the program on `input` to its end.
pub(crate) fn run(arguments: &[&str], input: &str) -> Output {
    let mut child = toolyard(arguments).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    std::thread::scope(|scope| {
        // It answers while it reads, and may end before it has read everything.
        scope.spawn(move || stdin.write_all(input.as_bytes()));
        child.wait_with_output().unwrap()
    })
}

/// Standard output as one JSON document.
pub(crate) fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"))
}

/// Standard output as one JSON document per line.
pub(crate) fn lines(output: &Output) -> Vec<Value> {
    let text = std::str::from_utf8(&output.stdout).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The outcomes in an answer.
pub(crate) fn outcomes(answer: &Value) -> Vec<&str> {
    answer["results"].as_array().unwrap().iter().map(|result| result["outcome"].as_str().unwrap()).collect()
}
