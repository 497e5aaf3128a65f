//! Tools for OpenAI's chat API.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Value, json};
use toolyard_contract::{ExactValue, ToolSpec, hidden};

use super::{Object, draft, merge, note, prose, refs, root, strict, walk};

/// The longest description of a function that the API takes, in characters (from its error messages).
const MAX_DESCRIPTION: usize = 1_024;

/// An entry of a request's `tools`.
#[derive(Clone, Debug, Serialize)]
pub struct Tool {
    #[serde(rename = "type")]
    kind: &'static str,
    /// The function.
    pub function: Function,
    /// Why strict mode is off: the place in the schema and what it has that strict mode cannot enforce.
    #[serde(skip)]
    pub not_strict: Option<String>,
}

/// A function as the model sees it.
#[derive(Clone, Debug, Serialize)]
pub struct Function {
    /// The exposed name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// The schema of its arguments.
    pub parameters: ExactValue,
    /// Whether the API holds the model to the schema; a property that may be left out comes as `null` then.
    pub strict: bool,
}

/// Writes a tool under its exposed name, in strict mode when the schema allows it.
pub fn tool(spec: &ToolSpec, exposed: &str) -> Tool {
    note::with_digits_of(&spec.input_schema, || write(spec, exposed))
}

fn write(spec: &ToolSpec, exposed: &str) -> Tool {
    let schema = draft::upgrade(spec.parameters().into_value());
    let refs::Inlined { schema, definitions } = refs::inline(&schema, refs::Recursion::Keep);
    let root = root::object(hidden::without(schema, &spec.injected));
    let (mut parameters, not_strict) = match strict::convert(&root.schema, &definitions) {
        Ok(parameters) => (parameters, None),
        Err(reason) => (loose(root.schema, definitions), Some(reason)),
    };
    let text = prose::take_description(prose::description(spec, exposed), &mut parameters);
    let text = note::join(&text, root.rest);
    let (description, more) = prose::split_at_most(text, MAX_DESCRIPTION);
    if !more.is_empty() {
        note::label(&mut parameters, Object::from_iter([("description".to_owned(), more.into())]));
    }
    let strict = not_strict.is_none();
    let parameters = spec.input_schema.with_value(parameters.into());
    let function = Function { name: exposed.to_owned(), description, parameters, strict };
    Tool { kind: "function", function, not_strict }
}

/// Without strict mode any JSON Schema is taken, but an object must have `properties` and an array `items`.
fn loose(root: Object, definitions: BTreeMap<String, Value>) -> Object {
    let mut schema = filled(root);
    if !definitions.is_empty() {
        let definitions: Object =
            definitions.into_iter().map(|(name, schema)| (name, filled_value(schema))).collect();
        schema.insert("$defs".to_owned(), definitions.into());
    }
    schema
}

fn filled_value(schema: Value) -> Value {
    match schema {
        Value::Object(schema) => filled(schema).into(),
        other => other,
    }
}

fn filled(mut schema: Object) -> Object {
    walk::map_children(&mut schema, &mut filled_value);
    for (kind, keyword) in [("object", "properties"), ("array", "items")] {
        let has_kind =
            schema.get("type").and_then(merge::type_names).is_some_and(|types| types.contains(&kind));
        if has_kind {
            schema.entry(keyword).or_insert_with(|| json!({}));
        }
    }
    schema
}
