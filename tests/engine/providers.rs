//! Tools that come from providers while the engine runs.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use futures::{executor::block_on, future::BoxFuture};
use parking_lot::Mutex;
use serde_json::json;
use tokio::sync::Notify;
use toolyard::{
    Duplicate, Engine, ExecuteOptions, ProviderError, ProviderOptions, Refresh, SharedTool, Tool,
    ToolProvider, ToolSpec,
};

use super::tools::{call, echo, outcomes, paused, tool};

/// What a provider shall do when it is asked next.
#[derive(Clone, Default)]
enum Next {
    Tools(Vec<SharedTool>),
    Fail,
    Panic,
    #[default]
    Hang,
}

/// A provider that does as the test says, and counts how often it was got ready and closed.
#[derive(Clone, Default)]
struct Puppet {
    name: &'static str,
    next: Arc<Mutex<Next>>,
    initialised: Arc<AtomicU32>,
    closed: Arc<AtomicU32>,
    fails_to_start: Arc<AtomicU32>,
}

impl Puppet {
    fn new(name: &'static str, tools: &[&str]) -> Self {
        let puppet = Self { name, ..Self::default() };
        puppet.gives(tools.iter().map(|tool| named(tool)).collect());
        puppet
    }

    fn gives(&self, tools: Vec<SharedTool>) {
        *self.next.lock() = Next::Tools(tools);
    }

    fn lifecycle(&self) -> (u32, u32) {
        (self.initialised.load(Ordering::SeqCst), self.closed.load(Ordering::SeqCst))
    }
}

impl ToolProvider for Puppet {
    fn name(&self) -> &str {
        self.name
    }

    fn initialise(&self) -> BoxFuture<'_, Result<(), ProviderError>> {
        Box::pin(async {
            self.initialised.fetch_add(1, Ordering::SeqCst);
            let failed =
                self.fails_to_start.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1));
            if failed.is_ok() { Err(ProviderError::new("refused")) } else { Ok(()) }
        })
    }

    fn get_tools<'a>(
        &'a self,
        _: &'a ProviderOptions,
    ) -> BoxFuture<'a, Result<Vec<SharedTool>, ProviderError>> {
        let next = self.next.lock().clone();
        Box::pin(async move {
            match next {
                Next::Tools(tools) => Ok(tools),
                Next::Fail => Err(ProviderError::new("connection lost")),
                Next::Panic => panic!("as asked"),
                Next::Hang => std::future::pending().await,
            }
        })
    }

    fn close(&self) -> BoxFuture<'_, Result<(), ProviderError>> {
        self.closed.fetch_add(1, Ordering::SeqCst);
        Box::pin(async { Ok(()) })
    }
}

fn named(name: &str) -> SharedTool {
    Arc::new(echo(name))
}

fn listed(engine: &Engine) -> Vec<String> {
    engine.list_tools().into_iter().map(|schema| schema.name).collect()
}

fn started(providers: &[&Puppet]) -> (Engine, Refresh) {
    // Without a time-out: a clock that stands still until everything waits would run it down while a
    // test holds a call back from outside.
    let builder = paused().timeout(None).tool(echo("own"));
    let with_providers = providers.iter().fold(builder, |builder, &puppet| builder.provider(puppet.clone()));
    let engine = with_providers.build().unwrap();
    let report = block_on(engine.start()).unwrap();
    (engine, report)
}

#[test]
fn tools_of_providers_come_at_the_start_and_go_at_the_stop() {
    let (one, two) = (Puppet::new("one", &["a", "b"]), Puppet::new("two", &["c"]));
    let (engine, report) = started(&[&one, &two]);
    assert!(report.is_complete());
    assert_eq!(listed(&engine), ["own", "a", "b", "c"]);
    assert!(block_on(engine.start()).unwrap().is_complete(), "again: nothing to do");
    assert_eq!(one.lifecycle(), (1, 0));
    assert!(block_on(engine.stop()).unwrap().is_complete());
    assert_eq!((listed(&engine), one.lifecycle()), (vec!["own".to_owned()], (1, 1)));
    block_on(engine.start()).unwrap();
    assert_eq!((listed(&engine).len(), one.lifecycle()), (4, (2, 1)));
}

#[test]
fn a_refresh_adds_replaces_and_removes_what_changed() {
    let puppet = Puppet::new("p", &["a", "b"]);
    let (engine, _) = started(&[&puppet]);
    let newer = tool(ToolSpec::new("b").description("newer"), |_| async { Ok("newer".into()) });
    puppet.gives(vec![named("c"), Arc::new(newer)]);
    assert!(block_on(engine.refresh()).unwrap().is_complete());
    assert_eq!(listed(&engine), ["own", "b", "c"]);
    assert_eq!(engine.find_tools(["b"]).unwrap()[0].description, "newer");
}

#[test]
fn a_refresh_that_fails_hangs_or_panics_keeps_the_last_good_tools() {
    let (bad, good) = (Puppet::new("bad", &["a"]), Puppet::new("good", &["b"]));
    let (engine, _) = started(&[&bad, &good]);
    for (next, reason) in [
        (Next::Fail, "connection lost"),
        (Next::Hang, "it did not answer within 30 s"),
        (Next::Panic, "it panicked"),
    ] {
        *bad.next.lock() = next;
        good.gives(vec![named("b"), named(reason)]);
        let report = block_on(engine.refresh()).unwrap();
        assert_eq!(report.failed, [("bad".to_owned(), ProviderError::new(reason))]);
        assert_eq!(listed(&engine), ["own", "a", "b", reason], "the other provider is up to date");
    }
    let report = engine.execute_blocking(vec![call("a", json!({}))], ExecuteOptions::new()).unwrap();
    assert_eq!(outcomes(&report), ["ok"]);
}

#[test]
fn a_provider_that_cannot_start_may_be_tried_again() {
    let puppet = Puppet::new("p", &["a"]);
    puppet.fails_to_start.store(1, Ordering::SeqCst);
    let (engine, report) = started(&[&puppet]);
    assert_eq!(report.failed, [("p".to_owned(), ProviderError::new("refused"))]);
    assert_eq!(listed(&engine), ["own"]);
    assert!(block_on(engine.refresh()).unwrap().is_complete(), "a refresh asks only those that are ready");
    assert_eq!(listed(&engine), ["own"]);
    assert!(block_on(engine.start()).unwrap().is_complete());
    assert_eq!(listed(&engine), ["own", "a"]);
}

#[test]
fn a_name_belongs_to_the_engine_then_to_the_earlier_provider() {
    let (one, two) = (Puppet::new("one", &["OWN", "a"]), Puppet::new("two", &["a", "b", "B"]));
    let (engine, report) = started(&[&one, &two]);
    let duplicate = |kept: &str, dropped: &str| Duplicate { kept: kept.into(), dropped: dropped.into() };
    assert_eq!(report.left_out, [duplicate("own", "OWN"), duplicate("a", "a"), duplicate("b", "B")]);
    assert_eq!(listed(&engine), ["own", "a", "b"]);
    // The name goes over to the other provider when the first gives it up.
    one.gives(vec![]);
    let report = block_on(engine.refresh()).unwrap();
    assert_eq!(
        (report.left_out, listed(&engine)),
        (vec![duplicate("b", "B")], ["own", "b", "a"].map(str::to_owned).into())
    );
}

#[test]
fn a_tool_that_cannot_be_used_keeps_no_other_out_and_an_update_to_it_keeps_the_old_one() {
    let bad = |name: &str| -> SharedTool {
        Arc::new(tool(ToolSpec::new(name).input_schema(json!({"type": "nonsense"})), |_| async {
            Ok("".into())
        }))
    };
    let puppet = Puppet::new("p", &[]);
    puppet.gives(vec![bad("x"), named("a"), named(" ")]);
    let (engine, report) = started(&[&puppet]);
    assert_eq!(report.unusable.len(), 2, "{:?}", report.unusable);
    assert_eq!(listed(&engine), ["own", "a"]);
    puppet.gives(vec![bad("a"), named("b")]);
    let report = block_on(engine.refresh()).unwrap();
    assert_eq!(report.unusable[0].tool(), Some("a"));
    assert_eq!(listed(&engine), ["own", "a", "b"]);
    let report = engine.execute_blocking(vec![call("a", json!({}))], ExecuteOptions::new()).unwrap();
    assert_eq!(outcomes(&report), ["ok"]);
}

#[test]
fn what_the_host_puts_in_the_place_of_a_providers_tool_is_the_hosts() {
    let puppet = Puppet::new("p", &["a"]);
    let (engine, _) = started(&[&puppet]);
    let mine = tool(ToolSpec::new("a").description("mine"), |_| async { Ok("".into()) });
    block_on(engine.add_tools([mine])).unwrap();
    let report = block_on(engine.refresh()).unwrap();
    assert_eq!(report.left_out.len(), 1);
    assert_eq!(engine.find_tools(["a"]).unwrap()[0].description, "mine");
    block_on(engine.stop()).unwrap();
    assert_eq!(listed(&engine), ["own", "a"]);
}

#[test]
fn a_list_keeps_the_tools_that_it_started_with() {
    let (begun, begins) = std::sync::mpsc::channel();
    let go = Arc::new(Notify::new());
    let gate = go.clone();
    let slow: Arc<dyn Tool> = Arc::new(tool(ToolSpec::new("slow"), move |_| {
        let (begun, gate) = (begun.clone(), gate.clone());
        async move {
            begun.send(()).unwrap();
            gate.notified().await;
            Ok("".into())
        }
    }));
    let puppet = Puppet::new("p", &[]);
    puppet.gives(vec![slow, named("after")]);
    let (engine, _) = started(&[&puppet]);
    let report = std::thread::scope(|scope| {
        let calls = vec![call("slow", json!({})), call("after", json!({}))];
        let list = scope.spawn(|| engine.execute_blocking(calls, ExecuteOptions::new()).unwrap());
        begins.recv_timeout(Duration::from_mins(1)).unwrap();
        puppet.gives(vec![]);
        block_on(engine.refresh()).unwrap();
        go.notify_one();
        list.join().unwrap()
    });
    assert_eq!(outcomes(&report), ["ok", "ok"]);
    let later = engine.execute_blocking(vec![call("after", json!({}))], ExecuteOptions::new()).unwrap();
    assert_eq!(outcomes(&later), ["unknown_tool"]);
}

#[tokio::test]
async fn a_shutdown_closes_the_providers_after_the_last_call() {
    let puppet = Puppet::new("p", &["a"]);
    let (engine, _) = tokio::task::spawn_blocking({
        let puppet = puppet.clone();
        move || started(&[&puppet])
    })
    .await
    .unwrap();
    engine.shutdown(Duration::ZERO).await;
    assert_eq!(puppet.lifecycle(), (1, 1));
    assert!(engine.start().await.is_err(), "the engine is gone");
    assert_eq!(puppet.lifecycle(), (1, 1));
}

#[test]
fn the_built_in_tools_are_a_provider_that_takes_its_names_from_the_options() {
    let folder = tempfile::tempdir().unwrap();
    let root = toolyard::builtin::file::FileRoot::open(folder.path()).unwrap();
    let registry = toolyard::builtin::BuiltinRegistry::shipped(&root).custom_tools([named("mine")]);
    let options = json!({"names": ["calc"]}).as_object().unwrap().clone();
    let engine = paused().provider(registry).provider_options(options).build().unwrap();
    assert!(listed(&engine).is_empty());
    assert!(block_on(engine.start()).unwrap().is_complete());
    assert_eq!(listed(&engine), ["calculator", "mine"]);
    let calls = vec![call("calculator", json!("6*7"))];
    let report = engine.execute_blocking(calls, ExecuteOptions::new()).unwrap();
    assert_eq!(report.results[0].output.as_ref().unwrap().to_text(), "42");
}
