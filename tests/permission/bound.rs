//! An approval holds for what was shown, for its agent, and once.

use futures::executor::block_on;
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use toolyard::{
    Answers, Engine, ExecuteOptions, InjectPolicy, Outcome, RecordError, Refusal, ResumeError, SuspendedList,
    ToolSpec,
};

use super::{Counts, counting, ids, nth, resume, rules, run};
use crate::engine::tools::{call, tool};

/// The record of a list whose three calls wait, for alice.
fn waiting(engine: &Engine) -> SuspendedList {
    let calls = vec![nth("guarded", 0), nth("guarded", 1), nth("guarded", 2)];
    let report = engine.execute_blocking(calls, ExecuteOptions::new().agent("alice")).unwrap();
    report.suspend("doc".into())
}

fn edited(list: &SuspendedList, edit: impl Fn(&mut Value)) -> Result<SuspendedList, RecordError> {
    let mut record: Value = serde_json::from_str(&list.to_json()).unwrap();
    edit(&mut record);
    SuspendedList::from_json(&record.to_string())
}

#[test]
fn a_record_for_another_agent_and_one_with_a_call_twice_run_nothing() {
    let (engine, counts) = counting();
    let list = waiting(&engine);
    let for_bob = edited(&list, |record| record["agent"] = json!("bob")).unwrap_err().to_string();
    assert_eq!(for_bob, "the record disagrees with itself: the list runs for bob, call 0 for alice");
    let twice = edited(&list, |record| {
        let copy = record["parked"][0].clone();
        record["parked"].as_array_mut().unwrap().push(copy);
    });
    assert!(twice.unwrap_err().to_string().ends_with("call 0 waits twice"));
    // In memory no record is read.
    for change in [
        |list: &mut SuspendedList| list.agent = None,
        |list: &mut SuspendedList| list.parked.push(list.parked[0].clone()),
    ] {
        let mut list = list.clone();
        change(&mut list);
        let answers = Answers::new().approve(ids(&list)[0].clone());
        let refused = resume(&engine, &mut list, &answers).unwrap_err();
        assert!(matches!(refused, ResumeError::Refused(Refusal::Disagrees { .. })), "{refused}");
    }
    assert!(counts.ran_once().is_empty());
}

#[test]
fn an_approval_is_for_the_tool_with_exactly_its_name() {
    let spelled = |counts: &Counts, name: &str| {
        let policy = toolyard::PermissionRules {
            rule: vec![toolyard::PermissionRule::new(toolyard::Verdict::Ask, "*", "*")],
            ..toolyard::PermissionRules::default()
        };
        let policy = toolyard::RulePolicy::new(policy).unwrap();
        Engine::builder().tool(counts.tool(name)).permissions(policy).build().unwrap()
    };
    let counts = Counts::default();
    let (_, mut list) = run(&spelled(&counts, "fs_Read"), vec![nth("fs_read", 0)]);
    assert_eq!(list.parked[0].binding.tool, "fs_Read");
    let answers = Answers::new().approve(ids(&list)[0].clone());
    let refused = resume(&spelled(&counts, "fs_read"), &mut list, &answers).unwrap_err();
    assert!(refused.to_string().contains("its tool is not there any more"), "{refused}");
    assert!(counts.ran_once().is_empty());
    // Asked about again it is gone.
    let report = resume(&spelled(&counts, "fs_read"), &mut list, &Answers::new()).unwrap();
    assert_eq!(report.results[0].outcome, Outcome::UnknownTool);
    assert!(counts.ran_once().is_empty());
}

#[test]
fn an_approval_is_for_the_values_of_the_runtime_that_it_was_given_with() {
    let spec = ToolSpec::new("guarded").injected(["to"]).input_schema(json!({"type": "object"}));
    let seen = tool(spec, |invocation| async move { Ok(invocation.arguments.into()) });
    let engine = Engine::builder().tool(seen).permissions(rules()).build().unwrap();
    let to = |to: &str| {
        let values = Map::from_iter([("to".to_owned(), json!(to))]);
        ExecuteOptions::new().inject(values, InjectPolicy::InjectedWins)
    };
    let report = engine.execute_blocking(vec![call("guarded", json!({}))], to("shop")).unwrap();
    let mut list = report.suspend("x".into());
    let answers = Answers::new().approve(ids(&list)[0].clone());
    for other in [to("mallory"), ExecuteOptions::new()] {
        let refused = block_on(engine.resume(&mut list, &answers, other)).unwrap_err();
        assert!(refused.to_string().contains("what the runtime fills in"), "{refused}");
    }
    let report = block_on(engine.resume(&mut list, &answers, to("shop"))).unwrap();
    assert_eq!(report.results[0].outcome, Outcome::Ok);
}

#[test]
fn records_that_bound_less_are_refused_with_what_to_do() {
    let (engine, counts) = counting();
    let older = edited(&waiting(&engine), |record| record["version"] = json!(1)).unwrap_err();
    assert!(older.to_string().ends_with("run the list again"), "{older}");
    assert!(counts.ran_once().is_empty());
}

/// The places of all that is no list and no object in a record.
fn leaves(value: &Value, place: &str, out: &mut Vec<String>) {
    match value {
        Value::Object(entries) => {
            entries.iter().for_each(|(key, value)| leaves(value, &format!("{place}/{key}"), out));
        }
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(at, item)| leaves(item, &format!("{place}/{at}"), out));
        }
        _ => out.push(place.to_owned()),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn whatever_is_edited_nothing_runs_but_what_was_approved_and_once(
        which in any::<prop::sample::Index>(), how in 0..4_usize, approve in 0..3_usize, copies in 0..3_usize,
    ) {
        let (engine, counts) = counting();
        let list = waiting(&engine);
        let approved = ids(&list)[approve].clone();
        let record = edited(&list, |record| {
            let mut places = Vec::new();
            leaves(record, "", &mut places);
            let leaf = record.pointer_mut(&places[which.index(places.len())]).unwrap();
            *leaf = match (how, &*leaf) {
                (0, Value::String(text)) => json!(format!("{text}x")),
                (0 | 1, Value::Number(number)) => json!(number.as_i64().unwrap_or_default() + 1),
                (1, Value::String(text)) => json!(text.to_uppercase()),
                (2, Value::Bool(flag)) => json!(!flag),
                (3, _) => json!("guarded"),
                _ => Value::Null,
            };
            for _ in 0..copies {
                let copy = record["parked"][approve].clone();
                record["parked"].as_array_mut().unwrap().push(copy);
            }
        });
        if let Ok(mut list) = record {
            let _ = resume(&engine, &mut list, &Answers::new().approve(approved.clone()));
            // Once answered it is answered, in the record as it was too.
            let mut before = list;
            let _ = resume(&engine, &mut before, &Answers::new().approve(approved));
        }
        let ran = counts.ran_once();
        prop_assert!(ran.is_empty() || ran == [i64::try_from(approve).unwrap()], "{:?} ran", ran);
    }
}
