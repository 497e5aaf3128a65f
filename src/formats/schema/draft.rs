//! Older drafts of JSON Schema, brought to 2020-12.

use serde_json::{Value, json};

use super::{Object, note, walk};

const ANNOTATIONS: [&str; 5] = ["$ref", "title", "description", "default", "examples"];

/// Rewrites the keywords of drafts 4 to 2019-09 that mean something else, or nothing, in 2020-12.
pub(super) fn upgrade(schema: Value) -> Value {
    let declared = schema.get("$schema").and_then(Value::as_str).unwrap_or_default();
    let ignores_siblings =
        ["draft-03", "draft-04", "draft-06", "draft-07"].iter().any(|d| declared.contains(d));
    upgrade_node(schema, ignores_siblings)
}

fn upgrade_node(schema: Value, ignores_siblings: bool) -> Value {
    let Value::Object(mut schema) = schema else { return schema };
    schema.remove("$schema");
    tuple_items(&mut schema);
    exclusive_bound(&mut schema, "minimum", "exclusiveMinimum");
    exclusive_bound(&mut schema, "maximum", "exclusiveMaximum");
    dependencies(&mut schema);
    if ignores_siblings && schema.contains_key("$ref") {
        let mut kept: Vec<&str> = ANNOTATIONS.to_vec();
        kept.extend(["$defs", "definitions"]);
        let rest = note::take_rest(&mut schema, &kept);
        note::add(&mut schema, rest);
    }
    walk::map_children(&mut schema, &mut |child| upgrade_node(child, ignores_siblings));
    Value::Object(schema)
}

/// `items: [a, b]` was what `prefixItems` is now, and `additionalItems` what `items` is.
fn tuple_items(schema: &mut Object) {
    let more = schema.remove("additionalItems");
    if schema.get("items").is_some_and(Value::is_array) {
        let tuple = schema.remove("items").unwrap_or_default();
        schema.insert("prefixItems".to_owned(), tuple);
        schema.extend(more.map(|more| ("items".to_owned(), more)));
    }
}

/// `exclusiveMinimum: true` once made `minimum` exclusive.
fn exclusive_bound(schema: &mut Object, bound: &str, exclusive: &str) {
    let Some(Value::Bool(is_exclusive)) = schema.get(exclusive) else { return };
    let moved = if *is_exclusive { schema.remove(bound) } else { None };
    schema.remove(exclusive);
    schema.extend(moved.map(|value| (exclusive.to_owned(), value)));
}

/// `dependencies` was split by what its values are.
fn dependencies(schema: &mut Object) {
    let Some(Value::Object(dependencies)) = schema.remove("dependencies") else { return };
    let (required, schemas): (Object, Object) =
        dependencies.into_iter().partition(|(_, value)| value.is_array());
    for (keyword, entries) in [("dependentRequired", required), ("dependentSchemas", schemas)] {
        if !entries.is_empty() {
            schema.insert(keyword.to_owned(), json!(entries));
        }
    }
}
