//! One call without an engine.

use std::{sync::Arc, thread};

use futures::executor::block_on;
use serde_json::{Value, json};
use toolyard::{
    CallContext, DirectCall, ExecuteIn, ExecuteTool, InjectPolicy, Invocation, Outcome, Runner, StateScope,
    Stateful, Tool, ToolFuture, ToolReturn, ToolSet, ToolSpec,
};

use super::{
    state::Counter,
    tools::{blocking, echo, tool},
};

/// Gives back its arguments; the tenant is for the runtime to say.
fn pay() -> Arc<dyn Tool> {
    let schema = json!({
        "type": "object",
        "properties": {"n": {"type": "integer"}, "tenant": {"type": "string"}},
        "required": ["n"],
        "additionalProperties": false,
    });
    let spec = ToolSpec::new("pay").input_schema(schema).injected(["tenant"]);
    Arc::new(tool(spec, |invocation| async move {
        Ok(toolyard::Output::from_json_text(invocation.arguments).unwrap().into())
    }))
}

fn output(returned: ToolReturn) -> Value {
    returned.unwrap().output.unwrap().to_value()
}

#[test]
fn injected_values_are_merged_in_before_the_tool_runs_and_win_by_default() {
    let call = |arguments: Value| DirectCall::new(arguments).inject("tenant", "acme").inject("other", 1);
    let paid = |call: DirectCall| output(block_on(pay().execute(call)));
    assert_eq!(paid(call(json!({"n": 1}))), json!({"n": 1, "tenant": "acme"}));
    assert_eq!(paid(call(json!({"n": 1, "tenant": "mallory"}))), json!({"n": 1, "tenant": "acme"}));
    let explicit = call(json!({"n": 1, "tenant": "mine"})).inject_policy(InjectPolicy::ExplicitWins);
    assert_eq!(paid(explicit), json!({"n": 1, "tenant": "mine"}));
    assert!(!format!("{:?}", call(json!({}))).contains("acme"), "injected values may be secrets");
}

#[test]
fn arguments_that_do_not_fit_are_refused_before_anything_runs() {
    for (arguments, expected) in [
        (json!({"n": "x"}), "at /n"),
        (json!({}), "required"),
        (json!([1]), "not a list"),
        (json!("plain text"), "takes no plain text"),
        (json!(r#"{"n": 1, "n": 2}"#), "duplicate key"),
    ] {
        let failure = block_on(pay().execute(DirectCall::new(arguments))).unwrap_err();
        assert_eq!(failure.outcome, Outcome::BadArguments);
        assert!(failure.error.contains(expected), "{}", failure.error);
    }
}

/// Says what it was given to run, and does not run it.
struct Elsewhere;

impl Runner for Elsewhere {
    fn run(&self, tool: Arc<dyn Tool>, invocation: Invocation) -> ToolFuture {
        let said = format!("{} {}", tool.spec().name, invocation.arguments);
        ToolFuture::ready(Ok(said.into()))
    }
}

#[test]
fn a_runner_gets_the_merged_call_in_place_of_the_tool() {
    let untouched = || tool(ToolSpec::new("t").injected(["k"]), |_| async { panic!("the tool ran here") });
    let call = DirectCall::new(json!({"a": 1})).inject("k", 2).runner(Arc::new(Elsewhere));
    assert_eq!(output(block_on(untouched().execute(call.clone()))), json!(r#"t {"a":1,"k":2}"#));
    let stateful = || Stateful::new(Counter::new("count", StateScope::Agent));
    let refused =
        block_on(stateful().execute(DirectCall::default().runner(Arc::new(Elsewhere)))).unwrap_err();
    assert_eq!(refused.outcome, Outcome::NotStarted, "it takes no state");
    let call = DirectCall::default().runner(Arc::new(WithState));
    assert_eq!(output(block_on(stateful().execute(call))), json!("count began with 0"));
}

/// Takes tools with state.
struct WithState;

impl Runner for WithState {
    fn run(&self, _: Arc<dyn Tool>, _: Invocation) -> ToolFuture {
        panic!("without its state")
    }

    fn takes_state(&self, _: &dyn Tool) -> bool {
        true
    }

    fn run_with_state(
        &self,
        tool: Arc<dyn Tool>,
        _: Invocation,
        state: Box<serde_json::value::RawValue>,
    ) -> futures::future::BoxFuture<'static, toolyard::StateReturn> {
        let said = format!("{} began with {}", tool.spec().name, state.get());
        Box::pin(async move { (Ok(said.into()), Some(state)) })
    }
}

#[test]
fn a_panic_is_a_failure_and_a_state_begins_anew_each_time() {
    let broken = tool(ToolSpec::new("broken"), |_| async { panic!("as asked") });
    let failure = block_on(broken.execute(DirectCall::default())).unwrap_err();
    assert_eq!((failure.outcome, failure.error.as_str()), (Outcome::Panicked, "tool \"broken\": panicked"));
    let count = || {
        output(block_on(Stateful::new(Counter::new("n", StateScope::Agent)).execute(DirectCall::default())))
    };
    assert_eq!([count(), count()], [json!(1), json!(1)]);
}

#[tokio::test]
async fn a_body_that_blocks_runs_on_a_thread_of_its_own() {
    let here = thread::current().id();
    let tool = blocking(ToolSpec::new("t"), move |_| Ok(json!(thread::current().id() == here).into()));
    assert_eq!(output(tool.execute(DirectCall::default()).await), json!(false));
}

#[test]
fn no_error_names_a_parameter_of_the_runtime_or_a_whole_long_name() {
    let spec = ToolSpec::new("pay").injected(["tenant"]).input_schema(json!({
        "properties": {"n": {"type": "integer"}, "tenant": {"type": "string"}}, "required": ["tenant"],
    }));
    let pay = || tool(spec.clone(), |_| async { Ok("".into()) });
    let failure = block_on(pay().execute(DirectCall::new(json!({"n": 1})))).unwrap_err();
    assert_eq!(failure.outcome, Outcome::BadArguments);
    assert!(!format!("{failure:?}").contains("tenant"), "{failure:?}");
    let failure =
        block_on(pay().execute(DirectCall::new(json!({"n": "x"})).inject("tenant", "a"))).unwrap_err();
    assert!(failure.error.contains("at /n"), "{failure:?}");
    let set = ToolSet::from_tools([Arc::new(echo("echo")) as Arc<dyn Tool>]);
    let failure = block_on(set.execute(&"x".repeat(3_000_000), DirectCall::default())).unwrap_err();
    assert!(failure.error.len() < 1_000, "{} bytes", failure.error.len());
}

#[test]
fn a_set_runs_the_tool_with_a_name_and_says_which_names_there_are() {
    let set = ToolSet::from_tools([pay(), Arc::new(echo("echo")) as Arc<dyn Tool>]);
    let call = DirectCall::new(json!({"n": 3})).context(CallContext::detached());
    assert_eq!(output(block_on(set.execute(" PAY ", call))), json!({"n": 3}));
    let failure = block_on(set.execute("ecko", DirectCall::default())).unwrap_err();
    assert_eq!(failure.outcome, Outcome::UnknownTool);
    assert_eq!(failure.error, "no tool is named \"ecko\"; there is: echo");
    let none = block_on(ToolSet::new().execute("x", DirectCall::default())).unwrap_err();
    assert_eq!(none.error, "no tool is named \"x\"; the set has no tools");
}
