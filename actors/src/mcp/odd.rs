//! Lists with entries that cannot be read: such an entry is mended where nothing that matters is wrong with it, or left out,
//! and the others stay.

use std::{collections::BTreeMap, sync::LazyLock};

use rmcp::{
    RoleClient,
    model::{
        JsonRpcMessage, JsonRpcResponse, JsonRpcVersion2_0, ListPromptsResult, ListResourceTemplatesResult,
        ListResourcesResult, ListToolsResult, MetaObject, Prompt, RequestId, Resource, ResourceTemplate,
        ServerResult, Tool,
    },
    service::RxJsonRpcMessage,
};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{
    Value,
    value::{RawValue, to_raw_value},
};

use super::schemas;

/// Where it is said, beside a list, what is wrong with entries of it. No server can know it, and so write it.
static BESIDE: LazyLock<String> = LazyLock::new(|| format!("toolyard/{:x}/problems", fastrand::u128(..)));

/// The longest name and reason that are repeated, in characters.
const LONGEST: usize = 200;

/// What may be dropped from an entry that cannot be read with it: hints and texts for people. Without `outputSchema`,
/// outputs are not checked.
const OPTIONAL: [&str; 11] = [
    "title",
    "description",
    "outputSchema",
    "annotations",
    "icons",
    "execution",
    "arguments",
    "mimeType",
    "size",
    "lastModified",
    "_meta",
];

#[derive(Deserialize)]
struct Answer<'a> {
    jsonrpc: JsonRpcVersion2_0,
    id: RequestId,
    #[serde(borrow)]
    result: BTreeMap<String, &'a RawValue>,
}

/// The fields of an entry, as they are written.
type Fields = BTreeMap<String, Box<RawValue>>;

/// A kind of thing in a list.
trait Listed: DeserializeOwned {
    const KEY: &'static str;
    /// What it is called.
    const WHAT: &'static str;
    /// What it is known by.
    const NAME: &'static str;
    fn is_nameless(&self) -> bool;
    fn read(entry: &RawValue) -> serde_json::Result<Self> {
        serde_json::from_str(entry.get())
    }
    /// What is put in the place of something that it needs and has not, with what is said of that.
    fn completed(fields: &mut Fields) -> Option<&'static str> {
        let _ = fields;
        None
    }
}

impl Listed for Tool {
    const KEY: &'static str = "tools";
    const WHAT: &'static str = "a tool";
    const NAME: &'static str = "name";

    fn is_nameless(&self) -> bool {
        self.name.trim().is_empty()
    }

    fn read(entry: &RawValue) -> serde_json::Result<Self> {
        schemas::read(entry)
    }

    /// Servers leave it out for tools without parameters.
    fn completed(fields: &mut Fields) -> Option<&'static str> {
        if fields.get("inputSchema").is_some_and(|schema| schema.get() != "null") {
            return None;
        }
        fields.insert("inputSchema".to_owned(), to_raw_value(&BTreeMap::from([("type", "object")])).ok()?);
        Some("it has no \"inputSchema\": it is offered without parameters")
    }
}

impl Listed for Prompt {
    const KEY: &'static str = "prompts";
    const WHAT: &'static str = "a prompt";
    const NAME: &'static str = "name";

    fn is_nameless(&self) -> bool {
        self.name.trim().is_empty()
    }
}

impl Listed for Resource {
    const KEY: &'static str = "resources";
    const WHAT: &'static str = "a resource";
    const NAME: &'static str = "uri";

    fn is_nameless(&self) -> bool {
        self.uri.trim().is_empty()
    }
}

impl Listed for ResourceTemplate {
    const KEY: &'static str = "resourceTemplates";
    const WHAT: &'static str = "a resource template";
    const NAME: &'static str = "uriTemplate";

    fn is_nameless(&self) -> bool {
        self.uri_template.trim().is_empty()
    }
}

/// Tells whether a message may be a list.
pub(super) fn may_be_list(text: &[u8]) -> bool {
    [Tool::KEY, Prompt::KEY, Resource::KEY, ResourceTemplate::KEY].into_iter().any(|key| {
        let quoted = format!("\"{key}\"");
        text.windows(quoted.len()).any(|part| part == quoted.as_bytes())
    })
}

/// Reads the answer to a request for a list whose entries cannot all be read. `None`: it is something else.
pub(super) fn read(text: &[u8]) -> Option<RxJsonRpcMessage<RoleClient>> {
    let Answer { jsonrpc, id, mut result } = serde_json::from_slice(text).ok()?;
    // What is not there, or of another kind, is as if it were not there.
    macro_rules! list {
        ($list:ident, $entries:expr) => {{
            let (items, mut problems) = $entries;
            let cursor: Option<Option<String>> = part(&result, "nextCursor");
            if cursor.is_none() && result.contains_key("nextCursor") {
                problems.push("its list ends early: the place of the next page cannot be read".to_owned());
            }
            let mut list = $list::with_all_items(items);
            list.result_type = part(&result, "resultType");
            list.next_cursor = cursor.flatten();
            list.meta = part(&result, "_meta");
            say(&mut list.meta, problems);
            ServerResult::$list(list)
        }};
    }
    let result = if let Some(tools) = entries::<Tool>(&mut result) {
        list!(ListToolsResult, tools)
    } else if let Some(prompts) = entries::<Prompt>(&mut result) {
        list!(ListPromptsResult, prompts)
    } else if let Some(resources) = entries::<Resource>(&mut result) {
        list!(ListResourcesResult, resources)
    } else {
        let templates = entries::<ResourceTemplate>(&mut result)?;
        list!(ListResourceTemplatesResult, templates)
    };
    Some(JsonRpcMessage::Response(JsonRpcResponse { jsonrpc, id, result }))
}

fn part<T: DeserializeOwned>(result: &BTreeMap<String, &RawValue>, name: &str) -> Option<T> {
    serde_json::from_str(result.get(name)?.get()).ok()
}

fn say(meta: &mut Option<MetaObject>, problems: Vec<String>) {
    if !problems.is_empty() {
        meta.get_or_insert_default().0.insert(BESIDE.clone(), problems.into());
    }
}

/// What [`read`] has said about entries of a list.
pub(super) fn problems(meta: Option<&MetaObject>) -> Vec<String> {
    let said = meta.and_then(|meta| meta.0.get(&*BESIDE)?.as_array());
    said.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// The entries of a list that can be read, and what is said about the others.
fn entries<T: Listed>(result: &mut BTreeMap<String, &RawValue>) -> Option<(Vec<T>, Vec<String>)> {
    let entries: Vec<&RawValue> = serde_json::from_str(result.remove(T::KEY)?.get()).ok()?;
    let (mut items, mut problems) = (Vec::with_capacity(entries.len()), Vec::new());
    for (place, entry) in entries.into_iter().enumerate() {
        match item::<T>(entry) {
            Ok((item, notes)) => {
                items.push(item);
                problems.extend(notes.iter().map(|note| format!("{}: {note}", which::<T>(place, entry))));
            }
            Err(reason) => {
                let which = which::<T>(place, entry);
                let reason: String = reason.chars().take(LONGEST).collect();
                problems.push(format!("{which} is left out: it cannot be read as {}: {reason}", T::WHAT));
            }
        }
    }
    Some((items, problems))
}

/// Reads an entry, without what makes it unreadable if that is optional, and says what was dropped.
fn item<T: Listed>(entry: &RawValue) -> Result<(T, Vec<String>), String> {
    let (item, notes) = match T::read(entry) {
        Ok(item) => (item, Vec::new()),
        Err(error) => mended::<T>(entry).ok_or_else(|| error.to_string())?,
    };
    if item.is_nameless() { Err(format!("its {:?} is empty", T::NAME)) } else { Ok((item, notes)) }
}

fn mended<T: Listed>(entry: &RawValue) -> Option<(T, Vec<String>)> {
    let mut fields: Fields = serde_json::from_str(entry.get()).ok()?;
    let mut notes: Vec<String> = T::completed(&mut fields).into_iter().map(str::to_owned).collect();
    let read = |fields: &Fields| T::read(&to_raw_value(fields).ok()?).ok();
    let mut optional: Vec<(String, Box<RawValue>)> = Vec::new();
    for key in OPTIONAL {
        optional.extend(fields.remove_entry(key));
    }
    let mut item = read(&fields)?;
    for (key, value) in optional {
        fields.insert(key.clone(), value);
        match read(&fields) {
            Some(more) => item = more,
            None => {
                fields.remove(&key);
                notes.push(format!("its {key:?} cannot be read and is dropped"));
            }
        }
    }
    Some((item, notes))
}

fn which<T: Listed>(place: usize, entry: &RawValue) -> String {
    let fields: Option<BTreeMap<String, &RawValue>> = serde_json::from_str(entry.get()).ok();
    let name = fields.and_then(|fields| serde_json::from_str::<String>(fields.get(T::NAME)?.get()).ok());
    match name {
        Some(name) => format!("{:?}", name.chars().take(LONGEST).collect::<String>()),
        None => format!("entry {place} of its list"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn answer(key: &str, entries: &Value) -> ServerResult {
        let answer = json!({"jsonrpc": "2.0", "id": 1, "result": {key: entries, "nextCursor": "n", "_meta": {"m": 1}}});
        assert!(may_be_list(answer.to_string().as_bytes()));
        let JsonRpcMessage::Response(answer) = read(answer.to_string().as_bytes()).unwrap() else { panic!() };
        answer.result
    }

    fn tools(entries: &Value) -> ListToolsResult {
        let ServerResult::ListToolsResult(list) = answer("tools", entries) else { panic!("a list of tools") };
        assert_eq!(
            (list.next_cursor.as_deref(), &list.meta.as_ref().unwrap().0["m"]),
            (Some("n"), &json!(1))
        );
        list
    }

    fn good() -> Value {
        json!({"name": "good", "inputSchema": {"type": "object"}})
    }

    #[test]
    fn an_entry_that_is_no_tool_is_left_out_alone_and_named() {
        for (odd, which) in [
            (json!({"name": "a", "inputSchema": "s"}), "\"a\""),
            (json!({"name": "a", "inputSchema": true}), "\"a\""),
            (json!({"name": "a", "inputSchema": [5]}), "\"a\""),
            (json!({"inputSchema": {}}), "entry 1 of its list"),
            (json!({"name": 5, "inputSchema": {}}), "entry 1 of its list"),
            (json!({"name": " ", "inputSchema": {}}), "\" \""),
            (json!({"name": " ", "inputSchema": null}), "\" \""),
            (json!("a"), "entry 1 of its list"),
            (json!(null), "entry 1 of its list"),
        ] {
            let list = tools(&json!([good(), odd, good()]));
            assert_eq!(list.tools.len(), 2, "{odd}");
            let problems = problems(list.meta.as_ref());
            let begins = format!("{which} is left out: it cannot be read as a tool: ");
            assert!(problems.len() == 1 && problems[0].starts_with(&begins), "{problems:?}");
        }
        assert!(problems(tools(&json!([good()])).meta.as_ref()).is_empty());
    }

    #[test]
    fn what_matters_little_is_dropped_and_said() {
        for (key, odd) in [
            ("description", json!(5)),
            ("title", json!({})),
            ("annotations", json!({"readOnlyHint": "yes"})),
            ("icons", json!([{}])),
            ("outputSchema", json!(true)),
            ("_meta", json!([])),
        ] {
            let list = tools(
                &json!([good(), {"name": "a", "inputSchema": {"type": "object", "title": "t"}, key: odd}]),
            );
            assert_eq!(list.tools[1].input_schema["title"], "t");
            assert_eq!(
                problems(list.meta.as_ref()),
                [format!("\"a\": its {key:?} cannot be read and is dropped")]
            );
        }
        for schema in [json!({"name": "a"}), json!({"name": "a", "inputSchema": null, "description": "d"})] {
            let list = tools(&json!([schema]));
            assert_eq!(Value::Object((*list.tools[0].input_schema).clone()), json!({"type": "object"}));
            assert_eq!(
                problems(list.meta.as_ref()),
                ["\"a\": it has no \"inputSchema\": it is offered without parameters"]
            );
        }
        let all = json!([{"name": "a", "description": 5, "icons": 6, "annotations": {"readOnlyHint": true}}]);
        let list = tools(&all);
        assert_eq!(list.tools[0].annotations.as_ref().unwrap().read_only_hint, Some(true));
        assert_eq!(problems(list.meta.as_ref()).len(), 3);
    }

    #[test]
    fn lists_of_other_things_lose_no_more_than_their_odd_entries_either() {
        let (odd, named) = (json!({"name": 5}), |key: &str| json!({key: "u", "name": "n", "description": 5}));
        let ServerResult::ListPromptsResult(list) = answer("prompts", &json!([named("name"), odd])) else {
            panic!()
        };
        assert_eq!((list.prompts.len(), problems(list.meta.as_ref()).len()), (1, 2));
        let ServerResult::ListResourcesResult(list) = answer("resources", &json!([named("uri"), odd])) else {
            panic!()
        };
        assert_eq!((list.resources.len(), problems(list.meta.as_ref()).len()), (1, 2));
        let templates = answer("resourceTemplates", &json!([named("uriTemplate"), odd]));
        let ServerResult::ListResourceTemplatesResult(list) = templates else { panic!() };
        assert_eq!((list.resource_templates.len(), problems(list.meta.as_ref()).len()), (1, 2));
    }

    #[test]
    fn a_tool_whose_schema_has_an_integer_that_no_double_holds_stays() {
        let long = format!("1{}", "0".repeat(400));
        let text = format!(
            r#"{{"jsonrpc":"2.0","id":1,"result":{{"tools":[{{"name":"a","inputSchema":{{"maximum":{long}}}}}]}}}}"#
        );
        let JsonRpcMessage::Response(answer) = read(text.as_bytes()).unwrap() else { panic!() };
        let ServerResult::ListToolsResult(list) = answer.result else { panic!("a list of tools") };
        assert_eq!((list.tools.len(), problems(list.meta.as_ref()).len()), (1, 0));
        assert!(list.tools[0].input_schema["maximum"].as_f64().unwrap() > 1e308);
    }

    #[test]
    fn what_is_no_list_is_not_read() {
        for text in [
            r#"{"jsonrpc":"2.0","id":1,"result":{"tools":{}}}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{"contents":[]}}"#,
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"tools"}}"#,
            r#"{"tools":["#,
        ] {
            assert!(read(text.as_bytes()).is_none(), "{text}");
        }
    }
}
