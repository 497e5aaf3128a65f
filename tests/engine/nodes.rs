//! Tools as nodes of a behaviour tree.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use serde_json::{Value, json};
use tokio::sync::Semaphore;
use toolyard::{Blackboard, Engine, ExecuteOptions, Failure, NodeStatus, Output, ToolNode, ToolSpec};

use super::tools::{echo, tool};

/// Ticks until the node has ended, and says how.
fn run(node: &mut ToolNode, board: &Blackboard) -> NodeStatus {
    loop {
        match node.tick(board) {
            NodeStatus::Running => std::thread::yield_now(),
            ended => return ended,
        }
    }
}

fn engine() -> Engine {
    let picky = tool(ToolSpec::new("picky"), |invocation| async move {
        if invocation.arguments.contains("good") {
            return Ok(json!({"fine": true}).into());
        }
        Err(Failure::failed("not good").output("what there was"))
    });
    let agent = tool(ToolSpec::new("agent").plain_text_input("text"), |invocation| async move {
        Ok(format!("{:?} {}", invocation.context.agent(), invocation.arguments).into())
    });
    Engine::builder().tool(echo("echo")).tool(picky).tool(agent).build().unwrap()
}

#[test]
fn a_node_reads_its_arguments_from_the_board_and_leaves_its_output_there() {
    let board = Blackboard::new();
    board.set("input", json!({"n": 1}));
    let mut node = ToolNode::new(engine(), "echo");
    assert_eq!(run(&mut node, &board), NodeStatus::Success);
    assert_eq!(node.name(), "echo");
    assert_eq!(board.get("output"), Some(json!({"n": 1})));
    board.remove("input");
    assert_eq!(run(&mut node, &board), NodeStatus::Success, "no arguments are an empty object");
    assert_eq!(board.get("output"), Some(json!({})));
}

#[test]
fn keys_name_and_namespace_can_be_chosen() {
    let board = Blackboard::new();
    board.set("left/question", json!({"n": 1}));
    let node = ToolNode::new(engine(), "echo").input_key("question").output_key("answer");
    let mut node = node.namespace("left").named("ask left");
    assert_eq!((run(&mut node, &board), node.name()), (NodeStatus::Success, "ask left"));
    assert_eq!(board.get("left/answer"), Some(json!({"n": 1})));
    assert_eq!(board.get("answer"), None);
}

#[test]
fn a_call_that_does_not_end_ok_is_a_failure_and_keeps_what_output_there_was() {
    let board = Blackboard::new();
    let mut node = ToolNode::new(engine(), "picky");
    assert_eq!(run(&mut node, &board), NodeStatus::Failure);
    assert_eq!(board.get("output"), Some(json!("what there was")));
    assert_eq!(node.last().unwrap().error.as_deref(), Some("not good"));
    board.set("input", json!({"x": "good"}));
    assert_eq!(run(&mut node, &board), NodeStatus::Success);
    assert_eq!(node.last().unwrap().output.as_ref().map(Output::to_value), Some(json!({"fine": true})));

    let mut nobody = ToolNode::new(engine(), "nobody");
    assert_eq!(run(&mut nobody, &board), NodeStatus::Failure);
    assert_eq!(board.get("output"), None, "what an earlier call left is not this one's");
    assert_eq!(nobody.last().unwrap().outcome.as_str(), "unknown_tool");
}

#[test]
fn options_and_plain_text_reach_the_tool() {
    let board = Blackboard::new();
    board.set("input", "hello");
    let mut node = ToolNode::new(engine(), "agent").options(ExecuteOptions::new().agent("a1"));
    assert_eq!(run(&mut node, &board), NodeStatus::Success);
    assert_eq!(board.get("output"), Some(json!("Some(\"a1\") {\"text\":\"hello\"}")));
}

#[test]
fn a_node_that_does_not_execute_leaves_the_call_that_it_would_make() {
    let board = Blackboard::new();
    board.set("input", json!({"n": 1}));
    let mut node = ToolNode::new(engine(), "echo").execute(false);
    assert_eq!(node.tick(&board), NodeStatus::Success);
    assert_eq!(board.get("output"), Some(json!({"name": "echo", "arguments": {"n": 1}, "id": null})));
    assert!(node.last().is_none(), "nothing ran");
}

/// A node of a tool that waits for the test, and whether its call was dropped.
fn waiting() -> (ToolNode, Arc<Semaphore>, Arc<AtomicBool>) {
    struct Dropped(Arc<AtomicBool>);
    impl Drop for Dropped {
        fn drop(&mut self) {
            self.0.store(true, Ordering::SeqCst);
        }
    }
    let (go, dropped) = (Arc::new(Semaphore::new(0)), Arc::new(AtomicBool::new(false)));
    let (gate, flag) = (go.clone(), dropped.clone());
    let slow = tool(ToolSpec::new("slow"), move |_| {
        let (gate, guard) = (gate.clone(), Dropped(flag.clone()));
        async move {
            let _guard = guard;
            gate.acquire().await.unwrap().forget();
            Ok(Value::from("done").into())
        }
    });
    let engine = Engine::builder().tool(slow).timeout(Duration::from_mins(1)).build().unwrap();
    (ToolNode::new(engine, "slow"), go, dropped)
}

#[test]
fn a_node_is_running_until_its_call_has_ended_and_then_begins_anew() {
    let (mut node, go, _) = waiting();
    let board = Blackboard::new();
    for _ in 0..3 {
        assert_eq!(node.tick(&board), NodeStatus::Running);
        assert_eq!(node.tick(&board), NodeStatus::Running);
        go.add_permits(1);
        assert_eq!(run(&mut node, &board), NodeStatus::Success);
        assert_eq!(board.remove("output"), Some(json!("done")));
    }
}

#[test]
fn halting_a_node_cancels_its_call() {
    let (mut node, _go, dropped) = waiting();
    let board = Blackboard::new();
    let mut events = node.engine().subscribe(10);
    assert_eq!(node.tick(&board), NodeStatus::Running);
    while !matches!(events.next_blocking().unwrap().kind, toolyard::EventKind::Started(_)) {}
    node.halt();
    while !matches!(events.next_blocking().unwrap().kind, toolyard::EventKind::Finished { .. }) {}
    assert!(dropped.load(Ordering::SeqCst));
    assert_eq!(board.get("output"), None);
}
