//! A list that writes files, and somebody at the terminal who says which ones.
//!
//! Without a terminal to ask at, every write is denied.

use std::{
    error::Error,
    io::{IsTerminal, Write, stdin, stdout},
};

use futures::executor::block_on;
use serde_json::json;
use toolyard::{
    Answer, Answers, Engine, ExecuteOptions, Output, PermissionRule, PermissionRules, Request, RulePolicy,
    ToolCall, Verdict,
    builtin::{
        calculator::CalculatorTool,
        file::{FileRoot, FileWriteTool},
    },
};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::temp_dir().join(format!("toolyard-approve-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let rules = PermissionRules {
        default: Verdict::Allow,
        rule: vec![PermissionRule::new(Verdict::Ask, "file.write", "*")],
    };
    let engine = Engine::builder()
        .tool(CalculatorTool::new())
        .tool(FileWriteTool::new(FileRoot::open(&folder)?))
        .permissions(RulePolicy::new(rules)?)
        .build()?;

    let write = |path: &str| ToolCall::new("file_write", json!({"path": path, "content": "hello\n"}).into());
    let sum = ToolCall::new("calculator", json!({"input": "6*7"}).into());
    let mut report =
        engine.execute_blocking(vec![write("a.txt"), sum, write("b.txt")], ExecuteOptions::new())?;
    let mut list = report.suspend("example".into());
    while !report.parked.is_empty() {
        let mut answers = Answers::new();
        for request in report.requests() {
            answers = answers.with(request.id, ask(&request)?);
        }
        report = block_on(engine.resume(&mut list, &answers, ExecuteOptions::new()))?;
    }

    for result in &report.results {
        let said = result.output.as_ref().map(Output::to_text).or(result.error.as_deref());
        println!("{} {}: {}", result.tool, result.outcome, said.unwrap_or_default());
    }
    for rule in engine.session_rules(None) {
        println!("from now on: {rule}");
    }
    std::fs::remove_dir_all(&folder)?;
    Ok(())
}

/// Asks at the terminal.
fn ask(request: &Request<'_>) -> Result<Answer, Box<dyn Error>> {
    let (action, resource) = (request.action.unwrap_or_default(), request.resource.unwrap_or_default());
    if !stdin().is_terminal() {
        println!("{action} {resource}? nobody is here to ask");
        return Ok(Answer::Deny(Some("nobody was there to ask".to_owned())));
    }
    print!("{action} {resource}? [y]es, [a]lways, or why not: ");
    stdout().flush()?;
    let mut said = String::new();
    stdin().read_line(&mut said)?;
    Ok(match said.trim() {
        "y" | "yes" => Answer::Approve,
        "a" | "always" => Answer::ApproveForSession,
        "" => Answer::Deny(None),
        why => Answer::Deny(Some(why.to_owned())),
    })
}
