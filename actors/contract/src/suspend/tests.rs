use jiff::{SignedDuration, Timestamp};
use serde_json::{json, value::RawValue};

use super::*;
use crate::{Arguments, CallId, Outcome, Output, ToolCall, ToolResult, ToolSpec, result::micros};

fn raw(text: &str) -> Box<RawValue> {
    RawValue::from_string(text.to_owned()).unwrap()
}

fn call(name: &str, arguments: &str, id: &str) -> ToolCall {
    ToolCall::new(name, Arguments::Json(arguments.to_owned())).with_id(id)
}

fn now() -> Timestamp {
    Timestamp::from_second(1_800_000_000).unwrap()
}

fn spec() -> ToolSpec {
    ToolSpec::new("pay").input_schema(json!({"type": "object"}))
}

fn parked(index: usize, arguments: &str, need: Need) -> ParkedCall {
    let expires_at = now() + SignedDuration::from_secs(60);
    let binding = Binding::new(&spec(), "v1", Some("ann"), format!("nonce {index}"), expires_at);
    let mut call = SuspendedCall::new(&call("Pay", arguments, "c"), "");
    call.request_id = binding.request_id(&need, arguments);
    ParkedCall { index, call, need, reason: "waits".into(), binding, kept: None, state: None, claimed: false }
}

fn approval() -> Need {
    Need::Approval { action: "pay".into(), resource: "{}".into(), rule: "rule 1".into() }
}

fn result(index: usize, outcome: Outcome, output: Option<Output>) -> ToolResult {
    ToolResult {
        index,
        id: CallId::Other(raw("7")),
        tool: "Pay".into(),
        outcome,
        output,
        error: None,
        detail: None,
        request: None,
        elapsed: std::time::Duration::from_micros(5),
    }
}

/// Call 0 has ended, 1 waits for an approval, 2 for a value.
fn list() -> SuspendedList {
    let big = Output::Json(raw(r#"{"n": 123456789012345678901}"#));
    let results = vec![
        result(0, Outcome::Ok, Some(big)),
        result(1, Outcome::Suspended, None),
        result(2, Outcome::Suspended, None),
    ];
    let waiting = vec![parked(1, r#"{"n":9007199254740993}"#, approval()), parked(2, "{}", Need::Input)];
    let mut results = results;
    for parked in &waiting {
        results[parked.index].request = Some(parked.call.request_id.clone());
    }
    SuspendedList::new("doc".into(), Some("ann".into()), results, waiting)
}

/// Nothing has changed since the requests were made.
fn unchanged(parked: &ParkedCall) -> Result<(), Refusal> {
    let checked = parked.check_unchanged(&spec(), "v1", parked.call.arguments_text());
    checked.map_err(|reason| Refusal::Changed { id: String::new(), reason: reason.to_owned() })
}

fn ids(list: &SuspendedList) -> Vec<String> {
    list.parked.iter().map(|parked| parked.call.request_id.clone()).collect()
}

#[test]
fn a_dictionary_is_read_in_the_normal_form() {
    let call = SuspendedCall::from_dict(
        r#"{"tool": " Read_File ", "arguments": {"n": 9007199254740993}, "tool_call_id": " c1 ", "request_id": " r "}"#,
    );
    let call = call.unwrap();
    assert_eq!(
        (call.tool.as_str(), call.tool_call_id.as_str(), call.request_id.as_str()),
        ("read_file", "c1", "r")
    );
    assert_eq!(
        call.to_dict(),
        r#"{"tool":"read_file","spelling":" Read_File ","arguments":{"n": 9007199254740993},"id":"c1","request_id":"r"}"#
    );
    let id_wins = SuspendedCall::from_dict(r#"{"tool":"t","id":"a","tool_call_id":"b"}"#).unwrap();
    assert_eq!((id_wins.tool_call_id.as_str(), id_wins.arguments.is_none()), ("a", true));
}

#[test]
fn what_is_no_object_or_names_no_tool_is_no_suspended_call() {
    for text in ["null", "[]", "\"t\"", "{}", r#"{"tool": "  "}"#, r#"{"tool": 5}"#, "{"] {
        assert!(SuspendedCall::from_dict(text).is_none(), "{text}");
    }
}

#[test]
fn the_id_of_a_request_changes_with_everything_that_it_is_bound_to() {
    let binding = parked(0, "{}", approval()).binding;
    let text = r#"{"a":1,"b":2}"#;
    let id = binding.request_id(&approval(), text);
    assert_eq!(id, binding.request_id(&approval(), r#"{ "b": 2, "a": 1 }"#), "the same call");
    let with = |change: fn(&mut Binding)| {
        let mut other = binding.clone();
        change(&mut other);
        other.request_id(&approval(), text)
    };
    let asks = |action: &str, resource: &str| {
        let (action, resource) = (action.into(), resource.into());
        binding.request_id(&Need::Approval { action, resource, rule: "rule 1".into() }, text)
    };
    assert_eq!(id, asks("pay", "{}"));
    let others = [
        binding.request_id(&approval(), r#"{"a":1,"b":3}"#),
        binding.request_id(&Need::Input, text),
        asks("play", "{}"),
        asks("pay", "{ }"),
        with(|binding| binding.tool = "Pay".into()),
        with(|binding| binding.schema.push('x')),
        with(|binding| binding.policy.push('x')),
        with(|binding| binding.nonce.push('x')),
        with(|binding| binding.agent = None),
        with(|binding| binding.expires_at += SignedDuration::from_nanos(1)),
    ];
    assert!(others.iter().all(|other| *other != id));
    let big = |n: &str| binding.request_id(&approval(), &format!("{{\"n\":{n}}}"));
    assert_ne!(big("9007199254740993"), big("9007199254740992"), "integers beyond doubles");
}

#[test]
fn a_changed_tool_schema_policy_or_argument_is_noticed() {
    let good = parked(0, "{}", approval());
    let spelled = ToolSpec::new("Pay").input_schema(spec().input_schema);
    assert_eq!(good.check_unchanged(&spec(), "v1", "{}"), Ok(()));
    assert!(good.check_unchanged(&spelled, "v1", "{}").unwrap_err().contains("not there any more"));
    assert!(
        good.check_unchanged(&spec().input_schema(json!({})), "v1", "{}").unwrap_err().contains("schema")
    );
    assert!(good.check_unchanged(&spec(), "v2", "{}").unwrap_err().contains("policy"));
    assert!(good.check_unchanged(&spec(), "v1", r#"{"to":"me"}"#).unwrap_err().contains("arguments"));
    let mut other = good.clone();
    other.need = Need::Approval { action: "pay".into(), resource: "*".into(), rule: String::new() };
    assert!(other.check_unchanged(&spec(), "v1", "{}").unwrap_err().contains("resource"));
    let asked = parked(0, "{}", Need::Input);
    assert_eq!(asked.check_unchanged(&spec(), "v2", "{}"), Ok(()), "no policy has asked");
}

#[test]
fn a_record_whose_parts_disagree_is_refused() {
    type Edit = fn(&mut SuspendedList);
    let edits: [(&str, Edit); 7] = [
        ("waits twice", |list| list.parked.push(list.parked[0].clone())),
        ("the same request", |list| {
            list.parked[1].call.request_id = list.parked[0].call.request_id.clone();
        }),
        ("has ended ok", |list| list.results[1].outcome = Outcome::Ok),
        ("names another request", |list| list.results[1].request = Some("x".into())),
        ("of tool \"play\"", |list| list.parked[0].call.tool = "play".into()),
        ("the list runs for bob, call 1 for ann", |list| list.agent = Some("bob".into())),
        ("is answered and is not", |list| list.used.push(list.parked[0].call.request_id.clone())),
    ];
    assert!(list().check().is_ok());
    for (reason, edit) in edits {
        let mut list = list();
        edit(&mut list);
        let error = SuspendedList::from_json(&list.to_json()).unwrap_err();
        assert!(matches!(error, RecordError::Disagrees { .. }), "{reason}");
        assert!(error.to_string().contains(reason), "{reason}: {error}");
        let before = list.to_json();
        let answers = Answers::new().approve(ids(&list)[0].clone());
        assert!(list.claim(&answers, now(), unchanged).is_err(), "{reason}");
        assert_eq!(list.to_json(), before);
    }
}

#[test]
fn answers_that_cannot_be_taken_leave_the_record_as_it_was() {
    let before = list();
    let [approve, input] = ids(&before).try_into().unwrap();
    let taken = |answers: Answers, now| {
        let mut list = before.clone();
        let refusal = list.claim(&answers, now, unchanged).unwrap_err();
        assert_eq!(list.to_json(), before.to_json());
        refusal
    };
    let both = |answers: Answers| answers.approve(approve.clone());
    assert_eq!(taken(both(Answers::new().deny("nobody")), now()), Refusal::Unknown("nobody".into()));
    assert_eq!(taken(both(both(Answers::new())), now()), Refusal::Twice(approve.clone()));
    let late = taken(both(Answers::new()), now() + SignedDuration::from_secs(60));
    assert!(matches!(late, Refusal::Expired { .. }), "{late}");
    assert!(matches!(taken(Answers::new().approve(input.clone()), now()), Refusal::Misfit { .. }));
    let value = Answers::new().with(approve.clone(), Answer::Input(raw("1")));
    assert!(matches!(taken(value, now()), Refusal::Misfit { .. }));
}

#[test]
fn what_is_approved_is_claimed_and_what_is_denied_is_answered() {
    let mut list = list();
    let [approve, input] = ids(&list).try_into().unwrap();
    let answers = Answers::new().approve(approve.clone()).deny_because(input.clone(), "not today");
    let resumed = list.claim(&answers, now(), unchanged).unwrap();
    let [Resumption { index: 1, standing: Standing::Approved { check: Some(check) } }] = resumed.as_slice()
    else {
        panic!("{resumed:?}")
    };
    assert_eq!((check.action.as_str(), check.resource.as_str()), ("pay", "{}"), "that and nothing else");
    assert!(list.parked.len() == 1 && list.parked[0].claimed);
    assert_eq!(list.results[2].outcome, Outcome::Denied);
    assert_eq!(list.results[2].error.as_deref(), Some("tool \"Pay\": denied: not today"));
    for used in [approve, input] {
        let again = list.claim(&Answers::new().approve(used.clone()), now(), unchanged);
        assert_eq!(again.unwrap_err(), Refusal::Used(used));
    }
}

#[test]
fn a_claim_whose_process_went_away_is_lost() {
    let mut list = list();
    let answers = Answers::new().approve(ids(&list)[0].clone());
    list.claim(&answers, now(), unchanged).unwrap();
    let mut found = SuspendedList::from_json(&list.to_json()).unwrap();
    found.recover();
    assert_eq!((found.results[1].outcome, found.results[2].outcome), (Outcome::Lost, Outcome::Suspended));
    assert!(found.claim(&answers, now(), unchanged).is_err());
}

#[test]
fn a_record_reads_back_as_it_was_written() {
    let list = list();
    let text = list.to_json();
    let back = SuspendedList::from_json(&text).unwrap();
    assert_eq!(back.to_json(), text);
    assert_eq!((&back.results, &back.id), (&list.results, &list.id));
    assert_eq!(micros(back.results[0].elapsed), 5);
    assert!(text.contains("123456789012345678901") && text.contains("9007199254740993"));
}

#[test]
fn a_record_that_is_newer_or_broken_is_refused() {
    let text = list().to_json();
    let newer = text.replacen("\"version\": 2", "\"version\": 3", 1);
    assert!(matches!(SuspendedList::from_json(&newer), Err(RecordError::Newer(3))));
    let older = text.replacen("\"version\": 2", "\"version\": 1", 1);
    assert!(matches!(SuspendedList::from_json(&older), Err(RecordError::Older(1))));
    let beyond = text.replacen("\"index\": 2,\n      \"call\"", "\"index\": 3,\n      \"call\"", 1);
    assert!(matches!(SuspendedList::from_json(&beyond), Err(RecordError::NoSuchCall(3))));
    for broken in ["", "{}", "[]", &text[..text.len() / 2]] {
        assert!(matches!(SuspendedList::from_json(broken), Err(RecordError::Unreadable(_))));
    }
}

#[test]
fn a_store_keeps_every_parked_call_and_finds_it_whatever_its_spelling() {
    let mut store = SuspensionStore::new();
    let list = [call("Pay", r#"{"n": 1}"#, "a"), call("pay", r#"{"n":2}"#, "b")];
    assert!(store.park("r1", &list, Some(&list[0])) && store.park("r2", &list, Some(&list[1])));
    assert!(!store.park("r3", &list, None), "which of the two?");
    assert_eq!(store.iter().count(), 2);
    assert!(matches!(store.restore("r1", &list), Ok(Restored::At(0))));
    assert!(matches!(store.restore("r2", &list), Ok(Restored::At(1))));
    assert!(matches!(store.restore("r9", &list), Ok(Restored::NothingStored)));
    let spelled = [call(" PAY ", r#"{ "n" : 1 }"#, "")];
    assert!(matches!(store.restore("r1", &spelled), Ok(Restored::At(0))));
    let Ok(Restored::Stored(stored)) = store.restore("r1", &[]) else { panic!("it is stored") };
    assert_eq!((stored.name.as_str(), stored.id), ("Pay", CallId::from("a")));
    assert!(store.remove("r1").is_some() && store.get("r1").is_none());
}

#[test]
fn a_call_with_the_stored_id_and_other_arguments_is_not_taken_for_the_parked_one() {
    let mut store = SuspensionStore::new();
    let parked = [call("pay", r#"{"n": 9007199254740993}"#, "a")];
    assert!(store.park("r", &parked, None));
    let changed = [call("other", "{}", "z"), call("pay", r#"{"n": 9007199254740992}"#, "a")];
    assert_eq!(store.restore("r", &changed).unwrap_err(), ChangedCall { position: 1 });
    let exact = [call("pay", r#"{"n": 1}"#, "b"), parked[0].clone()];
    assert!(matches!(store.restore("r", &exact), Ok(Restored::At(1))));
}
