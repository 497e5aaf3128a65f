//! Tools for Gemini's API: its `Schema`, a subset of OpenAPI 3.0.

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::{Value, json};
use toolyard_contract::{ExactValue, ToolSpec, hidden};

use super::{
    Object, draft, note, property_names, prose, refs, root,
    shape::{Alternative, Kind, Shape},
    walk,
};

/// The longest name of a property, in characters (from the reference of `FunctionDeclaration`).
const MAX_PROPERTY_NAME: usize = 64;

/// How many arrays of anything may lie in each other: an array must say what its items are, so "anything" ends.
const MAX_UNTYPED_ARRAYS: usize = 3;

/// A function as the model sees it: an entry of `functionDeclarations`.
#[derive(Clone, Debug, Serialize)]
pub struct FunctionDeclaration {
    /// The exposed name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// The schema of its arguments; absent for a function without parameters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parameters: Option<ExactValue>,
}

/// Writes a tool under its exposed name.
pub fn function(spec: &ToolSpec, exposed: &str) -> FunctionDeclaration {
    note::with_digits_of(&spec.input_schema, || write(spec, exposed))
}

fn write(spec: &ToolSpec, exposed: &str) -> FunctionDeclaration {
    let schema = draft::upgrade(spec.parameters().into_value());
    let inlined = refs::inline(&schema, refs::Recursion::Unroll);
    let root = root::object(hidden::without(inlined.schema, &spec.injected));
    let mut schema = root.schema;
    let text = prose::take_description(prose::description(spec, exposed), &mut schema);
    let mut parameters = walk::take(&mut schema, &["title"]);
    schema.remove("type");
    object(&mut parameters, &mut schema);
    schema.extend(root.rest);
    let description = note::join(&text, schema);
    let has_parameters = parameters.contains_key("properties");
    parameters.insert("type".to_owned(), "OBJECT".into());
    FunctionDeclaration {
        name: exposed.to_owned(),
        description,
        parameters: has_parameters.then(|| spec.input_schema.with_value(parameters.into())),
    }
}

fn schema(schema: &Value, untyped_arrays: usize) -> Object {
    from_shape(Shape::of(schema), untyped_arrays)
}

fn from_shape(mut shape: Shape, untyped_arrays: usize) -> Object {
    let nullable = shape.take_null();
    if untyped_arrays >= MAX_UNTYPED_ARRAYS && shape.alternatives.len() > 1 {
        shape.alternatives.retain(|one| one.kind != Kind::Array || !is_untyped(&one.keywords));
    }
    let is_empty = shape.alternatives.is_empty();
    let mut variants: Vec<Object> =
        shape.alternatives.into_iter().map(|one| alternative(one, nullable, untyped_arrays)).collect();
    if is_empty {
        let rest = if nullable { json!({"type": "null"}) } else { json!({"not": {}}) };
        variants.push(nothing(rest, nullable));
    }
    note::label(&mut variants[0], shape.labels);
    if variants.len() == 1 {
        return variants.swap_remove(0);
    }
    // Nothing may stand beside `anyOf`, so the labels are on its first variant.
    Object::from_iter([("anyOf".to_owned(), json!(variants))])
}

/// There is no type for "no value" or for `null` alone.
fn nothing(rest: Value, nullable: bool) -> Object {
    let mut schema = Object::from_iter([("type".to_owned(), "STRING".into())]);
    if nullable {
        schema.insert("nullable".to_owned(), true.into());
    }
    if let Value::Object(rest) = rest {
        note::add(&mut schema, rest);
    }
    schema
}

fn alternative(alternative: Alternative, nullable: bool, untyped_arrays: usize) -> Object {
    let Alternative { kind, labels, mut keywords } = alternative;
    let mut out = Object::from_iter([("type".to_owned(), kind.name().to_uppercase().into())]);
    match kind {
        Kind::Object => object(&mut out, &mut keywords),
        Kind::Array => array(&mut out, &mut keywords, untyped_arrays),
        Kind::String => string(&mut out, &mut keywords),
        Kind::Integer => move_format(&mut out, &mut keywords, &["int32", "int64"]),
        Kind::Number => move_format(&mut out, &mut keywords, &["float", "double"]),
        Kind::Boolean | Kind::Null | Kind::Reference => {}
    }
    if matches!(kind, Kind::Integer | Kind::Number) {
        move_numbers(&mut out, &mut keywords, &["minimum", "maximum"]);
    }
    if nullable {
        out.insert("nullable".to_owned(), true.into());
    }
    note::label(&mut out, labels);
    note::add(&mut out, keywords);
    out
}

fn object(out: &mut Object, keywords: &mut Object) {
    move_numbers(out, keywords, &["minProperties", "maxProperties"]);
    let odd = property_names::take_others(keywords, is_simple);
    let required: BTreeSet<String> = match keywords.get("required") {
        Some(Value::Array(names)) => {
            names.iter().filter_map(|name| name.as_str().map(str::to_owned)).collect()
        }
        _ => BTreeSet::new(),
    };
    let listed = match keywords.remove("properties") {
        Some(Value::Object(listed)) => listed,
        _ => Object::new(),
    };
    let (known, unknown): (Vec<String>, Vec<String>) =
        required.into_iter().partition(|name| listed.contains_key(name));
    keywords.remove("required");
    if !known.is_empty() {
        out.insert("required".to_owned(), known.into());
    }
    if !unknown.is_empty() {
        keywords.insert("required".to_owned(), unknown.into());
    }
    if !listed.is_empty() {
        let properties: Object =
            listed.into_iter().map(|(name, property)| (name, schema(&property, 0).into())).collect();
        out.insert("properties".to_owned(), properties.into());
    }
    for (keyword, value) in odd {
        match (keywords.get_mut(&keyword), value) {
            (Some(Value::Array(present)), Value::Array(more)) => present.extend(more),
            (_, value) => {
                keywords.insert(keyword, value);
            }
        }
    }
}

fn array(out: &mut Object, keywords: &mut Object, untyped_arrays: usize) {
    move_numbers(out, keywords, &["minItems", "maxItems"]);
    let is_untyped = is_untyped(keywords);
    let items = keywords.remove("items");
    let untyped_arrays = if is_untyped { untyped_arrays + 1 } else { untyped_arrays };
    let mut element = Shape::of(&items.unwrap_or(Value::Bool(true)));
    // Places of a tuple cannot be told apart: each takes what any of them takes.
    if let Some(Value::Array(places)) = keywords.get("prefixItems") {
        for one in places.iter().flat_map(|place| Shape::of(place).alternatives) {
            if !element.alternatives.contains(&one) {
                element.alternatives.push(one);
            }
        }
    }
    out.insert("items".to_owned(), from_shape(element, untyped_arrays).into());
}

fn is_untyped(array: &Object) -> bool {
    !array.contains_key("items") && !array.contains_key("prefixItems")
}

fn string(out: &mut Object, keywords: &mut Object) {
    move_format(out, keywords, &["date-time"]);
    move_numbers(out, keywords, &["minLength", "maxLength"]);
    if keywords.get("pattern").is_some_and(Value::is_string) {
        out.extend(keywords.remove("pattern").map(|pattern| ("pattern".to_owned(), pattern)));
    }
    let takes =
        |values: &Vec<Value>| values.iter().all(|value| value.as_str().is_some_and(|text| !text.is_empty()));
    if keywords.get("enum").and_then(Value::as_array).is_some_and(takes) {
        out.extend(keywords.remove("enum").map(|values| ("enum".to_owned(), values)));
        out.insert("format".to_owned(), "enum".into());
    }
}

fn move_format(out: &mut Object, keywords: &mut Object, known: &[&str]) {
    if keywords.get("format").and_then(Value::as_str).is_some_and(|format| known.contains(&format)) {
        out.extend(keywords.remove("format").map(|format| ("format".to_owned(), format)));
    }
}

fn move_numbers(out: &mut Object, keywords: &mut Object, names: &[&str]) {
    for name in names {
        if keywords.get(*name).is_some_and(Value::is_number) {
            out.extend(keywords.remove(*name).map(|value| ((*name).to_owned(), value)));
        }
    }
}

fn is_simple(name: &str) -> bool {
    name.len() <= MAX_PROPERTY_NAME
        && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}
