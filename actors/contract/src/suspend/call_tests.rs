use proptest::prelude::*;
use serde_json::{Value, value::RawValue};

use super::*;
use crate::{Arguments, CallId, ToolCall};

fn text_call(name: &str, text: &str, id: &str) -> ToolCall {
    ToolCall::new(name, Arguments::Text(text.to_owned())).with_id(id)
}

fn json_call(name: &str, arguments: &str, id: CallId) -> ToolCall {
    ToolCall::new(name, Arguments::Json(arguments.to_owned())).with_id(id)
}

fn any_id(json: &str) -> CallId {
    CallId::from_raw(&RawValue::from_string(json.to_owned()).unwrap())
}

/// What comes back of a call that is stored, written, read and not found in the model's next list.
fn restored(call: &ToolCall) -> ToolCall {
    let written = SuspendedCall::new(call, "r").to_dict();
    let mut store = SuspensionStore::new();
    store.put(SuspendedCall::from_dict(&written).unwrap());
    match store.restore("r", &[]) {
        Ok(Restored::Stored(call)) => call,
        other => panic!("{other:?}"),
    }
}

#[test]
fn plain_text_arguments_come_back_as_plain_text() {
    for text in ["2+2", "42", "null", "{\"a\": 1}", "\"quoted\"", "", " "] {
        let call = text_call("Calc", text, "c");
        assert_eq!(restored(&call).arguments, Arguments::Text(text.to_owned()), "{text:?}");
        assert!(SuspendedCall::new(&call, "").asks_the_same_as(&restored(&call)));
    }
    let plain = SuspendedCall::from_dict(r#"{"tool": "calc", "arguments": "2+2"}"#).unwrap();
    assert_eq!(plain.arguments, Some(Arguments::Text("2+2".to_owned())), "as other systems write it");
    assert_eq!(plain.to_dict(), r#"{"tool":"calc","arguments":"2+2","id":"","request_id":""}"#);
}

#[test]
fn ids_of_any_json_are_kept_as_text() {
    for (json, text) in [
        ("7", "7"),
        ("123456789012345678901234567890", "123456789012345678901234567890"),
        ("true", "true"),
        ("1.50", "1.50"),
        ("[1]", "[1]"),
        ("\" c1 \"", "c1"),
        ("null", ""),
        ("\" \"", ""),
    ] {
        let call = json_call("t", "{}", any_id(json));
        assert_eq!(SuspendedCall::new(&call, "").tool_call_id, text, "{json}");
        let read =
            SuspendedCall::from_dict(&format!(r#"{{"tool": "t", "id": {json}, "request_id": {json}}}"#));
        let read = read.unwrap();
        assert_eq!((read.tool_call_id.as_str(), read.request_id.as_str()), (text, text), "{json}");
    }
}

#[test]
fn a_changed_call_is_noticed_by_an_id_that_is_a_number() {
    let mut store = SuspensionStore::new();
    store.put(SuspendedCall::new(&json_call("pay", r#"{"n":1}"#, any_id("7")), "r"));
    let changed = [json_call("pay", r#"{"n":2}"#, any_id("7"))];
    assert_eq!(store.restore("r", &changed).unwrap_err(), ChangedCall { position: 0 });
    let as_text = [json_call("pay", r#"{"n":2}"#, "7".into())];
    assert_eq!(store.restore("r", &as_text).unwrap_err(), ChangedCall { position: 0 });
    assert!(matches!(
        store.restore("r", &[json_call("pay", r#"{"n":1}"#, any_id("7"))]),
        Ok(Restored::At(0))
    ));
}

#[test]
fn a_call_that_the_model_repeats_with_a_new_id_is_recognised() {
    let mut store = SuspensionStore::new();
    store.put(SuspendedCall::new(&json_call("Pay", r#"{"a":1,"b":2}"#, "old".into()), "r"));
    let list = [
        json_call("pay", r#"{"a":1,"b":3}"#, "n1".into()),
        json_call("play", r#"{"a":1,"b":2}"#, "n2".into()),
        json_call("pay", r#"{ "b": 2, "a": 1 }"#, any_id("8")),
    ];
    assert!(matches!(store.restore("r", &list), Ok(Restored::At(2))));
}

#[test]
fn of_two_names_that_differ_in_case_alone_the_one_spelled_alike_is_meant() {
    let mut store = SuspensionStore::new();
    store.put(SuspendedCall::new(&json_call("Read", "{}", CallId::Absent), "r"));
    let twins = [json_call("read", "{}", CallId::Absent), json_call("Read", "{}", CallId::Absent)];
    assert!(matches!(store.restore("r", &twins), Ok(Restored::At(1))));
    assert!(matches!(store.restore("r", &twins[..1]), Ok(Restored::At(0))));
}

#[test]
fn ids_of_requests_are_trimmed_everywhere() {
    let call = json_call("t", "{}", "c".into());
    assert_eq!(SuspendedCall::new(&call, " r\n").request_id, "r");
    let mut store = SuspensionStore::new();
    assert!(store.park(" r ", &[call], None));
    assert!(store.get("r").is_some() && store.get("\tr").is_some());
    assert!(matches!(store.restore(" r", &[]), Ok(Restored::Stored(_))));
    assert!(store.remove(" r ").is_some());
    let by_hand =
        SuspendedCall { tool: " Pay ".into(), request_id: " q ".into(), ..SuspendedCall::default() };
    store.put(by_hand);
    let stored = store.get("q").unwrap();
    assert_eq!((stored.tool.as_str(), stored.spelling.as_str()), ("pay", " Pay "));
    let answers = Answers::new().approve(" a ").deny("b\n");
    assert_eq!(answers.iter().map(|(id, _)| id).collect::<Vec<_>>(), ["a", "b"]);
}

#[test]
fn reading_by_serde_normalises_as_a_dictionary_does_and_says_what_is_wrong() {
    let text = r#"[{"tool": " Read_File ", "arguments": "2+2", "tool_call_id": 7, "request_id": " r "}]"#;
    let [call]: [SuspendedCall; 1] = serde_json::from_str(text).unwrap();
    assert_eq!(Some(call.clone()), SuspendedCall::from_dict(&text[1..text.len() - 1]));
    assert_eq!((call.tool.as_str(), call.spelling.as_str()), ("read_file", " Read_File "));
    assert_eq!((call.tool_call_id.as_str(), call.request_id.as_str()), ("7", "r"));
    let of_value: SuspendedCall = serde_json::from_value(serde_json::json!({"tool": "T", "id": 7})).unwrap();
    assert_eq!((of_value.tool.as_str(), of_value.tool_call_id.as_str()), ("t", "7"));
    for (text, reason) in [
        ("[\"t\", {}, \"id\", \"r\"]", "must be an object"),
        ("{\"tool\": \"\"}", "must name its tool"),
        ("{\"tool\": \"t\", \"arguments\": {}, \"arguments_as\": \"text\"}", "\"arguments_as\""),
        ("{\"tool\": \"t\", \"arguments\": \"x\", \"arguments_as\": \"xml\"}", "\"arguments_as\""),
    ] {
        let error = serde_json::from_str::<SuspendedCall>(text).unwrap_err().to_string();
        assert!(error.contains(reason), "{text}: {error}");
    }
}

/// Texts that look like JSON of every kind, whole and broken.
fn texts() -> impl Strategy<Value = String> {
    prop_oneof![
        "[\\[\\]{}\",:a1 .e-]{0,12}",
        "[ \n]{0,2}[0-9]{1,3}[ \n]{0,2}",
        any::<String>(),
        Just("null".to_owned()),
        Just(r#"{"a":1,"a":2}"#.to_owned()),
        any::<i128>().prop_map(|n| format!(r#"{{"n":{n}}}"#)),
        any::<String>().prop_map(|text| Value::String(text).to_string()),
        any::<String>().prop_map(|text| Value::String(Value::String(text).to_string()).to_string()),
    ]
}

proptest! {
    #[test]
    fn every_call_comes_back_as_the_call_that_it_was(
        name in "[ a-zA-Z_]{0,4}[a-zA-Z]", text in texts(), is_text: bool, id in "[a-c]?",
    ) {
        let arguments = if is_text { Arguments::Text(text) } else { Arguments::Json(text) };
        let call = ToolCall::new(name.as_str(), arguments).with_id(id.as_str());
        let back = restored(&call);
        prop_assert_eq!(back.name.as_str(), name.as_str());
        prop_assert_eq!(back.id.to_text(), call.id.to_text());
        // Only the white space around JSON may be gone.
        let (was, is) = (call.arguments.as_str(), back.arguments.as_str());
        prop_assert_eq!(matches!(call.arguments, Arguments::Text(_)), matches!(back.arguments, Arguments::Text(_)));
        prop_assert!(was == is || (!is_text && was.trim() == is), "{:?} became {:?}", was, is);
    }

    #[test]
    fn a_list_is_searched_by_id_then_by_what_is_asked(
        stored in (0..3_u8, 0..3_u8, 0..3_u8), calls in prop::collection::vec((0..3_u8, 0..3_u8, 0..3_u8), 0..6),
    ) {
        // An id of 0 is none; names are told apart without regard to case.
        let call = |(id, tool, n): (u8, u8, u8), upper: bool| {
            let name = format!("{}{tool}", if upper { "T" } else { "t" });
            let id = if id == 0 { CallId::Absent } else { any_id(&id.to_string()) };
            json_call(&name, &format!("{{\"n\":{n}}}"), id)
        };
        let mut store = SuspensionStore::new();
        store.put(SuspendedCall::new(&call(stored, true), "r"));
        let list: Vec<ToolCall> = calls.iter().map(|it| call(*it, false)).collect();
        let same = |it: &(u8, u8, u8)| (it.1, it.2) == (stored.1, stored.2);
        let has_id = |it: &(u8, u8, u8)| stored.0 != 0 && it.0 == stored.0;
        let found = store.restore("r", &list);
        match calls.iter().position(|it| has_id(it) && same(it)) {
            Some(at) => prop_assert!(matches!(found, Ok(Restored::At(found)) if found == at)),
            None => match (calls.iter().position(has_id), calls.iter().position(same)) {
                (Some(changed), _) => prop_assert_eq!(found.unwrap_err().position, changed),
                (None, Some(at)) => prop_assert!(matches!(found, Ok(Restored::At(found)) if found == at)),
                (None, None) => prop_assert!(matches!(found, Ok(Restored::Stored(_)))),
            },
        }
    }
}
