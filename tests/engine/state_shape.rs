//! States of Rust tools that have another shape than their type.

use std::{collections::BTreeMap, fs};

use futures::executor::block_on;
use serde::{Deserialize, Serialize};
use serde_json::{json, value::RawValue};
use toolyard::{Engine, ExecuteOptions, StatefulFunction, ToolRows, ToolSpec};

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
