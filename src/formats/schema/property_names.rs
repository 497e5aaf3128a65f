//! Names of properties: providers refuse a request for a single one with other characters than they allow.
//!
//! Such a property is not renamed, since its tool knows it by its own name: it is described instead.

use serde_json::{Value, json};

use super::{Object, note, walk};

/// Keeps the properties with accepted names, here and below; the others are described. Tells whether there were
/// others, so that more is accepted than before.
pub(super) fn keep(schema: Value, is_accepted: fn(&str) -> bool) -> (Value, bool) {
    let Value::Object(mut schema) = schema else { return (schema, false) };
    let walk::Relaxed { mut rest, accepts_more } =
        walk::relax_children(&mut schema, &mut |child| keep(child, is_accepted));
    let others = take_others(&mut schema, is_accepted);
    let more = accepts_more || !others.is_empty();
    rest.extend(others);
    note::add(&mut schema, rest);
    (schema.into(), more)
}

/// Takes the properties out whose names a provider refuses, and opens the object for them.
pub(super) fn take_others(schema: &mut Object, is_accepted: fn(&str) -> bool) -> Object {
    let mut rest = Object::new();
    let Some(Value::Object(properties)) = schema.get_mut("properties") else { return rest };
    let all = std::mem::take(properties);
    let (accepted, odd): (Object, Object) = all.into_iter().partition(|(name, _)| is_accepted(name));
    *properties = accepted;
    if odd.is_empty() {
        return rest;
    }
    if let Some(Value::Array(required)) = schema.get_mut("required") {
        let (named, odd): (Vec<Value>, Vec<Value>) =
            std::mem::take(required).into_iter().partition(|name| name.as_str().is_none_or(is_accepted));
        *required = named;
        if !odd.is_empty() {
            rest.insert("required".to_owned(), odd.into());
        }
    }
    rest.insert("properties".to_owned(), json!(odd));
    for keyword in ["additionalProperties", "unevaluatedProperties"] {
        rest.extend(schema.remove(keyword).map(|value| (keyword.to_owned(), value)));
    }
    rest
}
