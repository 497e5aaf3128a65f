//! Policies: rules, and those of a host.

use std::{borrow::Cow, future::pending, time::Duration};

use futures::{FutureExt, executor::block_on};
use serde_json::{Map, json};
use toolyard::{
    Engine, EventKind, ExecuteOptions, InjectPolicy, Judgement, PermissionCheck, PermissionContext,
    PermissionDecision, PermissionPolicy, ToolSpec, Verdict,
};

use super::{Counts, counting, nth, rules, run, with_tools};
use crate::engine::tools::{call, outcomes, paused, tool};

/// A host's policy: what it says to a call is a closure over its action.
struct Host<F>(F);

impl<F: Fn(&str) -> Judgement + Send + Sync + 'static> PermissionPolicy for Host<F> {
    fn version(&self) -> Cow<'_, str> {
        "host".into()
    }
    fn judge(&self, check: &PermissionCheck, _: &PermissionContext<'_>) -> Judgement {
        (self.0)(&check.action)
    }
}

fn decision(verdict: Verdict) -> PermissionDecision {
    PermissionDecision::new(verdict, "the host")
}

#[test]
fn a_denied_call_does_not_run_and_its_siblings_do() {
    let (engine, counts) = counting();
    let (report, _) = run(&engine, vec![nth("free", 0), nth("banned", 1), nth("free", 2)]);
    assert_eq!(outcomes(&report), ["ok", "denied", "ok"]);
    let error = report.results[1].error.as_deref();
    assert_eq!(error, Some(r#"tool "banned": not permitted: action = 'banned', resource = '\{"n":1\}'"#));
    assert_eq!((report.parked.len(), counts.ran_once()), (0, vec![0, 2]));
}

#[test]
fn a_plan_shows_verdict_and_rule_of_each_call_and_is_the_same_every_time() {
    let (engine, counts) = counting();
    let calls = || vec![nth("guarded", 0), nth("free", 1), nth("banned", 2)];
    let plan = || block_on(engine.plan(calls(), ExecuteOptions::new())).unwrap();
    let first = plan();
    let said: Vec<_> =
        first.permissions.iter().map(|said| (said.index, said.decision.rule.as_str())).collect();
    assert_eq!(said, [(0, "rule 1: ask guarded *"), (1, "default: allow"), (2, "rule 2: deny banned *")]);
    let problems: Vec<_> = first.problems.iter().map(|p| (p.index, p.outcome.as_str())).collect();
    assert_eq!(problems, [(0, "suspended"), (2, "denied")]);
    let first = format!("{first:?}");
    assert!((0..100).all(|_| format!("{:?}", plan()) == first));
    assert!(counts.ran_once().is_empty());
}

#[test]
fn decisions_are_among_the_events_with_rule_and_version() {
    let (engine, _) = counting();
    let mut events = engine.subscribe(64);
    run(&engine, vec![nth("guarded", 0), nth("free", 1)]);
    let mut judged = Vec::new();
    while let Some(event) = events.try_next() {
        if let EventKind::Judged { call, decision, version, .. } = event.kind {
            judged.push((call.index, decision.verdict, version == rules().version()));
        }
    }
    assert_eq!(judged, [(0, Verdict::Ask, true), (1, Verdict::Allow, true)]);
}

#[test]
fn a_policy_that_waits_is_waited_for_and_then_obeyed() {
    let counts = Counts::default();
    let later = |action: &str| {
        let verdict = if action == "free" { Verdict::Allow } else { Verdict::Ask };
        Judgement::Later(
            async move {
                tokio::task::yield_now().await;
                decision(verdict)
            }
            .boxed(),
        )
    };
    let engine = with_tools(&counts).permissions(Host(later)).build().unwrap();
    let (report, _) = run(&engine, vec![nth("free", 0), nth("guarded", 1)]);
    assert_eq!(outcomes(&report), ["ok", "suspended"]);
    assert_eq!(counts.ran_once(), [0]);
}

#[test]
fn a_policy_that_does_not_answer_in_time_or_panics_denies() {
    let counts = Counts::default();
    let policy = |action: &str| match action {
        "free" => Judgement::Later(pending().boxed()),
        "guarded" => Judgement::Later(async { panic!("policy") }.boxed()),
        _ => panic!("policy"),
    };
    let engine = paused()
        .tools(["free", "guarded", "banned"].map(|name| counts.tool(name)))
        .permissions(Host(policy))
        .decide_within(Duration::from_secs(7))
        .build()
        .unwrap();
    let (report, _) = run(&engine, vec![nth("free", 0), nth("guarded", 1), nth("banned", 2)]);
    assert_eq!(outcomes(&report), ["denied"; 3]);
    assert!(counts.ran_once().is_empty());
}

#[test]
fn values_of_the_runtime_are_shown_to_nobody() {
    let secret = ToolSpec::new("secret").injected(["token"]).input_schema(json!({"type": "object"}));
    let seen = tool(secret, |invocation| async move { Ok(invocation.arguments.into()) });
    let ask = |_: &str| decision(Verdict::Ask).into();
    let engine = Engine::builder().tool(seen).permissions(Host(ask)).build().unwrap();
    let token = Map::from_iter([("token".to_owned(), json!("s3cret"))]);
    let options = || ExecuteOptions::new().inject(token.clone(), InjectPolicy::InjectedWins);
    let report = engine.execute_blocking(vec![call("secret", json!({"a": 1}))], options()).unwrap();
    assert_eq!(report.requests()[0].resource, Some(r#"{"a":1}"#));
    let mut list = report.suspend("x".into());
    assert!(!list.to_json().contains("s3cret"));
    let answers = toolyard::Answers::new().approve(super::ids(&list)[0].clone());
    let report = block_on(engine.resume(&mut list, &answers, options())).unwrap();
    let output = report.results[0].output.as_ref().unwrap();
    assert!(output.to_text().contains("s3cret"), "the tool gets it: {output:?}");
}
