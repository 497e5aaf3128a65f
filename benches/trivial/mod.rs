//! The same trivial work for everything that is measured: parse two numbers, add them, write the sum.
//! Trivial on purpose, so that what is measured is the way there and back.

#![allow(dead_code)] // each bench uses its part

use std::{collections::HashMap, time::Duration};

use actix::prelude::*;
use serde::Deserialize;
use serde_json::value::RawValue;
use toolyard::{
    Arguments, Attached, BadCall, Engine, ExecuteCalls, ExecuteOptions, FunctionTool, Json, RunControl,
    ToolCall, ToolSpec,
};

/// How many tools the calls are spread over.
pub(crate) const TOOLS: usize = 8;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Numbers {
    pub(crate) a: f64,
    pub(crate) b: f64,
}

/// A call as it comes from a provider: id, name, arguments as text.
pub(crate) type RawCall = (String, String, String);

pub(crate) fn raw_calls(count: usize) -> Vec<RawCall> {
    let call =
        |i: usize| (format!("call_{i}"), format!("tool_{}", i % TOOLS), format!("{{\"a\":{i}.5,\"b\":2}}"));
    (0..count).map(call).collect()
}

/// The same calls as the text of a list.
pub(crate) fn document(count: usize) -> String {
    let call = |(id, name, arguments)| format!(r#"{{"id":"{id}","name":"{name}","arguments":{arguments}}}"#);
    format!("[{}]", raw_calls(count).into_iter().map(call).collect::<Vec<_>>().join(","))
}

/// Reads that text without any care: the floor.
pub(crate) fn read_raw(document: &str) -> Vec<RawCall> {
    #[derive(Deserialize)]
    struct Call {
        id: String,
        name: String,
        arguments: Box<RawValue>,
    }
    let calls: Vec<Call> = serde_json::from_str(document).expect("a list");
    calls
        .into_iter()
        .map(|call| (call.id, call.name, Box::<str>::from(call.arguments).into_string()))
        .collect()
}

/// The work itself.
pub(crate) fn add(arguments: &str) -> String {
    let Numbers { a, b } = serde_json::from_str(arguments).expect("two numbers");
    serde_json::to_string(&(a + b)).expect("a number")
}

/// A plain loop over a table of functions: the floor.
pub(crate) fn plain_loop(
    tools: &HashMap<String, fn(&str) -> String>,
    calls: Vec<RawCall>,
) -> Vec<(String, String)> {
    calls.into_iter().map(|(id, name, arguments)| (id, tools[&name](&arguments))).collect()
}

pub(crate) fn plain_tools() -> HashMap<String, fn(&str) -> String> {
    (0..TOOLS).map(|i| (format!("tool_{i}"), add as fn(&str) -> String)).collect()
}

/// One actor for each tool, one `send` for each call.
pub(crate) struct RawActor;

impl Actor for RawActor {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        ctx.set_mailbox_capacity(1 << 20); // the default would make sends lazy
    }
}

#[derive(Message)]
#[rtype(result = "String")]
pub(crate) struct RawAdd(pub(crate) String);

impl Handler<RawAdd> for RawActor {
    type Result = String;

    fn handle(&mut self, RawAdd(arguments): RawAdd, _: &mut Self::Context) -> String {
        add(&arguments)
    }
}

pub(crate) fn raw_actors() -> HashMap<String, Addr<RawActor>> {
    (0..TOOLS).map(|i| (format!("tool_{i}"), RawActor.start())).collect()
}

pub(crate) async fn raw_actix(
    actors: &HashMap<String, Addr<RawActor>>,
    calls: Vec<RawCall>,
) -> Vec<(String, String)> {
    let requests: Vec<_> =
        calls.into_iter().map(|(id, name, arguments)| (id, actors[&name].send(RawAdd(arguments)))).collect();
    let mut results = Vec::with_capacity(requests.len());
    for (id, request) in requests {
        results.push((id, request.await.expect("the actor lives")));
    }
    results
}

/// The engine on the current system, so that it is compared with actors of the same arbiter.
pub(crate) fn engine() -> Attached {
    let tool = |i: usize| {
        let schema = serde_json::json!({
            "type": "object",
            "properties": {"a": {"type": "number"}, "b": {"type": "number"}},
            "required": ["a", "b"], "additionalProperties": false,
        });
        let spec = ToolSpec::new(format!("tool_{i}"))
            .parallel_safe(true)
            .input_schema(schema)
            .checks_arguments(true);
        FunctionTool::with_schema(spec, |Numbers { a, b }: Numbers| Json(a + b)).quick()
    };
    let tools = (0..TOOLS).map(tool);
    Engine::builder().tools(tools).attach().expect("an engine")
}

/// An engine whose tool waits for a timer.
pub(crate) fn napping() -> Attached {
    let spec = ToolSpec::new("nap").parallel_safe(true).checks_arguments(true);
    let nap = FunctionTool::with_schema(spec, |_: serde_json::Value| async {
        tokio::time::sleep(Duration::from_millis(5)).await;
        "rested"
    });
    Engine::builder().tool(nap).attach().expect("an engine")
}

pub(crate) fn naps(count: usize) -> Vec<Result<ToolCall, BadCall>> {
    (0..count).map(|_| Ok(ToolCall::new("nap", Arguments::empty()))).collect()
}

/// What the engine makes of a list as text.
pub(crate) fn read(document: &str) -> Vec<Result<ToolCall, BadCall>> {
    toolyard::formats::read_document(document.as_bytes()).expect("a list").calls
}

/// As part of the calling task.
pub(crate) async fn in_task(engine: &Attached, calls: Vec<Result<ToolCall, BadCall>>) -> usize {
    let report = engine.execute(calls, ExecuteOptions::new()).await.expect("a report");
    assert!(report.all_ok());
    report.results.len()
}

/// By message to a supervisor.
pub(crate) async fn by_message(engine: &Attached, calls: Vec<Result<ToolCall, BadCall>>) -> usize {
    let message = ExecuteCalls { calls, options: ExecuteOptions::new(), control: RunControl::new() };
    let report = engine.supervisor(None).send(message).await.expect("a supervisor").expect("a report");
    assert!(report.all_ok());
    report.results.len()
}
