//! Tools that ask for a value or end the loop, and what the agent's loop does then.

use serde_json::{Map, json, value::RawValue};
use toolyard::{
    Answer, Answers, Completion, Engine, ExecuteOptions, Failure, NextStep, Reply, ResumeError, ToolSpec,
};

use super::{Counts, counting, ids, nth, resume, run};
use crate::engine::tools::{call, outcomes, tool};

fn raw(text: &str) -> Box<RawValue> {
    RawValue::from_string(text.to_owned()).unwrap()
}

/// Asks which account, and says what it was told.
fn asking() -> impl toolyard::Tool {
    tool(ToolSpec::new("pay"), |invocation| async move {
        match invocation.context.input() {
            Some(account) => Ok(format!("paid from {}", account.get()).into()),
            None => Err(Failure::needs_input(invocation.arguments, "from which account?")),
        }
    })
}

#[test]
fn a_tool_asks_for_a_value_and_goes_on_with_it() {
    let counts = Counts::default();
    let engine = Engine::builder().tool(asking()).tool(counts.tool("free")).build().unwrap();
    let (report, mut list) = run(
        &engine,
        vec![nth("free", 0), call("pay", json!({"to": 9_007_199_254_740_993_i64})), nth("free", 2)],
    );
    assert_eq!(outcomes(&report), ["ok", "suspended", "ok"]);
    assert_eq!(report.results[1].error.as_deref(), Some("from which account?"));
    assert_eq!(report.results[1].output, None);
    let request = report.requests()[0].clone();
    assert_eq!((request.index, request.action, request.reason), (1, None, "from which account?"));

    let id = ids(&list)[0].clone();
    assert!(matches!(
        resume(&engine, &mut list, &Answers::new().approve(id.clone())),
        Err(ResumeError::Refused(_))
    ));
    let value = Answers::new().with(id, Answer::Input(raw("12345678901234567890123")));
    let report = resume(&engine, &mut list, &value).unwrap();
    assert_eq!(outcomes(&report), ["ok"; 3]);
    assert_eq!(report.results[1].output.as_ref().unwrap().to_text(), "paid from 12345678901234567890123");
    assert_eq!(counts.ran_once(), [0, 2]);
}

#[test]
fn a_question_that_expired_is_put_again_without_running_anything() {
    let engine = Engine::builder().tool(asking()).answer_within(std::time::Duration::ZERO).build().unwrap();
    let (_, mut list) = run(&engine, vec![call("pay", json!({}))]);
    let old = ids(&list)[0].clone();
    let report = resume(&engine, &mut list, &Answers::new()).unwrap();
    assert_eq!(outcomes(&report), ["suspended"]);
    assert!(ids(&list)[0] != old && report.results[0].request.as_deref() == Some(&ids(&list)[0]));
}

#[test]
fn a_tool_that_asks_without_giving_its_arguments_back_has_failed() {
    let rude = tool(ToolSpec::new("rude"), |_| async { Err(Failure::needs_input(String::new(), "what?")) });
    let (report, _) = run(&Engine::builder().tool(rude).build().unwrap(), vec![call("rude", json!({}))]);
    assert_eq!((outcomes(&report), report.parked.len()), (vec!["failed"], 0));
}

#[test]
fn a_call_that_waits_does_not_stop_a_list_that_stops_at_failures() {
    let (engine, counts) = counting();
    let options = ExecuteOptions::new().stop_on_failure(true);
    let report = engine.execute_blocking(vec![nth("guarded", 0), nth("free", 1)], options).unwrap();
    assert_eq!(outcomes(&report), ["suspended", "ok"]);
    assert_eq!(counts.ran_once(), [1]);
}

fn done(name: &str, patch: &serde_json::Value, status: &'static str) -> impl toolyard::Tool + use<> {
    let patch: Map<_, _> = patch.as_object().unwrap().clone();
    tool(ToolSpec::new(name), move |_| {
        let completion = Completion::new().patch(patch.clone()).status(status);
        async move { Ok(Reply::from("done").complete(completion)) }
    })
}

#[test]
fn the_report_says_whether_the_loop_goes_on() {
    let counts = Counts::default();
    let engine = Engine::builder()
        .tool(counts.tool("free"))
        .tool(done("one", &json!({"a": 1, "b": 1}), "SUCCESS"))
        .tool(done("two", &json!({"b": 2}), "FAILED"))
        .build()
        .unwrap();
    let next = |calls| run(&engine, calls).0.next_step();
    assert_eq!(next(vec![nth("free", 0)]), NextStep::Observe);
    let complete = next(vec![nth("free", 1), call("one", json!({})), call("two", json!({}))]);
    let patch = json!({"a": 1, "b": 2}).as_object().unwrap().clone();
    assert_eq!(complete, NextStep::Complete { call: 1, patch, status: "SUCCESS".into() });
    assert!(!complete.goes_on() && NextStep::Observe.goes_on());
    let mut state = json!({"a": 0, "kept": true}).as_object().unwrap().clone();
    assert_eq!(complete.apply_patch(&mut state), Some("SUCCESS"));
    assert_eq!(serde_json::Value::Object(state), json!({"a": 1, "b": 2, "kept": true}));
    let report = run(&engine, vec![call("two", json!({}))]).0;
    let id = toolyard::CallId::Absent;
    let answer =
        toolyard::formats::native::Answer::new(&id, &report.results, &report.batches, report.elapsed);
    let written = serde_json::to_value(&answer).unwrap();
    assert_eq!(written["complete"], json!({"call": 0, "patch": {"b": 2}, "status": "FAILED"}));
}

#[test]
fn a_completion_survives_the_wait_for_an_approval() {
    let (engine, _) = counting();
    futures::executor::block_on(engine.change_tools(vec![toolyard::CatalogChange::Add(
        std::sync::Arc::new(done("end", &json!({"a": 1}), "DONE")),
    )]))
    .unwrap();
    let (report, list) = run(&engine, vec![call("end", json!({})), nth("guarded", 1)]);
    assert_eq!(report.next_step(), NextStep::Wait { requests: 1 });
    let mut list = toolyard::SuspendedList::from_json(&list.to_json()).unwrap();
    let answers = Answers::new().deny(ids(&list)[0].clone());
    let report = resume(&engine, &mut list, &answers).unwrap();
    assert!(matches!(report.next_step(), NextStep::Complete { call: 0, status, .. } if status == "DONE"));
}
