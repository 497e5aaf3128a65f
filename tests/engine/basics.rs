//! Lists, results, plans, events.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use serde_json::{Map, json};
use toolyard::{
    Arguments, BadCall, BatchKind, CallId, Engine, EventKind, ExecuteOptions, Failure, InjectPolicy, Outcome,
    Output, Runner, ToolCall, ToolFuture, ToolSpec,
};

use super::tools::{blocking, call, echo, field, outcomes, paused, tool};

#[test]
fn every_item_is_answered_in_order_whatever_it_is() {
    let engine = Engine::builder()
        .tool(echo("Echo"))
        .tool(tool(ToolSpec::new("fail"), |_| async { Err(Failure::failed("no").output("half")) }))
        .build()
        .unwrap();
    let bad = BadCall { name: "echo".into(), id: "x".into(), error: "item 2: not a call".into() };
    let calls = vec![
        Ok(call("echo", json!({"n": 1})).with_id("")),
        Ok(call("ecko", json!({}))),
        Err(bad),
        Ok(call("fail", json!({})).with_id("x")),
        Ok(ToolCall::new("echo", Arguments::from_text("[1]".into())).with_id("x")),
        Ok(call(" ECHO ", json!({"n": 2}))),
    ];
    let report = engine.execute_blocking(calls, ExecuteOptions::new()).unwrap();
    assert_eq!(outcomes(&report), ["ok", "unknown_tool", "bad_arguments", "failed", "bad_arguments", "ok"]);
    let results = &report.results;
    assert_eq!(results[0].output, Some(Output::from(json!({"n": 1}))));
    assert_eq!(results[0].id, CallId::from(""));
    assert!(results[1].error.as_ref().unwrap().contains("the nearest names are: Echo"));
    assert_eq!((results[3].output.as_ref(), results[3].error.as_deref()), (Some(&"half".into()), Some("no")));
    assert_eq!(results[5].tool, " ECHO ", "the reply echoes the model's spelling");
    let batches: Vec<_> = report.batches.iter().map(|batch| (batch.kind, batch.calls.clone())).collect();
    assert_eq!(
        batches,
        [
            (BatchKind::Concurrent, vec![0]),
            (BatchKind::Sequential, vec![3]),
            (BatchKind::Concurrent, vec![5])
        ]
    );
}

#[test]
fn an_empty_list_has_an_empty_report() {
    let report =
        paused().build().unwrap().execute_blocking(Vec::<ToolCall>::new(), ExecuteOptions::new()).unwrap();
    assert!(report.results.is_empty() && report.batches.is_empty());
}

#[test]
fn results_come_in_call_order_when_the_first_call_is_the_slowest() {
    let nap = tool(ToolSpec::new("nap").parallel_safe(true), |invocation| async move {
        let millis = field(&invocation, "ms").as_u64().unwrap();
        tokio::time::sleep(Duration::from_millis(millis)).await;
        Ok(json!(millis).into())
    });
    let engine = paused().tool(nap).build().unwrap();
    let calls: Vec<_> = [300, 200, 100].map(|ms| call("nap", json!({"ms": ms}))).into();
    let report = engine.execute_blocking(calls, ExecuteOptions::new()).unwrap();
    let outputs: Vec<_> = report.results.iter().map(|r| r.output.as_ref().unwrap().to_text()).collect();
    assert_eq!(outputs, ["300", "200", "100"]);
    assert_eq!(report.elapsed.as_millis(), 300, "they overlapped");
}

#[test]
fn calls_of_a_tool_that_does_not_say_it_is_safe_never_overlap() {
    let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let seen = most.clone();
    let alone = tool(ToolSpec::new("alone"), move |_| {
        let (running, most) = (running.clone(), most.clone());
        async move {
            most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            tokio::time::sleep(Duration::from_millis(10)).await;
            running.fetch_sub(1, Ordering::SeqCst);
            Ok("done".into())
        }
    });
    let engine = paused().tool(alone).tool(echo("echo")).build().unwrap();
    let calls: Vec<_> = (0..20).map(|i| call(if i % 3 == 0 { "echo" } else { "alone" }, json!({}))).collect();
    assert!(engine.execute_blocking(calls, ExecuteOptions::new()).unwrap().all_ok());
    assert_eq!(seen.load(Ordering::SeqCst), 1);
}

#[test]
fn integers_of_any_size_reach_the_tool_and_come_back_exactly() {
    let engine = Engine::builder().tool(echo("echo")).build().unwrap();
    let text = r#"{"a":9007199254740993,"b":123456789012345678901234567890}"#;
    let calls = vec![ToolCall::new("echo", Arguments::from_text(text.into()))];
    let report = engine.execute_blocking(calls, ExecuteOptions::new()).unwrap();
    assert_eq!(report.results[0].output.as_ref().unwrap().to_text(), text);
}

#[test]
fn arguments_that_break_the_schema_are_refused_with_place_and_expectation() {
    let spec = ToolSpec::new("add").input_schema(json!({
        "type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]
    }));
    let engine = Engine::builder().tool(tool(spec, |_| async { Ok("ran".into()) })).build().unwrap();
    let calls = vec![call("add", json!({"a": "x"})), call("add", json!({})), call("add", json!({"a": 1}))];
    let report = engine.execute_blocking(calls, ExecuteOptions::new()).unwrap();
    assert_eq!(outcomes(&report), ["bad_arguments", "bad_arguments", "ok"]);
    let error = |index: usize| report.results[index].error.clone().unwrap();
    assert!(error(0).contains("at /a: \"x\" is not of type \"integer\""), "{}", error(0));
    assert!(error(1).contains("\"a\" is a required property"), "{}", error(1));
}

#[test]
fn an_output_that_breaks_its_schema_stays_ok_and_says_so() {
    let spec = ToolSpec::new("t").output_schema(json!({"type": "integer"}));
    let engine = Engine::builder().tool(tool(spec, |_| async { Ok("text".into()) })).build().unwrap();
    let report = engine.execute_blocking(vec![call("t", json!({}))], ExecuteOptions::new()).unwrap();
    assert_eq!(report.results[0].outcome, Outcome::Ok);
    let detail = report.results[0].detail.as_ref().unwrap();
    assert!(detail.output_mismatch.as_ref().unwrap().contains("is not of type \"integer\""));
}

#[test]
fn injected_values_reach_only_tools_that_declare_them_and_keep_their_calls_alone() {
    let spec = ToolSpec::new("who").parallel_safe(true).injected(["user"]);
    let engine = Engine::builder()
        .tool(tool(spec, |invocation| async move { Ok(field(&invocation, "user").into()) }))
        .tool(echo("echo"))
        .build()
        .unwrap();
    let options = ExecuteOptions::new()
        .inject(Map::from_iter([("user".into(), "ada".into())]), InjectPolicy::default());
    let calls = vec![call("who", json!({"user": "mallory"})), call("echo", json!({}))];
    let report = engine.execute_blocking(calls, options).unwrap();
    assert_eq!(report.results[0].output, Some("ada".into()));
    assert_eq!(report.results[1].output, Some(Output::from(json!({}))));
    assert_eq!(report.batches[0].kind, BatchKind::Sequential);
}

#[test]
fn a_name_means_the_tool_that_has_exactly_it_and_one_that_fits_two_means_none() {
    let plain = |name: &'static str| tool(ToolSpec::new(name), move |_| async move { Ok(name.into()) });
    let engine =
        Engine::builder().tool(plain("Pay")).tool(plain("other")).alias("refund", "other").build().unwrap();
    let options = ExecuteOptions::new()
        .guest(Arc::new(plain("refund")))
        .guest(Arc::new(plain("pay")))
        .guest(Arc::new(plain("OTHER")));
    let names = ["Pay", "pay", " pay ", "PAY", "other", "OTHER", "Other", "refund"];
    let calls = names.map(|name| call(name, json!({}))).to_vec();
    let report = engine.execute_blocking(calls, options).unwrap();
    let ran = |at: usize| report.results[at].output.as_ref().map(|output| output.to_text().to_owned());
    let exact = [ran(0), ran(1), ran(2), ran(4), ran(5)];
    assert_eq!(exact, ["Pay", "pay", "pay", "other", "OTHER"].map(|name| Some(name.into())));
    let by_alias = report.results.last().unwrap().output.as_ref().unwrap();
    assert_eq!(by_alias.to_text(), "other", "an alias is a name of the engine's own tool");
    for (at, both) in [(3, ["\"Pay\"", "\"pay\""]), (6, ["\"other\"", "\"OTHER\""])] {
        let result = &report.results[at];
        assert_eq!(result.outcome, Outcome::UnknownTool, "{result:?}");
        let error = result.error.as_deref().unwrap();
        assert!(both.iter().all(|name| error.contains(name)), "{error}");
    }
}

#[test]
fn a_runner_takes_the_place_of_the_tools_own_body() {
    struct Elsewhere;
    impl Runner for Elsewhere {
        fn run(&self, tool: Arc<dyn toolyard::Tool>, invocation: toolyard::Invocation) -> ToolFuture {
            ToolFuture::new(
                async move { Ok(format!("{} {}", tool.spec().name, invocation.arguments).into()) },
            )
        }
    }
    let engine =
        Engine::builder().tool(blocking(ToolSpec::new("t"), |_| panic!("not here"))).build().unwrap();
    let options = ExecuteOptions::new().runner(Arc::new(Elsewhere));
    let report = engine.execute_blocking(vec![call("t", json!({"a": 1}))], options).unwrap();
    assert_eq!(report.results[0].output, Some("t {\"a\":1}".into()));
}

#[test]
fn tools_of_one_list_are_seen_by_that_list_alone_and_never_win() {
    let engine = Engine::builder().tool(echo("echo")).build().unwrap();
    let guest = |name: &str| Arc::new(tool(ToolSpec::new(name), |_| async { Ok("guest".into()) }));
    let options = ExecuteOptions::new().guest(guest("echo")).guest(guest("extra"));
    let calls = || vec![call("echo", json!({})), call("extra", json!({}))];
    let report = engine.execute_blocking(calls(), options).unwrap();
    assert_eq!(report.results[0].output, Some(Output::from(json!({}))));
    assert_eq!(report.results[1].output, Some("guest".into()));
    let report = engine.execute_blocking(calls(), ExecuteOptions::new()).unwrap();
    assert_eq!(outcomes(&report), ["ok", "unknown_tool"]);
}

#[test]
fn events_tell_a_lists_story_and_a_slow_listener_loses_some() {
    let chatty = tool(ToolSpec::new("chatty"), |invocation| async move {
        invocation.context.progress("half");
        Ok("done".into())
    });
    let engine = Engine::builder().tool(chatty).build().unwrap();
    let (mut all, mut tiny) = (engine.subscribe(100), engine.subscribe(1));
    let report = engine
        .execute_blocking(vec![call("chatty", json!({})).with_id("c1")], ExecuteOptions::new())
        .unwrap();
    assert!(report.all_ok());
    let mut story = Vec::new();
    while let Some(event) = all.try_next() {
        story.push(match event.kind {
            EventKind::ListAccepted { calls, .. } => format!("list of {calls}"),
            EventKind::Accepted { call, .. } => format!("accepted {}", call.tool),
            EventKind::Started(call) => format!("started {}", call.id.as_text().unwrap()),
            EventKind::Progress { payload, .. } => format!("progress {payload}"),
            EventKind::Finished { outcome, .. } => format!("finished {outcome}"),
            EventKind::ListFinished { .. } => "list finished".into(),
            other => format!("{other:?}"),
        });
    }
    assert_eq!(
        story,
        ["list of 1", "accepted chatty", "started c1", "progress \"half\"", "finished ok", "list finished"]
    );
    assert!(tiny.try_next().is_some());
    assert_eq!(tiny.dropped(), 5);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_engine_serves_any_runtime_and_plain_threads_at_once() {
    let engine = Engine::builder().tool(echo("echo")).arbiters(2).build().unwrap();
    let mut lists = tokio::task::JoinSet::new();
    for agent in 0..50 {
        let engine = engine.clone();
        lists.spawn(async move {
            let calls: Vec<_> = (0..20).map(|i| call("echo", json!({"i": i}))).collect();
            engine
                .execute(calls, ExecuteOptions::new().agent(format!("agent-{agent}")))
                .await
                .unwrap()
                .all_ok()
        });
    }
    let on_thread = engine.clone();
    let thread = std::thread::spawn(move || {
        on_thread.execute_blocking(vec![call("echo", json!({}))], ExecuteOptions::new()).unwrap().all_ok()
    });
    assert!(lists.join_all().await.into_iter().all(|ok| ok));
    assert!(thread.join().unwrap());
    engine.shutdown(Duration::from_secs(5)).await;
    let refused = engine.execute(vec![call("echo", json!({}))], ExecuteOptions::new()).await;
    assert_eq!(refused.unwrap_err(), toolyard::EngineError::Stopped);
}

#[test]
fn names_that_differ_only_in_case_cannot_both_be_registered() {
    let error = Engine::builder().tool(echo("Read")).tool(echo("read")).build().unwrap_err();
    assert_eq!(
        error.to_string(),
        "tool \"read\": the name is taken by \"Read\" (names are compared without case)"
    );
}

#[test]
fn a_plan_shows_reasons_and_runs_nothing() {
    let engine = Engine::builder()
        .tool(echo("echo"))
        .tool(tool(ToolSpec::new("write"), |_| async { panic!("planning must not run") }))
        .build()
        .unwrap();
    let calls = vec![call("echo", json!({})), call("write", json!({})), call("nothing", json!({}))];
    let preview = futures::executor::block_on(engine.plan(calls, ExecuteOptions::new())).unwrap();
    let reasons: Vec<_> = preview.plan.steps.iter().map(|step| step.decision.category.as_str()).collect();
    assert_eq!(reasons, ["allowed", "stateful_tool"]);
    assert_eq!((preview.problems[0].index, preview.problems[0].outcome), (2, Outcome::UnknownTool));
}
