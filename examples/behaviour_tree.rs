//! Tools as leaves of a behaviour tree of the `bonsai-bt` crate: try the precise way, fall back to
//! the rough one, then write down what came out, once somebody has approved that.

use std::collections::HashMap;

use bonsai_bt::{Action, BT, Behavior, Event, Select, Sequence, Status, UpdateArgs};
use toolyard::{
    Answers, Blackboard, Engine, NodeStatus, PermissionRule, PermissionRules, RulePolicy, ToolNode, Verdict,
    builtin::{
        calculator::CalculatorTool,
        file::{FileRoot, FileWriteTool},
    },
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::temp_dir();
    let root = FileRoot::open(&folder)?;
    let rule = vec![PermissionRule::new(Verdict::Ask, "file.write", "*")];
    let rules = RulePolicy::new(PermissionRules { default: Verdict::Allow, rule })?;
    let tools = Engine::builder().tool(CalculatorTool::new()).tool(FileWriteTool::new(root));
    let engine = tools.permissions(rules).build()?;

    let board = Blackboard::new();
    board.set("precise/input", "10 / (5 - 5)"); // fails
    board.set("rough/input", "10 / 5");

    let node = |tool: &str| ToolNode::new(engine.clone(), tool);
    let mut nodes = HashMap::from([
        ("precise", node("calculator").namespace("precise")),
        ("rough", node("calculator").namespace("rough")),
        ("write", node("file_write").input_key("note")),
    ]);

    let tree: Behavior<&str> = Sequence(vec![
        Select(vec![Action("precise"), Action("rough")]),
        Action("note"), // plain code among the tools
        Action("write"),
    ]);
    let mut tree = BT::new(tree, board.clone());

    let status = loop {
        let event: Event = UpdateArgs { dt: 0.0 }.into();
        let ticked = tree.tick(&event, &mut |args, board: &mut Blackboard| {
            let status = match nodes.get_mut(*args.action) {
                Some(node) => status(node.tick(board)),
                None => take_note(board),
            };
            (status, args.dt)
        });
        match ticked {
            Some((Status::Running, _)) => approve(nodes.values_mut())?, // a game would draw a frame here
            Some((ended, _)) => break ended,
            None => return Err("the tree was at its end already".into()),
        }
    };

    println!("the tree ended with {status:?}");
    for (name, node) in &nodes {
        if let Some(result) = node.last() {
            println!("{name}: {} {}", result.outcome, result.error.as_deref().unwrap_or_default());
        }
    }
    println!("{}", std::fs::read_to_string(folder.join("behaviour_tree.txt"))?);
    Ok(())
}

/// Approves what waits. Between two ticks a person could be asked, or the record be written down.
fn approve<'a>(nodes: impl Iterator<Item = &'a mut ToolNode>) -> Result<(), toolyard::Refusal> {
    for node in nodes {
        let mut answers = Answers::new();
        for request in node.requests() {
            println!("{}: approved, because it {}", node.name(), request.reason);
            answers = answers.approve(request.id);
        }
        node.answer(&answers)?;
    }
    std::thread::yield_now();
    Ok(())
}

fn take_note(board: &mut Blackboard) -> Status {
    let Some(answer) = board.get("rough/output").or_else(|| board.get("precise/output")) else {
        return Status::Failure;
    };
    let content = format!("the answer is {}", answer.as_str().unwrap_or_default());
    board.set("note", serde_json::json!({"path": "behaviour_tree.txt", "content": content}));
    Status::Success
}

fn status(status: NodeStatus) -> Status {
    match status {
        NodeStatus::Running => Status::Running,
        NodeStatus::Success => Status::Success,
        NodeStatus::Failure => Status::Failure,
    }
}
