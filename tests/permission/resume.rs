//! Lists with calls that must be approved.

use std::{future::IntoFuture, time::Duration};

use futures::executor::block_on;
use serde_json::json;
use toolyard::{
    Answer, Answers, Arguments, Engine, EngineError, ExecuteOptions, NextStep, PermissionRule,
    PermissionRules, Refusal, ResumeError, RulePolicy, SuspendedList, ToolSpec, Verdict,
};

use super::{Counts, counting, ids, nth, resume, rules, run, with_tools};
use crate::engine::tools::{call, outcomes, tool};

/// Three calls that need an approval, and two that do not.
fn five() -> Vec<toolyard::ToolCall> {
    ["guarded", "free", "guarded", "free", "guarded"]
        .into_iter()
        .enumerate()
        .map(|(n, tool)| nth(tool, n).with_id(format!("c{n}")))
        .collect()
}

fn refused(answer: Result<toolyard::Report, ResumeError>) -> Refusal {
    match answer.unwrap_err() {
        ResumeError::Refused(refusal) => refusal,
        other => panic!("{other}"),
    }
}

#[test]
fn what_needs_no_approval_runs_and_all_requests_come_at_once() {
    let (engine, counts) = counting();
    let (report, _) = run(&engine, five());
    assert_eq!(outcomes(&report), ["suspended", "ok", "suspended", "ok", "suspended"]);
    assert_eq!(counts.ran_once(), [1, 3]);
    let requests = report.requests();
    assert_eq!(requests.iter().map(|request| request.index).collect::<Vec<_>>(), [0, 2, 4]);
    let mut ids: Vec<_> = requests.iter().map(|request| request.id).collect();
    ids.dedup();
    assert_eq!(ids.len(), 3);
    assert_eq!((requests[0].action, requests[0].resource), (Some("guarded"), Some(r#"{"n":0}"#)));
    for request in &requests {
        assert_eq!(report.results[request.index].request.as_deref(), Some(request.id));
    }
    assert_eq!(report.next_step(), NextStep::Wait { requests: 3 });
}

#[test]
fn approving_the_second_runs_only_the_second_and_the_list_ends_whole_and_in_order() {
    let (engine, counts) = counting();
    let (_, mut list) = run(&engine, five());
    let [first, second, third] = ids(&list).try_into().unwrap();

    let report = resume(&engine, &mut list, &Answers::new().approve(second)).unwrap();
    assert_eq!(outcomes(&report), ["suspended", "ok", "ok", "ok", "suspended"]);
    assert_eq!(counts.ran_once(), [1, 2, 3]);

    let answers = Answers::new().deny_because(first, "no").approve(third);
    let report = resume(&engine, &mut list, &answers).unwrap();
    assert_eq!(outcomes(&report), ["denied", "ok", "ok", "ok", "ok"]);
    assert_eq!(report.results[0].error.as_deref(), Some("tool \"guarded\": denied: no"));
    let ids: Vec<_> =
        report.results.iter().map(|result| (result.index, result.id.as_text().unwrap())).collect();
    assert_eq!(ids, [(0, "c0"), (1, "c1"), (2, "c2"), (3, "c3"), (4, "c4")]);
    assert_eq!(counts.ran_once(), [1, 2, 3, 4]);
    assert_eq!(report.next_step(), NextStep::Observe);
    let planned: Vec<_> = report.batches.iter().flat_map(|batch| batch.calls.clone()).collect();
    assert_eq!(planned, [1, 3, 2, 4]);
}

#[test]
fn an_approval_serves_once_also_for_a_copy_of_the_record() {
    let (engine, counts) = counting();
    let (_, mut list) = run(&engine, five());
    let mut copy = list.clone();
    let id = ids(&list)[0].clone();
    let approve = Answers::new().approve(id.clone());
    resume(&engine, &mut list, &approve).unwrap();
    assert_eq!(refused(resume(&engine, &mut list, &approve)), Refusal::Used(id.clone()));
    assert_eq!(refused(resume(&engine, &mut copy, &approve)), Refusal::Used(id));
    let untouched = resume(&engine, &mut copy, &Answers::new()).unwrap();
    assert_eq!(outcomes(&untouched)[0], "suspended", "its fate is in the other copy");
    assert_eq!(counts.ran_once(), [0, 1, 3]);
}

#[test]
fn one_answer_that_cannot_be_taken_keeps_all_of_them_from_running() {
    let (engine, counts) = counting();
    let (_, mut list) = run(&engine, five());
    let before = list.to_json();
    let answers = Answers::new().approve(ids(&list)[0].clone()).approve("req_unknown");
    assert_eq!(refused(resume(&engine, &mut list, &answers)), Refusal::Unknown("req_unknown".into()));
    assert_eq!((list.to_json(), counts.ran_once()), (before, vec![1, 3]));
}

#[test]
fn the_same_request_with_other_arguments_is_refused_and_asked_again() {
    let (engine, counts) = counting();
    let (_, mut list) = run(&engine, five());
    let id = ids(&list)[0].clone();
    list.parked[0].call.arguments = Some(Arguments::Json(r#"{"n":77}"#.into()));
    let refusal = refused(resume(&engine, &mut list, &Answers::new().approve(id.clone())));
    assert!(matches!(&refusal, Refusal::Changed { reason, .. } if reason.contains("arguments")), "{refusal}");
    assert_eq!(counts.ran_once(), [1, 3]);

    let report = resume(&engine, &mut list, &Answers::new()).unwrap();
    let asked = report.requests()[0].clone();
    assert!(asked.id != id && asked.resource == Some(r#"{"n":77}"#), "the new arguments are shown");
    assert_eq!(counts.ran_once(), [1, 3]);
    let again = Answers::new().approve(ids(&list)[0].clone());
    resume(&engine, &mut list, &again).unwrap();
    assert_eq!(counts.ran_once(), [1, 3, 77]);
}

#[test]
fn an_approval_does_not_outlive_its_policy_or_its_tools_schema() {
    let (engine, _) = counting();
    let (_, list) = run(&engine, five());
    let approve = Answers::new().approve(ids(&list)[0].clone());

    let counts = Counts::default();
    let stricter = PermissionRules { default: Verdict::Ask, rule: Vec::new() };
    let other_policy = with_tools(&counts).permissions(RulePolicy::new(stricter).unwrap()).build().unwrap();
    let refusal = refused(resume(&other_policy, &mut list.clone(), &approve));
    assert!(refusal.to_string().contains("the permission policy has changed"), "{refusal}");

    let wider = super::spec("guarded").input_schema(json!({"type": "object"}));
    let echo = tool(wider, |_| async { Ok("ran".into()) });
    let other_tool = Engine::builder().tool(echo).permissions(rules()).build().unwrap();
    let refusal = refused(resume(&other_tool, &mut list.clone(), &approve));
    assert!(refusal.to_string().contains("the tool's schema has changed"), "{refusal}");
    assert!(counts.ran_once().is_empty());
}

#[test]
fn an_expired_request_is_refused_and_asked_again_even_when_the_policy_allows_it_now() {
    let counts = Counts::default();
    let engine = with_tools(&counts).permissions(rules()).answer_within(Duration::ZERO).build().unwrap();
    let (_, mut list) = run(&engine, vec![nth("guarded", 0)]);
    let id = ids(&list)[0].clone();
    let refusal = refused(resume(&engine, &mut list, &Answers::new().approve(id.clone())));
    assert!(matches!(refusal, Refusal::Expired { .. }), "{refusal}");

    let lax = with_tools(&counts).build().unwrap();
    let report = resume(&lax, &mut list, &Answers::new()).unwrap();
    assert_eq!(outcomes(&report), ["suspended"]);
    assert_ne!(ids(&list)[0], id);
    assert!(counts.ran_once().is_empty());
    let answers = Answers::new().approve(ids(&list)[0].clone());
    resume(&lax, &mut list, &answers).unwrap();
    assert_eq!(counts.ran_once(), [0]);
}

#[test]
fn changed_arguments_are_checked_and_judged_again() {
    let deny_nines =
        PermissionRules { default: Verdict::Ask, rule: vec![PermissionRule::new(Verdict::Deny, "*", "*9*")] };
    let counts = Counts::default();
    let engine = with_tools(&counts).permissions(RulePolicy::new(deny_nines).unwrap()).build().unwrap();
    let (_, mut list) = run(&engine, vec![nth("free", 0), nth("free", 1), nth("free", 2)]);
    let [fits, unfit, denied] = ids(&list).try_into().unwrap();
    let changed = |arguments: &str| Answer::ApproveChanged(arguments.to_owned());
    let answers = Answers::new()
        .with(fits, changed(r#"{"n":50}"#))
        .with(unfit, changed(r#"{"n":"x"}"#))
        .with(denied, changed(r#"{"n":99}"#));
    let report = resume(&engine, &mut list, &answers).unwrap();
    assert_eq!(outcomes(&report), ["ok", "bad_arguments", "denied"]);
    assert_eq!(counts.ran_once(), [50]);
}

#[test]
fn an_approval_for_the_session_is_a_rule_that_is_shown_and_allows_exactly_that() {
    let (engine, counts) = counting();
    let (_, mut list) = run(&engine, vec![nth("guarded", 0)]);
    let answers = Answers::new().with(ids(&list)[0].clone(), Answer::ApproveForSession);
    resume(&engine, &mut list, &answers).unwrap();
    let shown: Vec<_> = engine.session_rules(None).iter().map(ToString::to_string).collect();
    assert_eq!(shown, [r#"allow guarded \{"n":0\}"#]);

    let (report, _) = run(&engine, vec![nth("guarded", 0), nth("guarded", 1)]);
    assert_eq!(outcomes(&report), ["ok", "suspended"]);
    assert_eq!(counts.0.lock().get(&0), Some(&2));
    let plan = block_on(engine.plan(vec![nth("guarded", 0)], ExecuteOptions::new())).unwrap();
    assert_eq!(plan.permissions[0].decision.rule, r#"session: allow guarded \{"n":0\}"#);
}

#[test]
fn a_list_goes_on_in_another_engine_from_its_text() {
    let (first, before) = counting();
    let (_, list) = run(&first, five());
    let (second, after) = counting();
    let mut list = SuspendedList::from_json(&list.to_json()).unwrap();
    let answers = ids(&list).into_iter().fold(Answers::new(), Answers::approve);
    let report = resume(&second, &mut list, &answers).unwrap();
    assert_eq!(outcomes(&report), ["ok"; 5]);
    assert_eq!((before.ran_once(), after.ran_once()), (vec![1, 3], vec![0, 2, 4]));
}

#[test]
fn integers_beyond_doubles_are_told_apart() {
    let (engine, _) = counting();
    let (_, mut list) = run(&engine, vec![call("guarded", json!({"n": 9_007_199_254_740_993_i64}))]);
    let id = ids(&list)[0].clone();
    list.parked[0].call.arguments = Some(Arguments::Json(r#"{"n":9007199254740992}"#.into()));
    let refusal = refused(resume(&engine, &mut list, &Answers::new().approve(id)));
    assert!(matches!(refusal, Refusal::Changed { .. }), "{refusal}");
}

#[test]
fn a_parked_call_holds_nothing_back_and_holds_no_permit() {
    let counts = Counts::default();
    let engine = with_tools(&counts).permissions(rules()).max_in_flight(1).max_lists(1).build().unwrap();
    let mut calls: Vec<_> = (0..20).map(|n| nth("guarded", n)).collect();
    calls.push(nth("free", 20));
    let (report, mut list) = run(&engine, calls);
    assert_eq!((report.parked.len(), counts.ran_once()), (20, vec![20]));
    let (report, _) = run(&engine, vec![nth("free", 21)]);
    assert_eq!(outcomes(&report), ["ok"]);
    let answers = ids(&list).into_iter().fold(Answers::new(), Answers::approve);
    assert!(resume(&engine, &mut list, &answers).unwrap().all_ok());
    assert_eq!(counts.ran_once(), (0..22).collect::<Vec<_>>());
}

#[test]
fn an_engine_that_takes_no_lists_gives_the_approvals_back() {
    let (counts, (begun, has_begun)) = (Counts::default(), crossbeam_channel::bounded(1));
    let busy = tool(ToolSpec::new("busy"), move |_| {
        begun.send(()).unwrap();
        futures::future::pending()
    });
    let brief = Duration::from_millis(1);
    let engine = with_tools(&counts).tool(busy).permissions(rules()).max_lists(1).admission_timeout(brief);
    let engine = engine.build().unwrap();
    let (_, mut list) = run(&engine, five());
    let before = list.to_json();
    let answers = Answers::new().approve(ids(&list)[0].clone());
    let other = engine.submit(vec![call("busy", json!({}))], ExecuteOptions::new());
    let control = other.control();
    std::thread::scope(|scope| {
        scope.spawn(|| block_on(other.into_future()));
        has_begun.recv().unwrap();
        let busy = resume(&engine, &mut list, &answers).unwrap_err();
        assert!(matches!(busy, ResumeError::Engine(EngineError::Overloaded { .. })), "{busy}");
        control.cancel();
    });
    assert_eq!(list.to_json(), before);
    resume(&engine, &mut list, &answers).unwrap();
    assert_eq!(counts.ran_once(), [0, 1, 3]);

    block_on(engine.shutdown(Duration::ZERO));
    let later = Answers::new().approve(ids(&list)[0].clone());
    let stopped = resume(&engine, &mut list, &later).unwrap_err();
    assert!(matches!(stopped, ResumeError::Engine(EngineError::Stopped)), "{stopped}");
}
