use serde_json::json;
use toolyard::{Engine, ExecuteOptions, Outcome};

use super::{call, engine_of, error_of, output, run, run_all};

const COUNTER: &str = "
import asyncio, os

def add(by: int, inner_state):
    inner_state.state = {'n': (inner_state.state or {'n': 0})['n'] + by}
    return inner_state.state['n']

async def add_slowly(by: int, inner_state):
    before = (inner_state.state or {'n': 0})['n']
    await asyncio.sleep(0.001)
    inner_state.state = {'n': before + by}
    return before + by

def changes_then(what: str, inner_state):
    state = inner_state.state = inner_state.state or {'runs': 0}
    state['runs'] += 1
    inner_state.meta_state = {'last': what}
    if what == 'raise':
        raise ValueError('no')
    if what == 'leave':
        os._exit(1)
    if what == 'odd':
        inner_state.state = {'lock': object()}
    if what == 'wait':
        import time
        time.sleep(60)
    if what == 'keys':
        inner_state.state = {1: 'not a text'}
    return [state['runs'], inner_state.meta_state]

def each(inner_state):
    inner_state.state = {'n': (inner_state.state or {'n': 0})['n'] + 1}
    return inner_state.state['n']

each.state_scope = 'agent'
";

#[test]
fn concurrent_increments_of_one_state_are_all_counted() {
    let (engine, _files) = engine_of(COUNTER);
    for name in ["add", "add_slowly"] {
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let calls = (0..5).map(|_| call(name, json!({"by": 1}))).collect();
                    assert!(run_all(&engine, calls).all_ok());
                });
            }
        });
        assert_eq!(output(&engine, name, json!({"by": 0})), json!(10), "{name}");
    }
}

#[test]
fn only_a_call_that_works_changes_the_state_and_the_state_survives_its_process() {
    let (engine, _files) = engine_of(COUNTER);
    let changes = |what: &str| run(&engine, "changes_then", json!({ "what": what }));
    assert_eq!(output(&engine, "changes_then", json!({"what": "fine"})), json!([1, {"last": "fine"}]));
    assert_eq!(changes("raise").outcome, Outcome::Failed);
    assert_eq!(changes("leave").outcome, Outcome::Lost);
    let odd = changes("odd");
    assert_eq!(odd.outcome, Outcome::Failed);
    assert!(error_of(&odd).contains("the new inner state is not JSON, so the old one stays"), "{odd:?}");
    assert_eq!(changes("keys").outcome, Outcome::Failed);
    assert_eq!(output(&engine, "changes_then", json!({"what": "fine"})), json!([2, {"last": "fine"}]));
}

#[test]
fn a_call_that_is_stopped_or_refused_leaves_its_state_as_it_was() {
    let (engine, _files) = engine_of(COUNTER);
    assert_eq!(output(&engine, "changes_then", json!({"what": "fine"})), json!([1, {"last": "fine"}]));
    let state = || futures::executor::block_on(engine.state("changes_then", None)).unwrap().unwrap();
    let before = state();
    let list = |what: serde_json::Value, options| {
        let report =
            engine.execute_blocking(vec![call("changes_then", json!({ "what": what }))], options).unwrap();
        report.results[0].outcome
    };
    let short = ExecuteOptions::new().timeout(std::time::Duration::from_millis(300));
    assert_eq!(list(json!("wait"), short), Outcome::TimedOut);
    assert_eq!(state().get(), before.get());
    assert_eq!(list(json!(["no text"]), ExecuteOptions::new()), Outcome::BadArguments);
    assert_eq!(state().get(), before.get());

    let waits = engine.submit(vec![call("changes_then", json!({"what": "wait"}))], ExecuteOptions::new());
    let control = waits.control();
    control.cancel();
    let report = futures::executor::block_on(waits.into_future()).unwrap();
    assert!(matches!(report.results[0].outcome, Outcome::Cancelled | Outcome::Skipped), "{report:?}");
    assert_eq!(state().get(), before.get());
    assert_eq!(output(&engine, "changes_then", json!({"what": "fine"})), json!([2, {"last": "fine"}]));
}

#[test]
fn a_state_from_the_model_is_overruled() {
    let (engine, _files) = engine_of(COUNTER);
    assert_eq!(output(&engine, "add", json!({"by": 1, "inner_state": {"state": {"n": 100}}})), json!(1));
}

#[test]
fn a_function_can_have_a_state_for_each_agent() {
    let (engine, _files) = engine_of(COUNTER);
    let each = |engine: &Engine, agent: &'static str| {
        let options = ExecuteOptions::new().agent(agent);
        let report = engine.execute_blocking(vec![call("each", json!({}))], options).unwrap();
        report.results[0].output.as_ref().unwrap().to_value()
    };
    assert_eq!([each(&engine, "a"), each(&engine, "a"), each(&engine, "b")], [json!(1), json!(2), json!(1)]);
}

#[test]
fn beside_a_runner_no_function_with_state_runs_here_and_its_row_goes_where_the_runner_takes_it() {
    use std::sync::Arc;
    use toolyard::{Invocation, Runner, SharedTool, StateReturn, Tool, ToolFuture};

    /// Takes state from functions called `add`, and says what it got.
    struct Elsewhere;
    impl Runner for Elsewhere {
        fn run(&self, _: SharedTool, _: Invocation) -> ToolFuture {
            ToolFuture::ready(Ok("elsewhere".into()))
        }
        fn takes_state(&self, tool: &dyn Tool) -> bool {
            tool.spec().name == "add"
        }
        fn run_with_state(
            &self,
            _: SharedTool,
            _: Invocation,
            state: Box<serde_json::value::RawValue>,
        ) -> futures::future::BoxFuture<'static, StateReturn> {
            let after = serde_json::value::to_raw_value(&json!({"state": {"n": 41}})).ok();
            Box::pin(async move { (Ok(state.get().into()), after) })
        }
    }
    let (engine, _files) = engine_of(COUNTER);
    let options = || ExecuteOptions::new().runner(Arc::new(Elsewhere));
    let calls = vec![call("add", json!({"by": 1})), call("changes_then", json!({"what": "leave"}))];
    let report = engine.execute_blocking(calls, options()).unwrap();
    assert_eq!(report.results[0].output.as_ref().unwrap().to_text(), r#"{"state":null,"meta_state":null}"#);
    assert_eq!(report.results[1].outcome, Outcome::NotStarted, "{:?}", report.results[1]);
    assert_eq!(
        output(&engine, "add", json!({"by": 1})),
        json!(42),
        "what the runner gave back was committed"
    );
}

#[test]
fn a_function_can_begin_with_a_state_of_its_own() {
    let (engine, _files) = engine_of(
        "
def count(inner_state):
    inner_state.state['n'] += 1
    inner_state.meta_state = {**(inner_state.meta_state or {}), 'calls': 1}
    return [inner_state.state['n'], inner_state.meta_state]

count.initial_state = {'n': 123456789012345678901234567890}
count.initial_meta_state = {'unit': 'items'}

def each(inner_state):
    inner_state.state.append(len(inner_state.state))
    return inner_state.state

each.initial_state = []
each.state_scope = 'agent'
",
    );
    let first = run(&engine, "count", json!({}));
    let text = first.output.as_ref().unwrap().to_text();
    assert_eq!(text, r#"[123456789012345678901234567891,{"unit":"items","calls":1}]"#);
    assert!(
        run(&engine, "count", json!({}))
            .output
            .unwrap()
            .to_text()
            .starts_with("[123456789012345678901234567892,")
    );
    let each = |agent: &'static str| {
        let options = ExecuteOptions::new().agent(agent);
        let report = engine.execute_blocking(vec![call("each", json!({}))], options).unwrap();
        report.results[0].output.as_ref().unwrap().to_value()
    };
    assert_eq!([each("a"), each("a"), each("b")], [json!([0]), json!([0, 1]), json!([0])]);
    futures::executor::block_on(engine.reset()).unwrap();
    assert_eq!(each("a"), json!([0]), "after a reset the first state is there again");
}

#[test]
fn an_initial_state_that_cannot_be_used_leaves_its_function_out() {
    let files = super::Files::new(&[(
        "tools.py",
        "
def odd(inner_state): return 1
odd.initial_state = {'lock': object()}

def blind(): return 1
blind.initial_state = {'n': 1}

def fine(inner_state): return inner_state.state
fine.initial_state = 5
",
    )]);
    let engine = Engine::builder().python_file(files.file("tools.py")).build().unwrap();
    let report = engine.python_report();
    assert_eq!(report.tools, ["fine"]);
    assert!(report.problems[0].contains("odd is left out: its initial state is not JSON"), "{report:?}");
    assert!(report.problems[1].contains("blind is left out: it has an initial state, but no parameter"));
    assert_eq!(output(&engine, "fine", json!({})), json!(5));
}

#[test]
fn a_reset_and_a_stop_give_a_file_new_global_variables() {
    let (engine, _files) = engine_of(
        "
import os

calls = 0

def count(inner_state):
    global calls
    calls += 1
    inner_state.state = (inner_state.state or 0) + 1
    return [calls, inner_state.state, os.getpid()]
",
    );
    let count = || output(&engine, "count", json!({}));
    let numbers = |value: &serde_json::Value| [value[0].clone(), value[1].clone()];
    let before = count();
    assert_eq!(numbers(&count()), [json!(2), json!(2)]);
    assert!(futures::executor::block_on(engine.stop()).unwrap().is_complete());
    let after = count();
    assert_eq!(numbers(&after), [json!(1), json!(3)], "the state stays, the global variable does not");
    assert_ne!(after[2], before[2], "another process");
    assert!(futures::executor::block_on(engine.reset()).unwrap().is_complete());
    assert_eq!(numbers(&count()), [json!(1), json!(1)]);
}
