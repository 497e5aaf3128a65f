//! Parts of a host's own that live with an engine.

use std::{sync::Arc, time::Duration};

use actix::prelude::*;
use futures::future::BoxFuture;
use parking_lot::Mutex;
use serde_json::json;
use tokio::sync::oneshot;
use toolyard::{
    AttachError, Engine, EngineError, ExecuteOptions, Extension, ExtensionStatus, HostHandle, Offered,
    PermissionCheck, PermissionRule, PermissionRules, Refused, RulePolicy, SharedTool, StartError, ToolSpec,
    Verdict,
};

use super::tools::{call, echo, outcomes, tool};

type Log = Arc<Mutex<Vec<String>>>;
type Start = fn(&HostHandle) -> Result<(), String>;

/// Notes what is asked of it, and brings one tool that bears its name.
struct Noting {
    name: &'static str,
    log: Log,
    host: Mutex<Option<HostHandle>>,
    start: Start,
}

impl Noting {
    fn new(name: &'static str, log: &Log) -> Self {
        Self { name, log: log.clone(), host: Mutex::default(), start: |_| Ok(()) }
    }

    fn note(&self, what: &str) {
        self.log.lock().push(format!("{what} {}", self.name));
    }
}

impl Extension for Noting {
    fn name(&self) -> &str {
        self.name
    }

    fn start(self: Arc<Self>, host: HostHandle) -> BoxFuture<'static, Result<(), String>> {
        Box::pin(async move {
            self.note("start");
            *self.host.lock() = Some(host.clone());
            (self.start)(&host)?;
            let tools: Vec<SharedTool> = vec![Arc::new(echo(self.name))];
            let refused = host.publish(&mut Offered::default(), tools).await;
            refused.is_empty().then_some(()).ok_or_else(|| format!("{refused:?}"))
        })
    }

    fn ready(self: Arc<Self>) -> BoxFuture<'static, Vec<(String, String)>> {
        self.note("ready");
        Box::pin(async move { vec![(self.name.to_owned(), "it sleeps".to_owned())] })
    }

    fn release(self: Arc<Self>) -> BoxFuture<'static, ()> {
        Box::pin(async move { self.note("release") })
    }

    fn forget<'a>(&'a self, agent: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(async move { self.note(&format!("forget {agent}")) })
    }

    fn close(self: Arc<Self>) -> BoxFuture<'static, ()> {
        Box::pin(async move { self.note("close") })
    }

    fn status(&self) -> ExtensionStatus {
        ExtensionStatus::default().problems([format!("{} is slow", self.name)]).detail(json!({"n": 1}))
    }
}

#[tokio::test]
async fn extensions_start_in_order_and_end_in_the_opposite_one() {
    let log = Log::default();
    let engine = Engine::builder()
        .extension(Noting::new("a", &log))
        .extension(Noting::new("b", &log))
        .build()
        .unwrap();
    assert_eq!(std::mem::take(&mut *log.lock()), ["start a", "start b"]);
    let calls = vec![call("a", json!({})), call("b", json!({}))];
    assert_eq!(outcomes(&engine.execute(calls, ExecuteOptions::new()).await.unwrap()), ["ok", "ok"]);
    let status = engine.extensions();
    let of = |name: &str| status.iter().find(|(other, _)| other == name).unwrap().1.clone();
    assert_eq!((of("b").problems, of("b").detail), (vec!["b is slow".to_owned()], json!({"n": 1})));

    let started = engine.start().await.unwrap();
    let failed: Vec<_> = started.failed.iter().map(|(name, reason)| format!("{name}: {reason}")).collect();
    assert_eq!(failed, ["a: it sleeps", "b: it sleeps"]);
    engine.forget("ada").await.unwrap();
    engine.stop().await.unwrap();
    engine.shutdown(Duration::ZERO).await;
    let expected = [
        "ready a",
        "ready b",
        "forget ada a",
        "forget ada b",
        "release b",
        "release a",
        "close b",
        "close a",
    ];
    assert_eq!(*log.lock(), expected);
}

#[test]
fn an_engine_whose_extension_cannot_start_is_not_built_and_those_before_it_are_closed() {
    let reasons: [(Start, &str); 2] =
        [(|_| Err("no way".to_owned()), "no way"), (|_| panic!("boom"), "it panicked")];
    for (start, reason) in reasons {
        let log = Log::default();
        let bad = Noting { start, ..Noting::new("bad", &log) };
        let builder = Engine::builder().extension(Noting::new("a", &log)).extension(bad);
        let Err(error) = builder.extension(Noting::new("never", &log)).build() else { panic!("built") };
        assert!(matches!(error, StartError::Extension(_)));
        assert_eq!(error.to_string(), format!("the extension \"bad\" could not start: {reason}"));
        // The engine's thread ends after its maker has been told.
        let ended = || log.lock().len() == 4;
        while !ended() {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(*log.lock(), ["start a", "start bad", "close bad", "close a"]);
    }
}

#[test]
fn an_attached_engine_has_its_extensions_too() {
    System::new().block_on(async {
        let log = Log::default();
        let engine = Engine::builder().extension(Noting::new("a", &log)).attach().unwrap();
        assert_eq!(engine.start().await.unwrap().failed.len(), 1);
        let report = engine.execute(vec![call("a", json!({}))], ExecuteOptions::new()).await.unwrap();
        assert_eq!(outcomes(&report), ["ok"]);
        engine.forget("ada").await.unwrap();
        engine.stop(Duration::ZERO).await;
        assert_eq!(*log.lock(), ["start a", "ready a", "forget ada a", "close a"]);

        let bad = Noting { start: |_| Err("no way".to_owned()), ..Noting::new("bad", &log) };
        let engine = Engine::builder().extension(bad).attach().unwrap();
        assert!(matches!(engine.start().await, Err(AttachError::Extension(_))));
        engine.stop(Duration::ZERO).await;
    });
}

/// Keeps its hand on the engine where others see it.
struct Keeping(Arc<Mutex<Option<HostHandle>>>);
impl Extension for Keeping {
    fn name(&self) -> &'static str {
        "keeping"
    }

    fn start(self: Arc<Self>, host: HostHandle) -> BoxFuture<'static, Result<(), String>> {
        *self.0.lock() = Some(host);
        Box::pin(async { Ok(()) })
    }
}

#[tokio::test]
async fn a_hand_on_an_engine_that_has_gone_does_nothing() {
    let log = Log::default();
    let kept = Arc::new(Mutex::new(None));
    let builder = Engine::builder().tool(echo("own")).extension(Noting::new("a", &log));
    let engine = builder.extension(Keeping(kept.clone())).build().unwrap();
    let host = kept.lock().clone().unwrap();
    assert_eq!(host.specs().iter().map(|spec| spec.name.as_str()).collect::<Vec<_>>(), ["own", "a"]);
    assert!(host.activation().is_some());
    engine.shutdown(Duration::ZERO).await;
    drop(engine);
    let check = PermissionCheck { action: "x".to_owned(), resource: "y".to_owned() };
    assert_eq!(host.judge(&check, None, None).await.verdict, Verdict::Deny);
    assert_eq!(host.change_catalog(Vec::new()).await, Err(EngineError::Stopped));
    assert!(host.specs().is_empty() && host.place().is_none() && host.activation().is_none());
}

/// Runs `work` as the start of an extension.
fn started(
    builder: toolyard::EngineBuilder,
    work: impl FnOnce(HostHandle) -> BoxFuture<'static, ()> + Send + 'static,
) -> Engine {
    type Work = Box<dyn FnOnce(HostHandle) -> BoxFuture<'static, ()> + Send>;
    struct Working(Mutex<Option<Work>>);
    impl Extension for Working {
        fn name(&self) -> &'static str {
            "working"
        }

        fn start(self: Arc<Self>, host: HostHandle) -> BoxFuture<'static, Result<(), String>> {
            let work = self.0.lock().take().unwrap();
            Box::pin(async move {
                work(host).await;
                Ok(())
            })
        }
    }
    builder.extension(Working(Mutex::new(Some(Box::new(work))))).build().unwrap()
}

#[tokio::test]
async fn a_set_of_tools_takes_the_place_of_another_and_one_that_is_refused_keeps_no_other_out() {
    let names = |engine: &Engine| engine.specs().into_iter().map(|spec| spec.name).collect::<Vec<_>>();
    let (say, heard) = oneshot::channel::<(Vec<Refused>, Vec<Refused>, bool)>();
    let engine = started(Engine::builder().tool(echo("taken")), |host| {
        Box::pin(async move {
            let mut offered = Offered::default();
            let stays: SharedTool = Arc::new(echo("stays"));
            let bad = || -> SharedTool {
                let schema = json!({"type": "no such type"});
                Arc::new(tool(ToolSpec::new("bad").input_schema(schema), |_| async { Ok("".into()) }))
            };
            let first = vec![stays.clone(), Arc::new(echo("Taken")), bad(), Arc::new(echo("goes"))];
            let refused = host.publish(&mut offered, first).await;
            // A name that is free now may be had by another spelling.
            let second = vec![stays.clone(), Arc::new(echo("new")), Arc::new(echo("NEW"))];
            let again = host.publish(&mut offered, second).await;
            let same = offered.get("Stays").is_some_and(|there| Arc::ptr_eq(there, &stays));
            say.send((refused, again, same)).unwrap();
        })
    });
    let (refused, again, same) = heard.await.unwrap();
    assert_eq!(refused.iter().map(|refused| refused.name.as_str()).collect::<Vec<_>>(), ["Taken", "bad"]);
    assert_eq!(again.iter().map(|refused| refused.name.as_str()).collect::<Vec<_>>(), ["NEW"]);
    assert!(same);
    assert_eq!(names(&engine), ["taken", "stays", "new"]);
    engine.shutdown(Duration::ZERO).await;
}

#[derive(Message)]
#[rtype(u32)]
struct Double(u32);
struct Doubling;
impl Actor for Doubling {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        ctx.set_mailbox_capacity(16);
    }
}
impl Handler<Double> for Doubling {
    type Result = u32;

    fn handle(&mut self, Double(n): Double, _: &mut Self::Context) -> u32 {
        2 * n
    }
}

#[tokio::test]
async fn an_extension_places_actors_and_asks_the_policy() {
    let rule = PermissionRule::new(Verdict::Deny, "db.*", "*");
    let rules = PermissionRules { default: Verdict::Allow, rule: vec![rule] };
    let builder = Engine::builder().arbiters(2).permissions(RulePolicy::new(rules).unwrap());
    let (say, heard) = oneshot::channel();
    let engine = started(builder, |host| {
        Box::pin(async move {
            let place = host.place().unwrap();
            let doubled = place.start(|_| Doubling).send(Double(21)).await.unwrap();
            let check =
                |action: &str| PermissionCheck { action: action.to_owned(), resource: "t".to_owned() };
            let denied = host.judge(&check("db.drop"), Some("ada"), None).await.verdict;
            let allowed = host.judge(&check("fs.read"), None, None).await.verdict;
            say.send((doubled, denied, allowed)).unwrap();
        })
    });
    assert_eq!(heard.await.unwrap(), (42, Verdict::Deny, Verdict::Allow));
    engine.shutdown(Duration::ZERO).await;
}
