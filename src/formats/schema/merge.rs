//! Two schemas that must both hold, as one.

use serde_json::{Value, json};

use super::{Object, walk};

/// Keywords that work together: a schema must not get one of them from each side.
const GROUPS: [&[&str]; 2] = [&["if", "then", "else"], &["contains", "minContains", "maxContains"]];

/// Merges two schemas that both apply to a value; `outer` is the one that was nearer to the use.
///
/// `None` when no single schema without `allOf` accepts exactly what both accept.
pub(super) fn both(outer: &Object, inner: &Object) -> Option<Object> {
    let meet = GROUPS.iter().any(|group| has_any(outer, group) && has_any(inner, group));
    // It would see what `outer` names, and must not.
    let looks_aside = has_any(inner, &walk::UNEVALUATED);
    if meet || looks_aside || !keeps_reach(outer, inner) || !keeps_reach(inner, outer) {
        return None;
    }
    let mut merged = outer.clone();
    for (keyword, theirs) in inner {
        let value = match outer.get(keyword) {
            None => theirs.clone(),
            Some(ours) if ours == theirs => continue,
            Some(ours) => one_keyword(keyword, ours, theirs)?,
        };
        merged.insert(keyword.clone(), value);
    }
    Some(merged)
}

fn has_any(schema: &Object, keywords: &[&str]) -> bool {
    keywords.iter().any(|keyword| schema.contains_key(*keyword))
}

/// Tells whether what `schema` says of all other keys (and items) still reaches the same ones beside `other`.
fn keeps_reach(schema: &Object, other: &Object) -> bool {
    let named =
        |schema: &Object, name: &str| schema.get("properties").is_some_and(|named| named.get(name).is_some());
    let closes = schema.get("additionalProperties").is_some_and(|rest| *rest != Value::Bool(true));
    let lists_more = || {
        let theirs = other.get("properties").and_then(Value::as_object).into_iter().flat_map(Object::keys);
        theirs.into_iter().any(|name| !named(schema, name))
            || (other.contains_key("patternProperties")
                && other.get("patternProperties") != schema.get("patternProperties"))
    };
    let places = |schema: &Object| schema.get("prefixItems").and_then(Value::as_array).map_or(0, Vec::len);
    let ends = schema.get("items").is_some_and(|rest| *rest != Value::Bool(true));
    !(closes && lists_more() || ends && places(other) > places(schema))
}

/// As [`both`], for schemas that may be booleans; falls back to `allOf`.
pub(super) fn both_values(outer: &Value, inner: &Value) -> Value {
    match (outer, inner) {
        (Value::Bool(false), _) | (_, Value::Bool(false)) => Value::Bool(false),
        (Value::Bool(true), other) | (other, Value::Bool(true)) => other.clone(),
        (Value::Object(a), Value::Object(b)) => {
            both(a, b).map_or_else(|| json!({"allOf": [a, b]}), Value::Object)
        }
        _ => json!({"allOf": [outer, inner]}),
    }
}

fn one_keyword(keyword: &str, ours: &Value, theirs: &Value) -> Option<Value> {
    match keyword {
        "title" | "default" | "examples" | "deprecated" | "readOnly" | "writeOnly" => Some(ours.clone()),
        "description" => Some(format!("{}\n{}", ours.as_str()?, theirs.as_str()?).into()),
        "type" => types(ours, theirs),
        "enum" => {
            let (ours, theirs) = (ours.as_array()?, theirs.as_array()?);
            // `1` and `1.0` are one value, but compare as two.
            if ours
                .iter()
                .chain(theirs)
                .any(|value| !(value.is_string() || value.is_null() || value.is_boolean()))
            {
                return None;
            }
            let common: Vec<_> = ours.iter().filter(|value| theirs.contains(value)).collect();
            (!common.is_empty()).then(|| json!(common))
        }
        "required" => {
            let mut names = ours.as_array()?.clone();
            names.extend(
                theirs
                    .as_array()?
                    .iter()
                    .filter(|name| !ours.as_array().is_some_and(|o| o.contains(name)))
                    .cloned(),
            );
            Some(names.into())
        }
        "allOf" => Some([ours.as_array()?.as_slice(), theirs.as_array()?].concat().into()),
        "properties" | "patternProperties" => {
            let mut named = ours.as_object()?.clone();
            for (name, theirs) in theirs.as_object()? {
                let schema = named.get(name).map_or_else(|| theirs.clone(), |ours| both_values(ours, theirs));
                named.insert(name.clone(), schema);
            }
            Some(named.into())
        }
        "additionalProperties" | "items" | "propertyNames" => Some(both_values(ours, theirs)),
        "minimum" | "exclusiveMinimum" | "minLength" | "minItems" | "minProperties" => {
            bound(ours, theirs, |ours, theirs| ours > theirs)
        }
        "maximum" | "exclusiveMaximum" | "maxLength" | "maxItems" | "maxProperties" => {
            bound(ours, theirs, |ours, theirs| ours < theirs)
        }
        _ => None,
    }
}

/// The tighter of two bounds; `None` for two that a float cannot tell apart.
fn bound(ours: &Value, theirs: &Value, tighter: fn(f64, f64) -> bool) -> Option<Value> {
    match (ours.as_f64()?, theirs.as_f64()?) {
        (a, b) if tighter(a, b) => Some(ours.clone()),
        (a, b) if tighter(b, a) => Some(theirs.clone()),
        _ => None,
    }
}

fn types(ours: &Value, theirs: &Value) -> Option<Value> {
    let (ours, theirs) = (type_names(ours)?, type_names(theirs)?);
    let covers =
        |all: &[&str], one: &str| all.contains(&one) || (one == "integer" && all.contains(&"number"));
    let narrow = |of: &[&str], by: &[&str]| {
        of.iter().filter(|one| covers(by, one)).map(|one| (*one).to_owned()).collect()
    };
    let mut common: Vec<String> = narrow(&ours, &theirs);
    let others: Vec<String> = narrow(&theirs, &ours);
    common.extend(others.into_iter().filter(|one| !ours.contains(&one.as_str())));
    match common.len() {
        0 => None,
        1 => common.pop().map(Value::from),
        _ => Some(common.into()),
    }
}

/// The names in a `type`; `None` when it is not one.
pub(super) fn type_names(value: &Value) -> Option<Vec<&str>> {
    match value {
        Value::String(name) => Some(vec![name]),
        Value::Array(names) => names.iter().map(Value::as_str).collect(),
        _ => None,
    }
}
