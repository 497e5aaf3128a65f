//! Code of the host that is no tool, and panics: the list that meets it has all of its answers, and so has the next one.

use std::{
    borrow::Cow,
    io,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures::future::BoxFuture;
use serde_json::json;
use toolyard::{
    Answers, CallId, Engine, EngineEvent, EventTap, ExecuteOptions, Invocation, Judgement, PermissionCheck,
    PermissionContext, PermissionDecision, PermissionPolicy, Report, StatefulFunction, Tool, ToolCall,
    ToolFuture, ToolSpec, Verdict,
    events::{EventRecord, RecordSink, Recorder},
};

use super::tools::{blocking, call, echo, field, outcomes, tool};

/// Panics at one of its events; counts what it got.
struct BreaksAt {
    event: usize,
    got: Arc<AtomicUsize>,
}

impl EventTap for BreaksAt {
    fn take(&self, _: &EngineEvent) -> bool {
        let number = self.got.fetch_add(1, Ordering::Relaxed);
        assert_ne!(number, self.event, "the tap breaks");
        true
    }
}

struct Counts(Arc<AtomicUsize>);

impl EventTap for Counts {
    fn take(&self, _: &EngineEvent) -> bool {
        self.0.fetch_add(1, Ordering::Relaxed);
        true
    }
}

/// Tools of every kind: at once, later, on a thread, with state, with progress, with a list of its own.
fn engine() -> Engine {
    let spec = |name| ToolSpec::new(name).parallel_safe(true);
    let later = tool(spec("later"), |invocation: Invocation| async move {
        tokio::task::yield_now().await;
        invocation.context.progress(json!("half"));
        Ok(field(&invocation, "n").to_string().into())
    });
    let nested = tool(spec("nested"), |invocation: Invocation| async move {
        let inner = invocation.context.submit(vec![call("later", json!({"n": 7}))]).await;
        Ok(inner.unwrap()[0].outcome.as_str().into())
    });
    let count = StatefulFunction::with_schema(
        ToolSpec::new("count"),
        |_| 0,
        |n: &mut u32| {
            *n += 1;
            n.to_string()
        },
    );
    let thread = blocking(spec("thread"), |_| Ok("done".into()));
    Engine::builder().tool(echo("echo")).tool(later).tool(nested).tool(count).tool(thread).build().unwrap()
}

fn list() -> Vec<ToolCall> {
    let names = ["echo", "later", "nobody", "count", "thread", "nested", "count", "later"];
    names.iter().enumerate().map(|(n, name)| call(name, json!({"n": n}))).collect()
}

/// What must be the same whoever listens.
fn told(report: &Report) -> Vec<(&'static str, Option<String>)> {
    let output =
        |result: &toolyard::ToolResult| result.output.as_ref().map(|output| output.to_text().to_owned());
    report.results.iter().map(|result| (result.outcome.as_str(), output(result))).collect()
}

#[test]
fn a_tap_that_panics_at_any_event_takes_nothing_with_it() {
    let reference = engine();
    let all = Arc::<AtomicUsize>::default();
    reference.tap(Arc::new(Counts(all.clone())));
    let run = |engine: &Engine| engine.execute_blocking(list(), ExecuteOptions::new().agent("a")).unwrap();
    let (first, events) = (told(&run(&reference)), all.load(Ordering::Relaxed));
    let second = told(&run(&reference));
    assert!(events > 20, "{events}");
    for event in 0..events {
        let engine = engine();
        let (got, others) = (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
        engine.tap(Arc::new(BreaksAt { event, got: got.clone() }));
        engine.tap(Arc::new(Counts(others.clone())));
        assert_eq!(told(&run(&engine)), first, "event {event}");
        assert_eq!(told(&run(&engine)), second, "event {event}, the list after");
        // Other threads may have been on their way to it.
        assert!(got.load(Ordering::Relaxed) <= event + 4, "event {event}: it got more");
        assert!(others.load(Ordering::Relaxed) >= 2 * events - 4, "others miss what happened");
    }
}

#[test]
fn a_sink_of_records_that_panics_is_told_at_the_end_and_nowhere_else() {
    struct Breaks;
    impl RecordSink for Breaks {
        fn take(&mut self, record: EventRecord) -> io::Result<()> {
            panic!("at {}", record.v)
        }
    }
    let engine = engine();
    let recorder = Recorder::start(&engine, Breaks).unwrap();
    for _ in 0..2 {
        let report = engine.execute_blocking(list(), ExecuteOptions::new()).unwrap();
        assert_eq!(outcomes(&report)[..3], ["ok", "ok", "unknown_tool"]);
    }
    let error = recorder.finish().map(|_| ()).unwrap_err().to_string();
    assert_eq!(error, "what takes the records panicked: at 1");
}

/// Asks about everything, and panics when it is asked for its version.
struct NoVersion;

impl PermissionPolicy for NoVersion {
    fn version(&self) -> Cow<'_, str> {
        panic!("no version")
    }
    fn judge(&self, check: &PermissionCheck, _: &PermissionContext<'_>) -> Judgement {
        let verdict = if check.action == "echo" { Verdict::Ask } else { Verdict::Allow };
        Judgement::Now(PermissionDecision::new(verdict, "the host"))
    }
}

#[tokio::test]
async fn a_policy_without_a_version_answers_lists_and_no_approval_holds() {
    let later = tool(ToolSpec::new("later"), |_| async { Ok("x".into()) });
    let engine = Engine::builder().tool(echo("echo")).tool(later).permissions(NoVersion).build().unwrap();
    engine.tap(Arc::new(Counts(Arc::default())));
    let calls = vec![call("echo", json!({})), call("later", json!({}))];
    let report = engine.execute(calls, ExecuteOptions::new()).await.unwrap();
    assert_eq!(outcomes(&report), ["suspended", "ok"]);
    let mut list = report.suspend(CallId::Absent);
    let answers = Answers::new().approve(report.results[0].request.as_ref().unwrap());
    let refused = engine.resume(&mut list, &answers, ExecuteOptions::new()).await;
    assert!(refused.unwrap_err().to_string().contains("does not hold any more"));
}

/// Panics when it is asked what it is, or lets go.
struct Odd {
    spec: Option<ToolSpec>,
}

impl Tool for Odd {
    fn spec(&self) -> &ToolSpec {
        self.spec.as_ref().expect("a tool that knows what it is")
    }
    fn call(self: Arc<Self>, _: Invocation) -> ToolFuture {
        ToolFuture::ready(Ok("odd".into()))
    }
    fn retire(&self) -> BoxFuture<'static, ()> {
        panic!("it does not let go")
    }
}

/// Counts how often it lets go.
struct Retires(ToolSpec, Arc<AtomicUsize>);
impl Tool for Retires {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }
    fn call(self: Arc<Self>, _: Invocation) -> ToolFuture {
        ToolFuture::ready(Ok("fine".into()))
    }
    fn retire(&self) -> BoxFuture<'static, ()> {
        self.1.fetch_add(1, Ordering::Relaxed);
        Box::pin(std::future::ready(()))
    }
}

#[tokio::test]
async fn a_tool_that_panics_beside_its_calls_keeps_no_other_from_anything() {
    let retired = Arc::<AtomicUsize>::default();
    let odd = Odd { spec: Some(ToolSpec::new("odd")) };
    let engine =
        Engine::builder().tool(odd).tool(Retires(ToolSpec::new("fine"), retired.clone())).build().unwrap();
    let nameless: Arc<dyn Tool> = Arc::new(Odd { spec: None });
    let refused = engine.change_tools(vec![toolyard::CatalogChange::Add(nameless.clone())]).await;
    assert!(refused.unwrap_err().to_string().contains("panicked when it was asked what it is"));
    let list = || vec![call("odd", json!({})), call("fine", json!({}))];
    let refused = engine.execute(list(), ExecuteOptions::new().guest(nameless)).await;
    assert!(refused.unwrap_err().to_string().contains("panicked when it was asked what it is"));
    let report = engine.execute(list(), ExecuteOptions::new()).await.unwrap();
    assert_eq!(outcomes(&report), ["ok", "ok"]);
    engine.shutdown(Duration::ZERO).await;
    assert_eq!(retired.load(Ordering::Relaxed), 1);
    assert!(Engine::builder().tool(echo("echo")).tool(Odd { spec: None }).build().is_err());
}
