//! Suspended lists and the states of their tools, in the library.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use futures::executor::block_on;
use serde_json::json;
use toolyard::{
    Answers, Engine, ExecuteOptions, PermissionRule, PermissionRules, Refusal, Report, ResumeError,
    RulePolicy, StateScope, Stateful, SuspendedList, Verdict,
    persist::{StateFileError, StateStore},
};

use super::{state::Counter, tools::call};

/// An engine with a counter that asks before it counts for those who say so.
fn engine() -> Engine {
    let rule = vec![PermissionRule::new(Verdict::Ask, "count", "*ask*")];
    let rules = RulePolicy::new(PermissionRules { default: Verdict::Allow, rule }).unwrap();
    let counter = Stateful::new(Counter::new("count", StateScope::Agent));
    Engine::builder().tool(counter).permissions(rules).arbiters(2).build().unwrap()
}

/// Counts once, and once more if somebody approves.
fn suspended(engine: &Engine) -> SuspendedList {
    let calls = vec![call("count", json!({})), call("count", json!({"how": "ask"}))];
    let report = engine.execute_blocking(calls, ExecuteOptions::new().agent("a")).unwrap();
    report.suspend("list".into())
}

fn approve(engine: &Engine, list: &mut SuspendedList) -> Result<Report, ResumeError> {
    let answers = Answers::new().approve(&list.parked[0].call.request_id);
    block_on(engine.resume(list, &answers, ExecuteOptions::new()))
}

/// Says why a list does not go on; nothing of it ran, and the record is as it was.
fn refused(engine: &Engine, list: &mut SuspendedList) -> String {
    let (before, row) = (list.to_json(), state(engine));
    let error = approve(engine, list).unwrap_err();
    assert!(matches!(error, ResumeError::Refused(Refusal::OtherState { .. })), "{error}");
    assert_eq!((list.to_json(), state(engine)), (before, row));
    error.to_string()
}

fn state(engine: &Engine) -> Option<String> {
    block_on(engine.state("count", Some("a"))).unwrap().map(|raw| raw.get().to_owned())
}

fn place() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("state.json");
    (folder, file)
}

#[test]
fn a_list_goes_on_where_its_state_is() {
    let here = engine();
    let mut list = suspended(&here);
    approve(&here, &mut list).unwrap();
    assert_eq!(state(&here).as_deref(), Some("2"));
}

#[test]
fn a_list_goes_on_elsewhere_once_its_state_is_there_and_not_before() {
    let (_folder, file) = place();
    let first = engine();
    block_on(first.save_state(&file)).unwrap();
    let mut list = suspended(&first);

    let second = engine();
    assert!(refused(&second, &mut list).contains("and here is the state"), "another engine, empty");
    block_on(second.load_state(&file)).unwrap();
    let early = refused(&second, &mut list);
    assert!(early.contains("save 1 of the state") && early.contains("needs save 2"), "{early}");

    block_on(first.save_state(&file)).unwrap();
    block_on(second.load_state(&file)).unwrap();
    approve(&second, &mut list).unwrap();
    assert_eq!(state(&second).as_deref(), Some("2"));
}

#[test]
fn a_row_that_is_gone_is_not_taken_for_a_new_one() {
    let here = engine();
    let mut list = suspended(&here);
    block_on(here.reset()).unwrap();
    assert!(refused(&here, &mut list).contains("not there any more"));
}

#[test]
fn an_older_record_without_marks_is_still_read() {
    let here = engine();
    let list = suspended(&here);
    let mut record: serde_json::Value = serde_json::from_str(&list.to_json()).unwrap();
    assert_eq!(record["parked"][0]["state"]["used"], true);
    record["parked"][0].as_object_mut().unwrap().remove("state");
    let mut list = SuspendedList::from_json(&record.to_string()).unwrap();
    approve(&here, &mut list).unwrap();
}

fn open(file: &Path) -> Result<StateStore, StateFileError> {
    block_on(StateStore::open(file, Duration::ZERO))
}

#[test]
fn a_store_keeps_others_out_and_brings_a_list_its_state() {
    let (_folder, file) = place();
    let (first, second) = (engine(), engine());
    let store = open(&file).unwrap();
    block_on(store.load(&first)).unwrap();
    let mut list = suspended(&first);
    list.store = Some(store.mark());
    assert!(matches!(open(&file), Err(StateFileError::Locked { .. })));
    block_on(store.save(&first)).unwrap();
    drop(store);

    let mark = list.store.clone().unwrap();
    let store = block_on(StateStore::reopen(&mark, None, Duration::ZERO)).unwrap();
    block_on(store.load(&second)).unwrap();
    approve(&second, &mut list).unwrap();
    assert_eq!(block_on(store.save(&second)).unwrap(), 1);
    assert!(std::fs::read_to_string(&file).unwrap().contains("\"state\":2"));
}
