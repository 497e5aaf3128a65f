//! Values of the runtime: a model neither chooses them nor hides behind them.

use futures::executor::block_on;
use proptest::prelude::*;
use serde_json::{Map, Value, json, value::RawValue};
use toolyard::{
    Answer, Answers, Engine, ExecuteOptions, Failure, InjectPolicy, Outcome, Output, PermissionRule,
    PermissionRules, RulePolicy, ToolSpec, Verdict,
};

use super::ids;
use crate::engine::tools::{call, tool};

/// An engine whose only tool, `pay`, takes `to` from the runtime and gives back what it got.
fn engine(verdict: Verdict) -> Engine {
    let spec = ToolSpec::new("pay").injected(["to"]).input_schema(json!({"type": "object"}));
    let pay =
        tool(
            spec,
            |invocation| async move { Ok(Output::from_json_text(invocation.arguments).unwrap().into()) },
        );
    let rule = vec![PermissionRule::new(verdict, "pay", "*")];
    let policy = RulePolicy::new(PermissionRules { default: Verdict::Allow, rule }).unwrap();
    Engine::builder().tool(pay).permissions(policy).build().unwrap()
}

fn options(injected: Option<&Value>, policy: InjectPolicy) -> ExecuteOptions {
    let given = injected.map(|value| Map::from_iter([("to".to_owned(), value.clone())]));
    ExecuteOptions::new().inject(given.unwrap_or_default(), policy)
}

#[test]
fn a_model_cannot_choose_what_nobody_filled_in() {
    for options in [ExecuteOptions::new(), options(None, InjectPolicy::InjectedWins)] {
        let engine = engine(Verdict::Ask);
        let calls = vec![call("pay", json!({"n": 1, "to": "mallory"}))];
        let report = engine.execute_blocking(calls, options).unwrap();
        assert_eq!(report.results[0].outcome, Outcome::BadArguments);
        let error = report.results[0].error.as_deref();
        assert_eq!(error, Some("there is no argument \"to\": leave it out"));
    }
}

#[test]
fn a_value_that_wins_over_the_runtimes_is_shown_and_judged() {
    let engine = engine(Verdict::Ask);
    let calls = vec![call("pay", json!({"n": 1, "to": "mallory"}))];
    let report =
        engine.execute_blocking(calls, options(Some(&json!("shop")), InjectPolicy::ExplicitWins)).unwrap();
    assert_eq!(report.requests()[0].resource, Some(r#"{"n":1,"to":"mallory"}"#));
    let list = report.suspend("x".into());
    assert_eq!(list.parked[0].call.arguments_text(), r#"{"n":1,"to":"mallory"}"#);
}

#[test]
fn an_argument_that_equals_a_value_of_the_runtime_is_kept_for_later() {
    let spec = ToolSpec::new("ask").injected(["to"]).input_schema(json!({"type": "object"}));
    let ask = tool(spec, |invocation| async move {
        if invocation.context.input().is_none() {
            return Err(Failure::needs_input(invocation.arguments, "sure?"));
        }
        Ok(Output::from_json_text(invocation.arguments).unwrap().into())
    });
    let engine = Engine::builder().tool(ask).build().unwrap();
    let given = Map::from_iter([("tenant".to_owned(), json!("acme")), ("to".to_owned(), json!("acme"))]);
    let options = || ExecuteOptions::new().inject(given.clone(), InjectPolicy::InjectedWins);
    let report = engine.execute_blocking(vec![call("ask", json!({"tenant": "acme"}))], options()).unwrap();
    let mut list = report.suspend("x".into());
    assert_eq!(list.parked[0].call.arguments_text(), r#"{"tenant":"acme"}"#);
    let yes = RawValue::from_string("true".into()).unwrap();
    let answers = Answers::new().with(ids(&list)[0].clone(), Answer::Input(yes));
    let report = block_on(engine.resume(&mut list, &answers, options())).unwrap();
    let output = report.results[0].output.as_ref().unwrap().to_value();
    assert_eq!(output, json!({"tenant": "acme", "to": "acme"}));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]
    #[test]
    fn the_tool_gets_what_was_shown_and_what_the_runtime_gave(
        host in prop_oneof![Just(None), Just(Some(json!("shop"))), Just(Some(json!("mallory")))],
        model in prop_oneof![Just(None), Just(Some(json!("mallory"))), Just(Some(json!("shop")))],
        explicit_wins in any::<bool>(),
    ) {
        let policy = if explicit_wins { InjectPolicy::ExplicitWins } else { InjectPolicy::InjectedWins };
        let mut arguments = json!({"n": 1});
        if let Some(to) = &model {
            arguments["to"] = to.clone();
        }
        // The model of it: who fills the slot, and whether that is shown.
        let expected = match (&host, &model, explicit_wins) {
            (_, Some(model), true) => Ok((Some(model.clone()), true)),
            (Some(host), _, _) => Ok((Some(host.clone()), false)),
            (None, Some(_), false) => Err(()),
            (None, None, _) => Ok((None, false)),
        };
        let engine = engine(Verdict::Ask);
        let calls = vec![call("pay", arguments)];
        let report = engine.execute_blocking(calls, options(host.as_ref(), policy)).unwrap();
        let Ok((to, is_shown)) = expected else {
            prop_assert_eq!(report.results[0].outcome, Outcome::BadArguments);
            return Ok(());
        };
        let resource: Value = serde_json::from_str(report.requests()[0].resource.unwrap()).unwrap();
        prop_assert_eq!(resource.get("to"), to.as_ref().filter(|_| is_shown));
        let mut list = report.suspend("x".into());
        prop_assert_eq!(list.to_json().contains("mallory"), is_shown && to == Some(json!("mallory")));
        let answers = Answers::new().approve(ids(&list)[0].clone());
        let report = block_on(engine.resume(&mut list, &answers, options(host.as_ref(), policy))).unwrap();
        let output = report.results[0].output.as_ref().unwrap().to_value();
        prop_assert_eq!(output.get("to"), to.as_ref());
    }
}
