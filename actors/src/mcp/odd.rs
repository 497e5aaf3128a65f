//! Lists of tools with entries that are none: those are left out, and the others stay.

use std::collections::BTreeMap;

use rmcp::{
    RoleClient,
    model::{JsonRpcMessage, JsonRpcResponse, JsonRpcVersion2_0, ListToolsResult, RequestId, ServerResult},
    service::RxJsonRpcMessage,
};
use serde::Deserialize;
use serde_json::{Value, value::RawValue};

use super::schemas;

/// Where it is said, beside a list, what was left out of it.
const BESIDE: &str = "toolyard/left-out";

/// The longest name and reason that are repeated, in characters.
const LONGEST: usize = 200;

#[derive(Deserialize)]
struct Answer<'a> {
    jsonrpc: JsonRpcVersion2_0,
    id: RequestId,
    #[serde(borrow)]
    result: BTreeMap<String, &'a RawValue>,
}

/// Reads the answer to a request for tools whose entries cannot all be read. `None`: it is something else.
pub(super) fn read(text: &[u8]) -> Option<RxJsonRpcMessage<RoleClient>> {
    let Answer { jsonrpc, id, mut result } = serde_json::from_slice(text).ok()?;
    let entries: Vec<&RawValue> = serde_json::from_str(result.remove("tools")?.get()).ok()?;
    let (mut tools, mut left_out) = (Vec::with_capacity(entries.len()), Vec::new());
    for (place, entry) in entries.into_iter().enumerate() {
        match schemas::read(entry) {
            Ok(tool) if tool.name.trim().is_empty() => left_out.push(problem(place, entry, "it has no name")),
            Ok(tool) => tools.push(tool),
            Err(error) => left_out.push(problem(place, entry, &error.to_string())),
        }
    }
    let mut list = ListToolsResult::with_all_items(tools);
    let part = |name: &str| result.get(name).map(|part| part.get());
    list.result_type = part("resultType").and_then(|part| serde_json::from_str(part).ok());
    list.next_cursor =
        part("nextCursor").and_then(|part| serde_json::from_str(part).ok()).unwrap_or_default();
    list.meta = part("_meta").and_then(|part| serde_json::from_str(part).ok()).unwrap_or_default();
    if !left_out.is_empty() {
        list.meta.get_or_insert_default().0.insert(BESIDE.to_owned(), left_out.into());
    }
    let result = ServerResult::ListToolsResult(list);
    Some(JsonRpcMessage::Response(JsonRpcResponse { jsonrpc, id, result }))
}

/// What [`read`] has left out of a list.
pub(super) fn left_out(list: &ListToolsResult) -> Vec<String> {
    let said = list.meta.as_ref().and_then(|meta| meta.0.get(BESIDE)?.as_array());
    said.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

fn problem(place: usize, entry: &RawValue, reason: &str) -> String {
    #[derive(Deserialize)]
    struct Named {
        name: Value,
    }
    let short = |text: &str| text.chars().take(LONGEST).collect::<String>();
    let named = serde_json::from_str::<Named>(entry.get()).ok();
    let which = match named.as_ref().and_then(|named| named.name.as_str()) {
        Some(name) => format!("{:?}", short(name)),
        None => format!("entry {place} of its list"),
    };
    format!("{which} is left out: it cannot be read as a tool: {}", short(reason))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn list(tools: &Value) -> ListToolsResult {
        let answer = json!({"jsonrpc": "2.0", "id": 1, "result": {"tools": tools, "nextCursor": "n", "_meta": {"m": 1}}});
        let JsonRpcMessage::Response(answer) = read(answer.to_string().as_bytes()).unwrap() else { panic!() };
        let ServerResult::ListToolsResult(list) = answer.result else { panic!("a list of tools") };
        list
    }

    #[test]
    fn every_odd_entry_is_left_out_alone_and_named() {
        let good = json!({"name": "good", "inputSchema": {"type": "object"}});
        for (odd, which) in [
            (json!({"name": "a"}), "\"a\""),
            (json!({"name": "a", "inputSchema": null}), "\"a\""),
            (json!({"name": "a", "inputSchema": "s"}), "\"a\""),
            (json!({"name": "a", "inputSchema": true}), "\"a\""),
            (json!({"name": "a", "inputSchema": {}, "description": 5}), "\"a\""),
            (json!({"name": "a", "inputSchema": {}, "annotations": {"readOnlyHint": "yes"}}), "\"a\""),
            (json!({"name": "a", "inputSchema": {}, "icons": [{}]}), "\"a\""),
            (json!({"inputSchema": {}}), "entry 1 of its list"),
            (json!({"name": 5, "inputSchema": {}}), "entry 1 of its list"),
            (json!({"name": " ", "inputSchema": {}}), "\" \""),
            (json!("a"), "entry 1 of its list"),
            (json!(null), "entry 1 of its list"),
        ] {
            let list = list(&json!([good, odd, good]));
            assert_eq!(list.tools.len(), 2, "{odd}");
            assert_eq!(
                (list.next_cursor.as_deref(), &list.meta.as_ref().unwrap().0["m"]),
                (Some("n"), &json!(1))
            );
            let left_out = left_out(&list);
            let begins = format!("{which} is left out: it cannot be read as a tool: ");
            assert!(left_out.len() == 1 && left_out[0].starts_with(&begins), "{left_out:?}");
        }
        assert!(left_out(&list(&json!([good]))).is_empty());
    }

    #[test]
    fn a_tool_whose_schema_has_an_integer_that_no_double_holds_stays() {
        let long = format!("1{}", "0".repeat(400));
        let text = format!(
            r#"{{"jsonrpc":"2.0","id":1,"result":{{"tools":[{{"name":"a","inputSchema":{{"maximum":{long}}}}}]}}}}"#
        );
        let JsonRpcMessage::Response(answer) = read(text.as_bytes()).unwrap() else { panic!() };
        let ServerResult::ListToolsResult(list) = answer.result else { panic!("a list of tools") };
        assert_eq!((list.tools.len(), left_out(&list).len()), (1, 0));
        assert!(list.tools[0].input_schema["maximum"].as_f64().unwrap() > 1e308);
    }

    #[test]
    fn what_is_no_list_of_tools_is_not_read() {
        for text in [
            r#"{"jsonrpc":"2.0","id":1,"result":{"tools":{}}}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{"prompts":[]}}"#,
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"tools"}}"#,
            r#"{"tools":["#,
        ] {
            assert!(read(text.as_bytes()).is_none(), "{text}");
        }
    }
}
