//! Nodes of a behaviour tree whose calls wait for somebody.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use bonsai_bt::{Action, BT, Behavior, Event, Select, Status, UpdateArgs};
use serde_json::{Value, json};
use toolyard::{
    Answer, Answers, Blackboard, Engine, EventKind, Failure, NodeStatus, PermissionRule, PermissionRules,
    Refusal, RulePolicy, SuspendedList, ToolNode, ToolSpec, Verdict,
};

use super::tools::tool;

/// An engine whose tool `pay` must be approved, and how often that ran.
fn guarded() -> (Engine, Arc<AtomicUsize>) {
    let ran = Arc::new(AtomicUsize::new(0));
    let count = ran.clone();
    let pay = tool(ToolSpec::new("pay"), move |invocation| {
        count.fetch_add(1, Ordering::SeqCst);
        invocation.context.progress(json!({"half": true}));
        async move { Ok(Value::from(format!("paid {}", invocation.arguments)).into()) }
    });
    let fallback = tool(ToolSpec::new("fallback"), |_| async { Ok(Value::from("fell back").into()) });
    let rule = vec![PermissionRule::new(Verdict::Ask, "pay", "*")];
    let rules = RulePolicy::new(PermissionRules { default: Verdict::Allow, rule }).unwrap();
    let engine = Engine::builder().tool(pay).tool(fallback).permissions(rules).build().unwrap();
    (engine, ran)
}

/// Ticks until the node has ended or waits.
fn run(node: &mut ToolNode, board: &Blackboard) -> NodeStatus {
    loop {
        match node.tick(board) {
            NodeStatus::Running if node.requests().is_empty() => std::thread::yield_now(),
            status => return status,
        }
    }
}

fn request(node: &ToolNode) -> String {
    node.requests()[0].id.to_owned()
}

#[test]
fn a_call_that_must_be_approved_waits_and_goes_on_once() {
    let (engine, ran) = guarded();
    let board = Blackboard::new();
    board.set("input", json!({"n": 1}));
    let mut node = ToolNode::new(engine, "pay");
    assert_eq!(run(&mut node, &board), NodeStatus::Running);
    assert_eq!(node.tick(&board), NodeStatus::Running, "it waits, however often it is ticked");
    assert_eq!(node.last().unwrap().outcome.as_str(), "suspended");
    board.set("input", json!({"n": 2})); // too late: what was asked about is what runs
    let approved = Answers::new().approve(request(&node));
    node.answer(&approved).unwrap();
    assert!(node.suspended().unwrap().parked[0].claimed, "safe to write down before it runs");
    assert_eq!(node.answer(&approved).unwrap_err(), Refusal::Unknown(request_of(&approved)));
    assert_eq!(run(&mut node, &board), NodeStatus::Success);
    assert_eq!((board.get("output"), ran.load(Ordering::SeqCst)), (Some(json!("paid {\"n\":1}")), 1));
    assert!(node.suspended().is_none() && node.requests().is_empty());
}

fn request_of(answers: &Answers) -> String {
    answers.iter().next().unwrap().0.to_owned()
}

#[test]
fn a_denied_call_is_a_failure_and_a_halted_one_is_forgotten() {
    let (engine, ran) = guarded();
    let board = Blackboard::new();
    let mut node = ToolNode::new(engine, "pay");
    run(&mut node, &board);
    assert_eq!(
        node.answer(&Answers::new().approve("nobody")).unwrap_err(),
        Refusal::Unknown("nobody".into())
    );
    node.answer(&Answers::new().deny(request(&node))).unwrap();
    assert_eq!(run(&mut node, &board), NodeStatus::Failure);
    assert_eq!(node.last().unwrap().outcome.as_str(), "denied");

    run(&mut node, &board);
    let old = request(&node);
    node.halt();
    assert!(node.suspended().is_none());
    assert_eq!(run(&mut node, &board), NodeStatus::Running);
    assert_ne!(request(&node), old, "a new call asks anew");
    assert_eq!(ran.load(Ordering::SeqCst), 0);
}

#[test]
fn what_waits_can_be_taken_up_by_another_node_of_the_tool_alone() {
    let (engine, ran) = guarded();
    let board = Blackboard::new();
    let mut node = ToolNode::new(engine.clone(), "pay").named("first");
    run(&mut node, &board);
    let record = node.suspended().unwrap().to_json();
    drop(node);
    let record = || SuspendedList::from_json(&record).unwrap();

    let mut other = ToolNode::new(engine.clone(), "fallback");
    let error = other.take_up(record()).unwrap_err().to_string();
    assert!(error.contains("about tool \"pay\""), "{error}");
    let mut node = ToolNode::new(engine, " PAY ").named("second");
    node.take_up(record()).unwrap();
    assert!(node.take_up(record()).unwrap_err().reason.contains("at work"));
    node.answer(&Answers::new().approve(request(&node))).unwrap();
    assert_eq!(run(&mut node, &board), NodeStatus::Success);
    assert_eq!(ran.load(Ordering::SeqCst), 1);
}

#[test]
fn a_tool_that_asks_for_a_value_gets_it_through_its_node() {
    let ask = tool(ToolSpec::new("ask"), |invocation| async move {
        match invocation.context.input() {
            Some(value) => Ok(toolyard::Output::Json(value.to_owned()).into()),
            None => Err(Failure::needs_input(invocation.arguments, "which one?")),
        }
    });
    let board = Blackboard::new();
    let mut node = ToolNode::new(Engine::builder().tool(ask).build().unwrap(), "ask");
    assert_eq!(run(&mut node, &board), NodeStatus::Running);
    assert_eq!(node.requests()[0].reason, "which one?");
    let value = serde_json::value::to_raw_value(&json!({"this": 1})).unwrap();
    node.answer(&Answers::new().with(request(&node), Answer::Input(value))).unwrap();
    assert_eq!(run(&mut node, &board), NodeStatus::Success);
    assert_eq!(board.get("output"), Some(json!({"this": 1})));
}

#[test]
fn events_about_a_call_name_its_node_before_and_after_it_waited() {
    let (engine, _) = guarded();
    let mut events = engine.subscribe(100);
    let board = Blackboard::new();
    let mut node = ToolNode::new(engine.clone(), "pay").named("pay the shop");
    run(&mut node, &board);
    node.answer(&Answers::new().approve(request(&node))).unwrap();
    assert_eq!(run(&mut node, &board), NodeStatus::Success);
    let mut seen = Vec::new();
    while !seen.contains(&"finished") {
        let (what, call) = match events.next_blocking().unwrap().kind {
            EventKind::Judged { call, .. } => ("judged", call),
            EventKind::Progress { call, .. } => ("progress", call),
            EventKind::Finished { call, outcome, .. } if outcome.is_ok() => ("finished", call),
            _ => continue,
        };
        assert_eq!(call.node.as_deref(), Some("pay the shop"), "{what}");
        seen.push(what);
    }
    assert!(seen.contains(&"judged") && seen.contains(&"progress"), "{seen:?}");
}

#[test]
fn a_tree_takes_no_other_way_while_a_call_waits() {
    let (engine, ran) = guarded();
    let board = Blackboard::new();
    let mut pay = ToolNode::new(engine.clone(), "pay");
    let mut fallback = ToolNode::new(engine, "fallback").output_key("fallback");
    let tree: Behavior<&str> = Select(vec![Action("pay"), Action("fallback")]);
    let mut tree = BT::new(tree, board.clone());
    let mut asked = 0;
    let status = loop {
        let event: Event = UpdateArgs { dt: 0.0 }.into();
        let ticked = tree.tick(&event, &mut |args, board: &mut Blackboard| {
            let node = if *args.action == "pay" { &mut pay } else { &mut fallback };
            let status = match node.tick(board) {
                NodeStatus::Running => Status::Running,
                NodeStatus::Success => Status::Success,
                NodeStatus::Failure => Status::Failure,
            };
            (status, args.dt)
        });
        match ticked {
            Some((Status::Running, _)) if !pay.requests().is_empty() => {
                asked += 1;
                pay.answer(&Answers::new().approve(request(&pay))).unwrap();
            }
            Some((Status::Running, _)) => std::thread::yield_now(),
            Some((ended, _)) => break ended,
            None => panic!("the tree was at its end already"),
        }
    };
    assert_eq!((status, asked, ran.load(Ordering::SeqCst)), (Status::Success, 1, 1));
    assert_eq!(board.get("fallback"), None);
}
