//! The top of a schema: every provider wants an object there, and most refuse combinations of schemas.

use serde_json::{Value, json};

use super::{Object, merge, note, walk};

/// The keywords that may stay at the top.
const ROOT: [&str; 13] = [
    "type",
    "title",
    "description",
    "properties",
    "required",
    "additionalProperties",
    "patternProperties",
    "propertyNames",
    "minProperties",
    "maxProperties",
    "unevaluatedProperties",
    "dependentRequired",
    "dependentSchemas",
];

/// A schema whose top is an object, and what had to be taken from it, for the tool's description.
pub(super) struct Root {
    pub(super) schema: Object,
    pub(super) rest: Object,
}

/// Makes the top of an inlined schema an object schema without combinations.
///
/// Of `anyOf` and `oneOf` the properties are kept, each with what any of the variants takes for it.
pub(super) fn object(schema: Value) -> Root {
    let Value::Object(mut schema) = schema else {
        return Root { schema: empty(), rest: Object::new() };
    };
    let mut rest = note::take_rest(&mut schema, &ROOT);
    if walk::has_in_place(&rest) {
        rest.extend(walk::take(&mut schema, &walk::UNEVALUATED));
    }
    for keyword in ["anyOf", "oneOf"] {
        if let Some(Value::Array(variants)) = rest.get(keyword) {
            hoist(&mut schema, variants);
        }
    }
    let kind = schema.insert("type".to_owned(), "object".into());
    rest.extend(kind.filter(|kind| kind != "object").map(|kind| ("type".to_owned(), kind)));
    schema.entry("properties").or_insert_with(|| json!({}));
    Root { schema, rest }
}

fn empty() -> Object {
    Object::from_iter([("type".to_owned(), "object".into()), ("properties".to_owned(), json!({}))])
}

fn hoist(schema: &mut Object, variants: &[Value]) {
    let variants: Vec<&Object> = variants.iter().filter_map(object_variant).collect();
    let mut hoisted = Object::new();
    for name in variants.iter().flat_map(|variant| properties(variant)).map(|(name, _)| name) {
        if !hoisted.contains_key(name) {
            hoisted.insert(name.clone(), any_of(&variants, name));
        }
    }
    let required =
        |variant: &Object| variant.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    let mut common = variants.first().map(|first| required(first)).unwrap_or_default();
    common.retain(|name| variants.iter().all(|variant| required(variant).contains(name)));

    let mut union = Object::from_iter([("properties".to_owned(), hoisted.into())]);
    if !common.is_empty() {
        union.insert("required".to_owned(), common.into());
    }
    if let Some(merged) = merge::both(schema, &union) {
        *schema = merged;
    }
    if variants.iter().all(|variant| is_closed(variant)) {
        schema.entry("additionalProperties").or_insert(Value::Bool(false));
    }
}

/// A variant that an object can match.
fn object_variant(variant: &Value) -> Option<&Object> {
    let variant = variant.as_object()?;
    let types = variant.get("type").and_then(merge::type_names);
    types.is_none_or(|types| types.contains(&"object")).then_some(variant)
}

/// Tells whether a variant takes the keys alone that it lists.
fn is_closed(variant: &Object) -> bool {
    variant.get("additionalProperties") == Some(&Value::Bool(false))
        && !variant.contains_key("patternProperties")
}

fn properties(variant: &Object) -> impl Iterator<Item = (&String, &Value)> {
    variant.get("properties").and_then(Value::as_object).into_iter().flatten()
}

/// What any variant takes for a property; a variant that does not list it and is open takes anything.
fn any_of(variants: &[&Object], name: &str) -> Value {
    let mut schemas: Vec<&Value> = Vec::new();
    let mut is_open = false;
    for variant in variants {
        match variant.get("properties").and_then(|properties| properties.get(name)) {
            Some(schema) if !schemas.contains(&schema) => schemas.push(schema),
            Some(_) => {}
            None => is_open |= !is_closed(variant),
        }
    }
    if is_open {
        return json!({"anyOf": schemas.into_iter().chain([&json!({})]).collect::<Vec<_>>()});
    }
    match schemas.as_slice() {
        [one] => (*one).clone(),
        many => one_enum(many).unwrap_or_else(|| json!({"anyOf": many})),
    }
}

/// Constants, as a tag of variants is one, become a single `enum`.
fn one_enum(schemas: &[&Value]) -> Option<Value> {
    let mut values = Vec::new();
    let mut merged = Object::new();
    for schema in schemas {
        let mut schema = schema.as_object()?.clone();
        match (schema.remove("const"), schema.remove("enum")) {
            (Some(value), None) => values.push(value),
            (None, Some(Value::Array(several))) => values.extend(several),
            _ => return None,
        }
        schema.retain(|keyword, _| !["title", "description"].contains(&keyword.as_str()));
        if !merged.is_empty() && merged != schema {
            return None;
        }
        merged = schema;
    }
    merged.insert("enum".to_owned(), values.into());
    Some(merged.into())
}
