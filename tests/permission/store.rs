//! Hosts that drive the loop themselves: a parked call comes back, and runs as it would have.

use serde_json::{json, value::RawValue};
use toolyard::{
    Arguments, CallId, Engine, ExecuteOptions, Restored, SuspendedCall, SuspensionStore, ToolCall,
    builtin::calculator::CalculatorTool,
};

use super::{ids, rules, run};
use crate::engine::tools::{call, echo};

/// Parks a call, writes it down, reads it and gives the call that goes on, with the model's next list.
fn restored(parked: &ToolCall, next: &[ToolCall]) -> ToolCall {
    let mut store = SuspensionStore::new();
    let written = SuspendedCall::new(parked, " request ").to_dict();
    store.put(SuspendedCall::from_dict(&written).unwrap());
    match store.restore("request", next).unwrap() {
        Restored::At(at) => next[at].clone(),
        Restored::Stored(call) => call,
        other @ Restored::NothingStored => panic!("{other:?}"),
    }
}

#[test]
fn a_call_with_plain_text_goes_on_as_it_would_have_run() {
    let engine = Engine::builder().tool(CalculatorTool::new()).build().unwrap();
    let seven = CallId::from_raw(&RawValue::from_string("7".to_owned()).unwrap());
    let plain = ToolCall::new("Calculator", Arguments::from_text("6*7".to_owned())).with_id(seven);
    let again = ToolCall { id: "another".into(), ..plain.clone() };
    for next in [vec![], vec![call("calculator", json!({"input": "1+1"})).with_id("8"), again]] {
        let goes_on = restored(&plain, &next);
        let report = engine.execute_blocking(vec![goes_on], ExecuteOptions::new()).unwrap();
        assert_eq!(report.results[0].output, Some("42".into()), "{:?}", report.results[0]);
    }
}

#[test]
fn a_record_holds_the_tool_s_name_beside_the_model_s_and_an_id_that_is_a_number() {
    let built = Engine::builder().tool(echo("guarded")).alias("G", "guarded").permissions(rules()).build();
    let seven = CallId::from_raw(&RawValue::from_string("7".to_owned()).unwrap());
    let (_, list) = run(&built.unwrap(), vec![call(" g ", json!({"n": 1})).with_id(seven)]);
    let parked = &list.parked[0].call;
    assert_eq!((parked.tool.as_str(), parked.spelling.as_str()), ("guarded", " g "));
    assert_eq!((parked.tool_call_id.as_str(), ids(&list).len()), ("7", 1));
}
