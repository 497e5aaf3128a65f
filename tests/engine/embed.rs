//! The engine inside something bigger: nested lists, a host's actix system, taps, tower.

use std::time::Duration;

use actix::prelude::*;
use serde_json::{Value, json};
use toolyard::{
    Engine, EngineError, EngineEvent, EventKind, ExecuteCalls, ExecuteOptions, Failure, Invocation,
    StateScope, StateWork, Stateful, StatefulTool, Stop, Tool, ToolCall, ToolSpec,
};

use super::tools::{call, echo, field, outcomes, paused, tool};

/// A tool that submits the calls in its arguments, all of one other tool, and gives their outcomes.
fn nest(spec: ToolSpec) -> impl Tool {
    tool(spec.parallel_safe(true), |invocation| async move {
        let (wanted, inner) = (field(&invocation, "tool"), field(&invocation, "arguments"));
        let many = field(&invocation, "many").as_u64().unwrap_or(1);
        let calls = (0..many).map(|_| call(wanted.as_str().unwrap(), inner.clone())).collect();
        let results = invocation.context.submit(calls).await?;
        let outcomes: Vec<Value> = results
            .iter()
            .map(|result| json!([result.outcome.as_str(), result.output, result.error]))
            .collect();
        Ok(Value::Array(outcomes).into())
    })
}

/// Arguments of `levels` calls of the tool inside each other, around an echo.
fn levels(levels: usize) -> Value {
    (0..levels).fold(
        json!({"tool": "echo", "arguments": {}}),
        |inner, _| json!({"tool": "nest", "arguments": inner}),
    )
}

#[test]
fn lists_nest_as_deep_as_allowed_and_no_deeper() {
    let engine = Engine::builder()
        .tool(nest(ToolSpec::new("nest")))
        .tool(echo("echo"))
        .child_depth(2)
        .build()
        .unwrap();
    let run = |depth| {
        let report =
            engine.execute_blocking(vec![call("nest", levels(depth))], ExecuteOptions::new()).unwrap();
        format!("{:?} {:?}", report.results[0].output, report.results[0].error)
    };
    assert!(run(1).contains("ok") && !run(1).contains("failed"), "{}", run(1));
    assert!(run(2).contains("lists may be nested 2 deep"), "{}", run(2));
}

#[test]
fn nested_lists_never_wait_for_the_permits_of_the_calls_around_them() {
    let engine = paused()
        .tool(nest(ToolSpec::new("nest").max_in_flight(1)))
        .tool(echo("echo"))
        .max_in_flight(1)
        .max_lists(1)
        .build()
        .unwrap();
    let report = engine.execute_blocking(vec![call("nest", levels(2))], ExecuteOptions::new()).unwrap();
    assert!(report.all_ok());
    assert!(!report.results[0].output.as_ref().unwrap().to_text().contains("not_started"));
}

#[test]
fn a_nested_list_has_what_is_left_of_its_parents_time() {
    let nap = tool(ToolSpec::new("nap").parallel_safe(true), |_| async {
        tokio::time::sleep(Duration::from_hours(1)).await;
        Ok("woke".into())
    });
    let engine = paused().tool(nest(ToolSpec::new("nest"))).tool(nap).build().unwrap();
    let mut events = engine.subscribe(100);
    let options = ExecuteOptions::new().timeout(Duration::from_secs(7));
    let calls = vec![call("nest", json!({"tool": "nap", "arguments": {}}))];
    let report = engine.execute_blocking(calls, options).unwrap();
    assert_eq!(outcomes(&report), ["timed_out"]);
    assert_eq!(report.elapsed.as_secs(), 7);
    let started =
        std::iter::from_fn(|| events.try_next()).filter(|event| matches!(event.kind, EventKind::Started(_)));
    assert_eq!(started.count(), 2);
}

#[test]
fn a_stateful_tool_cannot_call_itself_on_its_own_state() {
    struct Selfish(ToolSpec);
    impl StatefulTool for Selfish {
        type State = u8;
        fn spec(&self) -> &ToolSpec {
            &self.0
        }
        fn scope(&self) -> StateScope {
            StateScope::Agent
        }
        fn initial(&self, _: Option<&str>) -> u8 {
            0
        }
        fn work(self: std::sync::Arc<Self>, invocation: Invocation, state: u8) -> StateWork<u8> {
            StateWork::Waits(Box::pin(async move {
                let inner = invocation.context.submit(vec![call("selfish", json!({}))]).await;
                let reply = inner.map_err(Failure::from).map(|results| json!(results[0].outcome).into());
                (reply, state)
            }))
        }
    }
    let engine = Engine::builder().tool(Stateful::new(Selfish(ToolSpec::new("selfish")))).build().unwrap();
    let report =
        engine.execute_blocking(vec![call("selfish", json!({}))], ExecuteOptions::new().agent("a")).unwrap();
    assert_eq!(report.results[0].output, Some("denied".into()));
}

/// An actor of the host that remembers what it heard.
#[derive(Default)]
struct Listener(Vec<String>);

impl Actor for Listener {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        ctx.set_mailbox_capacity(1000);
    }
}

impl Handler<EngineEvent> for Listener {
    type Result = ();

    fn handle(&mut self, event: EngineEvent, _: &mut Self::Context) {
        if let EventKind::Finished { call, outcome, .. } = event.kind {
            self.0.push(format!("{} {outcome}", call.tool));
        }
    }
}

#[derive(Message)]
#[rtype(result = "Vec<String>")]
struct Heard;

impl Handler<Heard> for Listener {
    type Result = Vec<String>;

    fn handle(&mut self, _: Heard, _: &mut Self::Context) -> Vec<String> {
        self.0.clone()
    }
}

#[test]
fn engines_live_on_a_hosts_system_and_their_stop_leaves_the_host_alone() {
    System::new().block_on(async {
        let listener = Listener::default().start();
        let first = Engine::builder().tool(echo("echo")).attach().unwrap();
        let second = Engine::builder().tool(echo("echo")).arbiters(2).attach().unwrap();
        first.subscribe_actor(listener.clone().recipient());
        let list = || ExecuteCalls::new(vec![call("echo", json!({}))], ExecuteOptions::new());
        assert!(first.supervisor(None).send(list()).await.unwrap().unwrap().all_ok());
        first.supervisor(None).send(Stop { patience: Duration::from_secs(1) }).await.unwrap();
        assert_eq!(first.supervisor(None).send(list()).await.unwrap().unwrap_err(), EngineError::Stopped);
        assert!(second.supervisor(Some("a")).send(list()).await.unwrap().unwrap().all_ok());
        assert_eq!(listener.send(Heard).await.unwrap(), ["echo ok"]);
        second.stop(Duration::ZERO).await;
    });
}

#[test]
fn a_plain_thread_hears_events_over_a_channel_and_what_has_no_room_is_counted() {
    let engine = Engine::builder().tool(echo("echo")).build().unwrap();
    let (events, dropped) = engine.subscribe_thread(2);
    assert!(engine.execute_blocking(vec![call("echo", json!({}))], ExecuteOptions::new()).unwrap().all_ok());
    assert_eq!(events.iter().take(2).count(), 2);
    assert_eq!(dropped.get(), 3);
}

#[cfg(feature = "tower")]
#[tokio::test]
async fn the_engine_is_a_tower_service() {
    use toolyard::ListRequest;
    use tower_service::Service;
    let mut engine = Engine::builder().tool(echo("echo")).build().unwrap();
    futures::future::poll_fn(|cx| engine.poll_ready(cx)).await.unwrap();
    let calls = vec![Ok(ToolCall::new("echo", json!({"a": 1}).into()))];
    let report = engine.call(ListRequest { calls, ..ListRequest::default() }).await.unwrap();
    assert!(report.all_ok());
}

#[test]
fn tools_run_on_the_hosts_runtime_when_asked_to() {
    let host = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .thread_name("host")
        .enable_all()
        .build();
    let host = host.unwrap();
    let name = || std::thread::current().name().unwrap_or_default().to_owned();
    let where_async = tool(ToolSpec::new("where_async"), move |_| async move {
        tokio::task::yield_now().await;
        Ok(name().into())
    });
    let engine = Engine::builder().tool(where_async).tool_runtime(host.handle().clone()).build().unwrap();
    let report =
        engine.execute_blocking(vec![call("where_async", json!({}))], ExecuteOptions::new()).unwrap();
    assert_eq!(report.results[0].output, Some("host".into()));
}
