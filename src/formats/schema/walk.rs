//! Where a schema holds schemas, so that nobody takes a parameter called `type` for the keyword.

use serde_json::Value;

use super::Object;

const ONE: [&str; 11] = [
    "items",
    "additionalProperties",
    "not",
    "if",
    "then",
    "else",
    "contains",
    "propertyNames",
    "unevaluatedItems",
    "unevaluatedProperties",
    "contentSchema",
];
const LIST: [&str; 4] = ["allOf", "anyOf", "oneOf", "prefixItems"];
const NAMED: [&str; 5] = ["properties", "patternProperties", "dependentSchemas", "$defs", "definitions"];

/// The keywords whose schemas look at the same value, so that `unevaluatedProperties` counts what they name.
const IN_PLACE: [&str; 7] = ["allOf", "anyOf", "oneOf", "if", "then", "else", "dependentSchemas"];

/// Replaces each schema that `schema` holds directly. Data (`enum`, `default`, …) is left alone.
pub(super) fn map_children(schema: &mut Object, change: &mut dyn FnMut(Value) -> Value) {
    for (keyword, value) in schema.iter_mut() {
        map_keyword(keyword, value, change);
    }
}

/// A change of the schemas inside of a schema.
pub(super) struct Relaxed {
    /// What had to be taken from the schema, to be described.
    pub(super) rest: Object,
    /// Whether the schema accepts more than before.
    pub(super) accepts_more: bool,
}

/// Replaces each schema that `schema` holds directly by one that accepts the same, or more when `relax` says so.
///
/// Where more inside would be less outside (`not`, `oneOf`, …), the keyword is weakened or taken out.
pub(super) fn relax_children(schema: &mut Object, relax: &mut dyn FnMut(Value) -> (Value, bool)) -> Relaxed {
    let mut relaxed: Vec<String> = Vec::new();
    for (keyword, value) in schema.iter_mut() {
        let mut accepts_more = false;
        map_keyword(keyword, value, &mut |child| {
            let (child, more) = relax(child);
            accepts_more |= more;
            child
        });
        if accepts_more {
            relaxed.push(keyword.clone());
        }
    }
    let is_relaxed = |keyword: &str| relaxed.iter().any(|one| one == keyword);
    let mut taken: Vec<&str> = Vec::new();
    if is_relaxed("oneOf") {
        match schema.remove("oneOf") {
            Some(variants) if !schema.contains_key("anyOf") => {
                schema.insert("anyOf".to_owned(), variants);
            }
            variants => schema.extend(variants.map(|variants| ("oneOf".to_owned(), variants))),
        }
        taken.push("oneOf");
    }
    if is_relaxed("not") {
        taken.push("not");
    }
    if is_relaxed("if") {
        taken.extend(["if", "then", "else"]);
    }
    if is_relaxed("contains") {
        taken.push("maxContains");
    }
    if IN_PLACE.into_iter().any(is_relaxed) {
        taken.extend(UNEVALUATED);
    }
    let rest = take(schema, &taken);
    Relaxed { rest, accepts_more: !relaxed.is_empty() }
}

/// The keywords that depend on what the schemas beside them name.
pub(super) const UNEVALUATED: [&str; 2] = ["unevaluatedProperties", "unevaluatedItems"];

/// Tells whether a schema has parts that look at the same value.
pub(super) fn has_in_place(schema: &Object) -> bool {
    IN_PLACE.into_iter().chain(["$ref"]).any(|keyword| schema.contains_key(keyword))
}

/// Takes keywords out of a schema.
pub(super) fn take(schema: &mut Object, keywords: &[&str]) -> Object {
    let entry = |keyword: &&str| schema.remove(*keyword).map(|value| ((*keyword).to_owned(), value));
    keywords.iter().filter_map(entry).collect()
}

fn map_keyword(keyword: &str, value: &mut Value, change: &mut dyn FnMut(Value) -> Value) {
    match value {
        Value::Array(list) if LIST.contains(&keyword) => {
            for child in list {
                replace(child, change);
            }
        }
        Value::Object(named) if NAMED.contains(&keyword) => {
            for child in named.values_mut() {
                replace(child, change);
            }
        }
        child if ONE.contains(&keyword) => replace(child, change),
        _ => {}
    }
}

fn replace(child: &mut Value, change: &mut dyn FnMut(Value) -> Value) {
    *child = change(child.take());
}
