//! Lists inside calls have what the list around them has, or less, never more; and beside a runner nothing runs here.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use futures::future::BoxFuture;
use parking_lot::Mutex;
use proptest::prelude::*;
use serde_json::{Map, Value, json, value::RawValue};
use toolyard::{
    CallContext, Engine, ExecuteOptions, Execution, Failure, InjectPolicy, Invocation, Runner, SharedTool,
    StateReturn, StateScope, StateWork, Stateful, StatefulTool, SubmitOptions, Tool, ToolFuture, ToolPattern,
    ToolReturn, ToolSpec,
};

use super::tools::{blocking, call, field, tool};

/// The leaves: a tool of each kind, the last two declared for the list alone.
const LEAVES: [&str; 7] = ["later", "thread", "row_now", "row_later", "row_thread", "guest", "guest_row"];

fn keeps_state(leaf: &str) -> bool {
    leaf.contains("row")
}

/// What bodies saw, one after the other.
type Seen = Arc<Mutex<Vec<Sight>>>;

#[derive(Clone, Debug, PartialEq)]
struct Sight {
    here: bool,
    agent: Option<String>,
    tenant: Value,
    /// How much time is left, in hundreds of seconds.
    left: u64,
}

#[allow(clippy::unnecessary_wraps)] // bodies end with it
fn look(seen: &Seen, here: bool, invocation: &Invocation) -> ToolReturn {
    let left = invocation.context.deadline.map_or(Duration::MAX, |at| at - Instant::now());
    seen.lock().push(Sight {
        here,
        agent: invocation.context.agent().map(str::to_owned),
        tenant: field(invocation, "tenant"),
        left: left.as_secs().div_ceil(100),
    });
    Ok("seen".into())
}

/// How one list inside a call is narrowed.
#[derive(Clone, Debug)]
struct Narrowing {
    deadline: Option<u64>,
    timeout: Option<u64>,
    only: Option<&'static str>,
    without_guests: bool,
    injected_wins: bool,
}

impl Narrowing {
    fn options(&self) -> SubmitOptions {
        let mut options = SubmitOptions::new();
        options.deadline = self.deadline.map(|hundreds| Duration::from_secs(100 * hundreds));
        options.timeout = self.timeout.map(|hundreds| Duration::from_secs(100 * hundreds));
        options.only =
            self.only.map(|pattern| vec![ToolPattern::new(pattern).unwrap(), ToolPattern::literal("nest")]);
        options.without_guests = self.without_guests;
        options.injected_wins = self.injected_wins;
        options
    }
}

/// What the nested calls do, from the outermost in: each submits the next list; the last one calls the leaf.
#[derive(Clone, Debug)]
struct Case {
    leaf: &'static str,
    agent: Option<&'static str>,
    injected: bool,
    explicit_wins: bool,
    /// The model gives a tenant too.
    model: bool,
    /// No runner, one that takes no state, or one that does.
    runner: Option<bool>,
    deadline: Option<u64>,
    timeout: Option<u64>,
    path: Vec<Narrowing>,
}

impl Case {
    fn arguments(&self) -> Value {
        if self.model { json!({"tenant": "mallory"}) } else { json!({}) }
    }

    /// The outcome of the leaf, and what its body sees.
    fn expected(&self) -> (&'static str, Option<Sight>) {
        let path = || self.path.iter();
        let guest_gone = self.leaf.starts_with("guest") && path().any(|step| step.without_guests);
        if guest_gone {
            return ("unknown_tool", None);
        }
        let allows = |pattern: &str| ToolPattern::new(pattern).unwrap().matches(self.leaf);
        if path().any(|step| step.only.is_some_and(|pattern| !allows(pattern))) {
            return ("inactive", None);
        }
        if self.runner == Some(false) && keeps_state(self.leaf) {
            return ("not_started", None);
        }
        let model_wins = self.model && self.explicit_wins && path().all(|step| !step.injected_wins);
        let tenant = match (self.injected, model_wins) {
            (true, false) => json!("acme"),
            (_, true) => json!("mallory"),
            (false, false) => Value::Null,
        };
        // A call has the shortest of its list's deadline, the time-outs of the lists around it, and its own.
        let (mut timeout, mut left) = (self.timeout.unwrap_or(3), self.deadline.unwrap_or(u64::MAX));
        left = left.min(timeout);
        for step in path() {
            timeout = timeout.min(step.timeout.unwrap_or(u64::MAX));
            left = left.min(timeout).min(step.deadline.unwrap_or(u64::MAX));
        }
        let agent = self.agent.map(str::to_owned);
        ("ok", Some(Sight { here: self.runner.is_none(), agent, tenant, left }))
    }
}

fn case() -> impl Strategy<Value = Case> {
    let hundreds = || proptest::option::of(1..6_u64);
    let only =
        proptest::option::of(prop_oneof![Just("*"), Just("row_*"), Just("{later,guest*}"), Just("thread")]);
    let step = (hundreds(), hundreds(), only, proptest::bool::weighted(0.2), proptest::bool::weighted(0.2));
    let step = step.prop_map(|(deadline, timeout, only, without_guests, injected_wins)| Narrowing {
        deadline,
        timeout,
        only,
        without_guests,
        injected_wins,
    });
    let first = (
        proptest::sample::select(&LEAVES[..]),
        proptest::option::of(proptest::sample::select(&["ada", "bob"][..])),
        any::<[bool; 3]>(),
        proptest::option::of(any::<bool>()),
    );
    (first, hundreds(), hundreds(), proptest::collection::vec(step, 0..4)).prop_map(
        |((leaf, agent, [injected, explicit_wins, model], runner), deadline, timeout, path)| Case {
            leaf,
            agent,
            injected,
            explicit_wins,
            // Without an injected value it is another rule's business what becomes of the model's.
            model: model && injected,
            runner,
            deadline,
            timeout,
            path,
        },
    )
}

/// Submits the lists of the path, one inside the other, and gives the outcome of the leaf.
async fn nest(context: CallContext, case: Arc<Mutex<Case>>, at: usize) -> ToolReturn {
    let (options, next) = {
        let case = case.lock();
        let last = at + 1 == case.path.len();
        let next = if last { call(case.leaf, case.arguments()) } else { call("nest", json!({"at": at + 1})) };
        (case.path[at].options(), next)
    };
    let results = context.submit_with(vec![next], options).await?;
    Ok(results[0]
        .output
        .as_ref()
        .filter(|_| results[0].tool == "nest")
        .map_or_else(|| results[0].outcome.as_str().into(), |inner| inner.clone().into()))
}

fn nesting(invocation: Invocation, case: Arc<Mutex<Case>>) -> BoxFuture<'static, ToolReturn> {
    let at = field(&invocation, "at").as_u64().unwrap();
    Box::pin(nest(invocation.context, case, usize::try_from(at).unwrap()))
}

/// Runs bodies elsewhere: it looks, and nests where the tool would.
struct Elsewhere {
    takes_state: bool,
    seen: Seen,
    case: Arc<Mutex<Case>>,
}

impl Runner for Elsewhere {
    fn run(&self, tool: SharedTool, invocation: Invocation) -> ToolFuture {
        if tool.spec().name == "nest" {
            return ToolFuture::new(nesting(invocation, self.case.clone()));
        }
        ToolFuture::ready(look(&self.seen, false, &invocation))
    }

    fn takes_state(&self, _: &dyn Tool) -> bool {
        self.takes_state
    }

    fn run_with_state(
        &self,
        _: SharedTool,
        invocation: Invocation,
        state: Box<RawValue>,
    ) -> BoxFuture<'static, StateReturn> {
        assert!(self.takes_state, "such tools never come to a runner that does not take them");
        let returned = look(&self.seen, false, &invocation);
        Box::pin(async move { (returned, Some(state)) })
    }
}

/// A leaf that keeps state.
struct Row {
    spec: ToolSpec,
    seen: Seen,
}

impl StatefulTool for Row {
    type State = u8;

    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn scope(&self) -> StateScope {
        if self.spec.name == "row_later" { StateScope::Agent } else { StateScope::Engine }
    }

    fn initial(&self, _: Option<&str>) -> u8 {
        0
    }

    fn work(self: Arc<Self>, invocation: Invocation, state: u8) -> StateWork<u8> {
        match self.spec.name.as_str() {
            "row_later" => StateWork::Waits(Box::pin(async move {
                tokio::task::yield_now().await;
                (look(&self.seen, true, &invocation), state)
            })),
            "row_thread" => StateWork::Blocks(Box::new(move || (look(&self.seen, true, &invocation), state))),
            _ => StateWork::Done(look(&self.seen, true, &invocation), state),
        }
    }
}

fn leaf(name: &str, seen: &Seen) -> SharedTool {
    let spec = ToolSpec::new(name).injected(["tenant"]);
    let seen = seen.clone();
    match name {
        "later" | "guest" => Arc::new(tool(spec, move |invocation| {
            let looked = look(&seen, true, &invocation);
            async move { looked }
        })),
        "thread" => Arc::new(blocking(spec, move |invocation| look(&seen, true, &invocation))),
        "row_thread" => Arc::new(Stateful::new(Row { spec: spec.execution(Execution::Blocking), seen })),
        _ => Arc::new(Stateful::new(Row { spec, seen })),
    }
}

#[test]
fn every_body_sees_what_its_outermost_list_was_given_less_what_calls_on_the_way_took_away() {
    let (seen, now) = (Seen::default(), Arc::new(Mutex::new(None)));
    let current = Arc::new(Mutex::new(Case {
        leaf: "later",
        agent: None,
        injected: false,
        explicit_wins: false,
        model: false,
        runner: None,
        deadline: None,
        timeout: None,
        path: Vec::new(),
    }));
    let case_of_nest = current.clone();
    let nests = tool(ToolSpec::new("nest"), move |invocation| nesting(invocation, case_of_nest.clone()));
    let engine = Engine::builder()
        .tool(nests)
        .tools(LEAVES[..5].iter().map(|name| leaf(name, &seen)))
        .timeout(Some(Duration::from_mins(5)))
        .build()
        .unwrap();
    let config = ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() };
    let mut runner = proptest::test_runner::TestRunner::new(config);
    let verdict = runner.run(&case(), |case| {
        seen.lock().clear();
        *current.lock() = case.clone();
        *now.lock() = Some(case.clone());
        let mut options = ExecuteOptions::new();
        options.agent = case.agent.map(Into::into);
        options.deadline = case.deadline.map(|hundreds| Duration::from_secs(100 * hundreds));
        options.timeout = case.timeout.map(|hundreds| Duration::from_secs(100 * hundreds));
        if case.injected {
            let policy =
                if case.explicit_wins { InjectPolicy::ExplicitWins } else { InjectPolicy::InjectedWins };
            options = options.inject(Map::from_iter([("tenant".into(), "acme".into())]), policy);
        }
        if let Some(takes_state) = case.runner {
            let (seen, case) = (seen.clone(), current.clone());
            options = options.runner(Arc::new(Elsewhere { takes_state, seen, case }));
        }
        options = LEAVES[5..].iter().fold(options, |options, name| options.guest(leaf(name, &seen)));
        let first = match case.path.len() {
            0 => call(case.leaf, case.arguments()),
            _ => call("nest", json!({"at": 0})),
        };
        let report = engine.execute_blocking(vec![first], options).unwrap();
        let result = &report.results[0];
        let outcome = match (&result.output, case.path.len()) {
            (Some(output), 1..) => output.to_text().to_owned(),
            _ => result.outcome.as_str().to_owned(),
        };
        let (expected, sight) = case.expected();
        prop_assert_eq!(outcome, expected, "{:?}", result);
        prop_assert_eq!(seen.lock().clone(), Vec::from_iter(sight));
        Ok(())
    });
    verdict.unwrap_or_else(|error| panic!("{error}"));
}

/// A counter whose own body must not run, and a runner that counts in its place.
struct Unused(ToolSpec);

impl StatefulTool for Unused {
    type State = i64;

    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn initial(&self, _: Option<&str>) -> i64 {
        40
    }

    fn work(self: Arc<Self>, _: Invocation, state: i64) -> StateWork<i64> {
        StateWork::Done(Ok(json!(state).into()), state)
    }
}

struct Counting;

impl Runner for Counting {
    fn run(&self, _: SharedTool, _: Invocation) -> ToolFuture {
        ToolFuture::ready(Err(Failure::failed("not this way")))
    }

    fn takes_state(&self, tool: &dyn Tool) -> bool {
        tool.spec().name == "count"
    }

    fn run_with_state(
        &self,
        _: SharedTool,
        invocation: Invocation,
        state: Box<RawValue>,
    ) -> BoxFuture<'static, StateReturn> {
        let how = field(&invocation, "how");
        let attempt = invocation.context.attempt;
        Box::pin(async move {
            tokio::task::yield_now().await;
            let next = serde_json::from_str::<i64>(state.get()).unwrap() + 1;
            let after = |value: Value| Some(serde_json::value::to_raw_value(&value).unwrap());
            match how.as_str() {
                Some("fail") => (Err(Failure::failed("as asked")), after(json!(next))),
                Some("odd") => (Ok("odd".into()), after(json!("no number"))),
                Some("keep") => (Ok("kept".into()), None),
                Some("again") if attempt == 1 => {
                    let failure =
                        Failure::failed("once more").detail(|detail| detail.retry_after_ms = Some(0));
                    (Err(failure), after(json!(next)))
                }
                _ => (Ok(json!(next).into()), after(json!(next))),
            }
        })
    }
}

fn counting(name: &str) -> Stateful<Unused> {
    Stateful::new(Unused(ToolSpec::new(name).idempotent(true)))
}

#[test]
fn a_row_goes_to_a_runner_that_takes_it_and_comes_back_when_the_call_is_ok() {
    let retry = toolyard::RetryPolicy { attempts: 2, first_delay: Duration::ZERO, ..Default::default() };
    let engine =
        Engine::builder().tool(counting("count")).tool(counting("other")).retry(retry).build().unwrap();
    let run = |name: &str, how: &str, options: ExecuteOptions| {
        engine.execute_blocking(vec![call(name, json!({"how": how}))], options).unwrap().results.remove(0)
    };
    let elsewhere = || ExecuteOptions::new().runner(Arc::new(Counting));
    let text =
        |result: &toolyard::ToolResult| result.output.as_ref().map(|output| output.to_text().to_owned());
    assert_eq!(text(&run("count", "", elsewhere())).as_deref(), Some("41"));
    assert_eq!(run("count", "fail", elsewhere()).outcome.as_str(), "failed");
    assert_eq!(text(&run("count", "keep", elsewhere())).as_deref(), Some("kept"));
    let odd = run("count", "odd", elsewhere());
    assert_eq!(odd.outcome.as_str(), "failed");
    assert!(odd.error.unwrap().contains("gave back what is not its state"));
    assert_eq!(text(&run("count", "", ExecuteOptions::new())).as_deref(), Some("41"), "only `ok` counts");
    let again = run("count", "again", elsewhere());
    assert_eq!((text(&again).as_deref(), again.detail.unwrap().attempts), (Some("42"), Some(2)));
    let refused = run("other", "", elsewhere());
    assert_eq!(refused.outcome.as_str(), "not_started");
    assert!(refused.error.unwrap().contains("it keeps state, and the runner of its list takes no such tool"));
    assert_eq!(
        text(&run("other", "", ExecuteOptions::new())).as_deref(),
        Some("40"),
        "its row was not touched"
    );
}

#[test]
fn what_goes_on_after_an_approval_runs_where_the_runner_says_and_so_does_a_tool_node() {
    let rule = vec![toolyard::PermissionRule::new(toolyard::Verdict::Ask, "*", "*")];
    let rules = toolyard::PermissionRules { default: toolyard::Verdict::Allow, rule };
    let engine = Engine::builder()
        .tool(counting("count"))
        .tool(counting("other"))
        .permissions(toolyard::RulePolicy::new(rules).unwrap())
        .build()
        .unwrap();
    let elsewhere = || ExecuteOptions::new().runner(Arc::new(Counting));
    let calls = vec![call("count", json!({})), call("other", json!({}))];
    let report = engine.execute_blocking(calls, elsewhere()).unwrap();
    assert_eq!(super::tools::outcomes(&report), ["suspended", "not_started"]);
    let mut list = report.suspend("list".into());
    let answers = toolyard::Answers::new().approve(list.parked[0].call.request_id.clone());
    let report = futures::executor::block_on(engine.resume(&mut list, &answers, elsewhere())).unwrap();
    assert_eq!(report.results[0].output.as_ref().unwrap().to_text(), "41");

    let engine = Engine::builder().tool(counting("count")).tool(counting("other")).build().unwrap();
    for (name, expected) in [("count", "ok"), ("other", "not_started")] {
        let board = toolyard::Blackboard::new();
        let mut node = toolyard::ToolNode::new(engine.clone(), name).options(elsewhere());
        while node.tick(&board) == toolyard::NodeStatus::Running {
            std::thread::yield_now();
        }
        assert_eq!(node.last().unwrap().outcome.as_str(), expected);
    }
}

/// A guest that counts, and calls a list of its own when it is told to.
#[test]
fn a_guest_is_one_tool_with_one_state_in_its_list_and_in_the_lists_inside_and_cannot_call_itself() {
    struct Count(ToolSpec);
    impl StatefulTool for Count {
        type State = i64;
        fn spec(&self) -> &ToolSpec {
            &self.0
        }
        fn initial(&self, _: Option<&str>) -> i64 {
            0
        }
        fn work(self: Arc<Self>, invocation: Invocation, state: i64) -> StateWork<i64> {
            if field(&invocation, "deeper").is_null() {
                return StateWork::Done(Ok(json!(state + 1).into()), state + 1);
            }
            StateWork::Waits(Box::pin(async move {
                let inner = invocation.context.submit(vec![call("count", json!({}))]).await;
                let reply = inner.map_err(Failure::from).map(|results| results[0].outcome.as_str().into());
                (reply, state)
            }))
        }
    }
    let nests = tool(ToolSpec::new("nest"), |invocation| async move {
        let results = invocation.context.submit(vec![call("count", json!({}))]).await?;
        Ok(results[0].output.clone().unwrap().into())
    });
    let engine = Engine::builder().tool(nests).build().unwrap();
    let options = ExecuteOptions::new().guest(Arc::new(Stateful::new(Count(ToolSpec::new("count")))));
    let calls = vec![
        call("count", json!({})),
        call("nest", json!({})),
        call("count", json!({"deeper": true})),
        call("count", json!({})),
    ];
    let report = engine.execute_blocking(calls, options).unwrap();
    let texts: Vec<_> =
        report.results.iter().map(|result| result.output.as_ref().unwrap().to_text()).collect();
    assert_eq!(texts, ["1", "2", "denied", "3"]);
}
