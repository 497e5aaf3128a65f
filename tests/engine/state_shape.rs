//! States of Rust tools that have another shape than their type.

use std::{collections::BTreeMap, fs};

use futures::executor::block_on;
use serde::{Deserialize, Serialize};
use serde_json::{json, value::RawValue};
use toolyard::{Engine, ExecuteOptions, StatefulFunction, ToolRows, ToolSpec, persist::read_rows};

use super::tools::call;

#[derive(Clone, Default, Serialize, Deserialize)]
struct Basket {
    items: Vec<Item>,
    #[serde(default)]
    note: Option<String>,
}

#[derive(Clone, Default, Serialize, Deserialize)]
struct Item {
    count: u32,
}

fn engine() -> Engine {
    let put = |basket: &mut Basket, item: BTreeMap<String, u32>| {
        basket.items.extend(item.into_values().map(|count| Item { count }));
        basket.items.len()
    };
    let tool = StatefulFunction::with_schema(ToolSpec::new("put"), |_| Basket::default(), put);
    let engine = Engine::builder().tool(tool.per_agent().quick()).build().unwrap();
    let options = ExecuteOptions::new().agent("a");
    assert!(engine.execute_blocking(vec![call("put", json!({"n": 1}))], options).unwrap().all_ok());
    engine
}

fn raw(text: &str) -> Box<RawValue> {
    RawValue::from_string(text.to_owned()).unwrap()
}

#[test]
fn a_state_of_another_shape_is_refused_with_place_and_expectation_by_every_way_in() {
    let cases = [
        (r#"{"items":[],"itmes":[]}"#, r#"its state has no field "itmes""#),
        (r#"{"items":[{"count":1,"more":{}}]}"#, r#"its state has no field "items.0.more""#),
        (r#"{"items":[{"count":-1}]}"#, "at items[0].count: invalid value: integer `-1`, expected u32"),
        ("[[]]", "invalid type: sequence, expected struct Basket"),
        (r#"{"n":50}"#, "missing field `items`"),
    ];
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("state.json");
    let engine = engine();
    for (state, reason) in cases {
        let set = block_on(engine.set_state("put", Some("a"), raw(state))).unwrap_err().to_string();
        assert_eq!(set, format!("tool \"put\": {reason}"));
        // A good row before it: all of the load, or nothing.
        let rows = format!(
            r#"[{{"tool":"put","rows":[{{"agent":"b","state":{{"items":[]}}}},{{"agent":"a","state":{state}}}]}}]"#
        );
        let rows: Vec<ToolRows> = serde_json::from_str(&rows).unwrap();
        let row = format!("tool \"put\": the row of agent \"a\": {reason}");
        assert_eq!(block_on(engine.load(rows)).unwrap_err().to_string(), row);
        let text = format!(
            "{{\"format\":\"toolyard-state\",\"version\":1,\"tools\":[\"put\"]}}\n\
             {{\"tool\":\"put\",\"agent\":\"b\",\"state\":{{\"items\":[]}}}}\n\
             {{\"tool\":\"put\",\"agent\":\"a\",\"state\":{state}}}\n{{\"rows\":2}}\n"
        );
        fs::write(&file, text).unwrap();
        let loaded = block_on(engine.load_state(&file)).unwrap_err().to_string();
        assert_eq!(loaded, format!("line 3: {row}"));
        let kept = block_on(engine.state("put", Some("a"))).unwrap().unwrap();
        assert_eq!(kept.get(), r#"{"items":[{"count":1}],"note":null}"#);
        assert!(block_on(engine.state("put", Some("b"))).unwrap().is_none());
    }
    block_on(engine.set_state("put", Some("a"), raw(r#"{"items":[]}"#))).expect("a note may be left out");
}

/// An engine with one tool whose states have this type.
fn counting(state_type: Option<&str>) -> Engine {
    let count = |count: &mut u64| {
        *count += 1;
        *count
    };
    let tool = StatefulFunction::with_schema(ToolSpec::new("count"), |_| 0, count).quick();
    let tool = state_type.into_iter().fold(tool, StatefulFunction::state_type);
    Engine::builder().tool(tool).build().unwrap()
}

fn counted(engine: &Engine) -> Option<String> {
    block_on(engine.state("count", None)).unwrap().map(|state| state.get().to_owned())
}

#[test]
fn states_of_another_type_are_refused_though_their_shape_fits() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("state.json");
    for (saved, expected) in [
        (None, None),
        (None, Some("clicks")),
        (Some("clicks"), None),
        (Some("clicks"), Some("clicks")),
        (Some("clicks"), Some("euros")),
        (Some("Clicks"), Some("clicks")),
    ] {
        let old = counting(saved);
        assert!(
            old.execute_blocking(vec![call("count", json!({}))], ExecuteOptions::new()).unwrap().all_ok()
        );
        block_on(old.save_state(&file)).unwrap();
        let head = read_rows(&file).unwrap().head().clone();
        assert_eq!(head.types.get("count").map(|name| &**name), saved);
        let new = counting(expected);
        block_on(new.set_state("count", None, raw("7"))).unwrap();
        let loaded = block_on(new.load_state(&file));
        if saved.zip(expected).is_none_or(|(saved, expected)| saved == expected) {
            loaded.unwrap();
            assert_eq!(counted(&new).as_deref(), Some("1"));
            continue;
        }
        let (saved, expected) = (saved.unwrap(), expected.unwrap());
        assert_eq!(
            loaded.unwrap_err().to_string(),
            format!(
                "line 1: tool \"count\": its states were saved with the type {saved:?}, but the tool expects \
                 {expected:?}; load them with the tool that saved them, or leave its rows out"
            )
        );
        assert_eq!(counted(&new).as_deref(), Some("7"), "nothing is replaced");
    }
}

#[test]
fn types_of_tools_that_are_not_there_stay_in_the_file_and_must_be_of_named_tools() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("state.json");
    let engine = counting(Some("clicks"));
    let head = |tools: &str| {
        format!(
            "{{\"format\":\"toolyard-state\",\"version\":1,\"tools\":[{tools}],\"types\":{{\"Other\":\"x\"}}}}\n{{\"rows\":0}}\n"
        )
    };
    fs::write(&file, head("\"Other\"")).unwrap();
    block_on(engine.update_state(&file)).unwrap();
    let types = read_rows(&file).unwrap().head().types.clone();
    let types: Vec<(&str, &str)> = types.iter().map(|(tool, name)| (&**tool, &**name)).collect();
    assert_eq!(types, [("Other", "x"), ("count", "clicks")]);
    fs::write(&file, head("\"count\"")).unwrap();
    let error = block_on(engine.load_state(&file)).unwrap_err().to_string();
    assert_eq!(error, "line 1: it gives a type of tool \"Other\", which it does not name");
}
