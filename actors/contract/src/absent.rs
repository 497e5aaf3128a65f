//! `null` that stands for "left out".
//!
//! Some providers hold the model to a schema only in a form where every property is required, so that a model
//! writes `null` for a property that it would leave out (OpenAI's strict mode).

use std::collections::BTreeMap;

use serde_json::{Value, value::RawValue};

/// Takes out of an arguments object what is `null` and may only be left out: properties that a closed object
/// lists, does not require and does not let be `null`. `None` when there are none.
///
/// Everything else keeps its text, integers of any size too.
///
/// ```
/// use serde_json::json;
/// use toolyard_contract::absent::without_forced_nulls;
///
/// let schema = json!({
///     "type": "object",
///     "properties": {"city": {"type": "string"}, "unit": {"type": "string"}},
///     "required": ["city"],
///     "additionalProperties": false,
/// });
/// let arguments = r#"{"city": "Rome", "unit": null}"#;
/// assert_eq!(without_forced_nulls(arguments, &schema).as_deref(), Some(r#"{"city":"Rome"}"#));
/// ```
pub fn without_forced_nulls(arguments: &str, schema: &Value) -> Option<String> {
    Walk { root: schema }.value(arguments, schema)
}

/// More schemas than this are not looked at for one value: a schema from a server may combine itself without end.
const MAX_PARTS: usize = 100;

struct Walk<'a> {
    root: &'a Value,
}

impl<'a> Walk<'a> {
    /// The text without forced nulls; `None` when it has none.
    fn value(&self, text: &str, schema: &'a Value) -> Option<String> {
        if !text.contains("null") {
            return None;
        }
        match text.trim_start().as_bytes().first() {
            Some(b'{') => {
                let object: BTreeMap<String, Box<RawValue>> = serde_json::from_str(text).ok()?;
                self.object(object, schema)
            }
            Some(b'[') => {
                let items: Vec<Box<RawValue>> = serde_json::from_str(text).ok()?;
                self.items(items, schema)
            }
            _ => None,
        }
    }

    fn object(&self, mut object: BTreeMap<String, Box<RawValue>>, schema: &'a Value) -> Option<String> {
        let mut changed = false;
        let parts = self.parts(schema, &object);
        let is_required =
            |name: &str| parts.iter().any(|part| list(part, "required").iter().any(|one| one == name));
        for part in &parts {
            let Some(properties) = part.get("properties").and_then(Value::as_object) else { continue };
            for (name, property) in properties {
                let Some(raw) = object.get(name) else { continue };
                if raw.get() == "null" {
                    if is_closed(part) && !is_required(name) && !self.takes_null(property, &mut Vec::new()) {
                        object.remove(name);
                        changed = true;
                    }
                } else if let Some(text) = self.value(raw.get(), property) {
                    object.insert(name.clone(), RawValue::from_string(text).ok()?);
                    changed = true;
                }
            }
        }
        if changed { serde_json::to_string(&object).ok() } else { None }
    }

    fn items(&self, mut items: Vec<Box<RawValue>>, schema: &'a Value) -> Option<String> {
        let mut changed = false;
        for part in self.parts(schema, &BTreeMap::new()) {
            let places = part.get("prefixItems").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
            for (index, item) in items.iter_mut().enumerate() {
                let Some(schema) = places.get(index).or_else(|| part.get("items")) else { continue };
                if let Some(text) = self.value(item.get(), schema) {
                    *item = RawValue::from_string(text).ok()?;
                    changed = true;
                }
            }
        }
        if changed { serde_json::to_string(&items).ok() } else { None }
    }

    /// The schemas that hold for an object: itself, what it refers to and combines, and of a choice the first
    /// variant that lists all its keys and has its constants.
    fn parts(&self, schema: &'a Value, object: &BTreeMap<String, Box<RawValue>>) -> Vec<&'a Value> {
        let mut parts = Vec::new();
        self.collect(schema, object, &mut parts);
        parts
    }

    fn collect(
        &self,
        schema: &'a Value,
        object: &BTreeMap<String, Box<RawValue>>,
        parts: &mut Vec<&'a Value>,
    ) {
        if parts.len() > MAX_PARTS || parts.iter().any(|part| std::ptr::eq(*part, schema)) {
            return;
        }
        parts.push(schema);
        for part in self.referenced(schema).into_iter().chain(list(schema, "allOf")) {
            self.collect(part, object, parts);
        }
        for keyword in ["anyOf", "oneOf"] {
            let fits = |variant: &&Value| fits(self.referenced(variant).unwrap_or(variant), object);
            if let Some(variant) = list(schema, keyword).iter().find(fits) {
                self.collect(variant, object, parts);
            }
        }
    }

    fn referenced(&self, schema: &Value) -> Option<&'a Value> {
        self.root.pointer(schema.get("$ref")?.as_str()?.strip_prefix('#')?)
    }

    fn takes_null(&self, schema: &'a Value, seen: &mut Vec<&'a Value>) -> bool {
        if seen.len() > MAX_PARTS || seen.iter().any(|one| std::ptr::eq(*one, schema)) {
            return true;
        }
        seen.push(schema);
        let is_null = |value: &Value| value.is_null();
        let null_type = |kind: &Value| {
            kind == "null" || kind.as_array().is_some_and(|kinds| kinds.iter().any(|k| k == "null"))
        };
        let mut any = |keyword| {
            let variants = list(schema, keyword);
            variants.is_empty() || variants.iter().any(|variant| self.takes_null(variant, seen))
        };
        any("anyOf")
            && any("oneOf")
            && *schema != Value::Bool(false)
            && schema.get("const").is_none_or(is_null)
            && schema.get("enum").and_then(Value::as_array).is_none_or(|values| values.iter().any(is_null))
            && schema.get("type").is_none_or(null_type)
            && self
                .referenced(schema)
                .into_iter()
                .chain(list(schema, "allOf"))
                .all(|part| self.takes_null(part, seen))
    }
}

fn is_closed(schema: &Value) -> bool {
    ["additionalProperties", "unevaluatedProperties"]
        .iter()
        .any(|keyword| schema.get(*keyword) == Some(&Value::Bool(false)))
}

fn fits(schema: &Value, object: &BTreeMap<String, Box<RawValue>>) -> bool {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return false };
    object.iter().all(|(name, raw)| {
        let value = || serde_json::from_str::<Value>(raw.get()).unwrap_or_default();
        properties
            .get(name)
            .is_some_and(|property| property.get("const").is_none_or(|constant| *constant == value()))
    })
}

fn list<'a>(schema: &'a Value, keyword: &str) -> &'a [Value] {
    schema.get(keyword).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn closed(properties: &Value, required: &[&str]) -> Value {
        json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
    }

    #[test]
    fn only_a_null_that_nothing_else_can_mean_is_taken_out() {
        let schema = closed(
            &json!({"optional": {"type": "string"}, "nullable": {"type": ["string", "null"]}, "needed": {"type": "string"},
                "any": {}, "listed": {"enum": ["a", null]}}),
            &["needed"],
        );
        let given = r#"{"any":null,"big":null,"listed":null,"needed":null,"nullable":null,"optional":null}"#;
        let kept = r#"{"any":null,"big":null,"listed":null,"needed":null,"nullable":null}"#;
        assert_eq!(without_forced_nulls(given, &schema).as_deref(), Some(kept));
        assert_eq!(without_forced_nulls(kept, &schema), None);
    }

    #[test]
    fn an_open_object_has_no_strict_form_and_keeps_its_nulls() {
        let schema = json!({"type": "object", "properties": {"a": {"type": "string"}}});
        assert_eq!(without_forced_nulls(r#"{"a": null}"#, &schema), None);
    }

    #[test]
    fn nested_objects_lists_references_and_variants_are_searched() {
        let inner = closed(&json!({"n": {"type": "integer"}, "next": {"$ref": "#/$defs/Inner"}}), &[]);
        let tagged = |tag: &str| closed(&json!({"tag": {"const": tag}, "x": {"type": "integer"}}), &["tag"]);
        let mut schema = closed(
            &json!({"list": {"type": "array", "items": {"$ref": "#/$defs/Inner"}},
                "pick": {"anyOf": [tagged("a"), tagged("b")]}, "both": {"allOf": [{"$ref": "#/$defs/Inner"}]}}),
            &[],
        );
        schema["$defs"] = json!({"Inner": inner});
        let given = r#"{"both":{"n":null},"list":[{"n":123456789012345678901,"next":{"n":null}}],"pick":{"tag":"b","x":null}}"#;
        let expected = r#"{"both":{},"list":[{"n":123456789012345678901,"next":{}}],"pick":{"tag":"b"}}"#;
        assert_eq!(without_forced_nulls(given, &schema).as_deref(), Some(expected));
    }

    #[test]
    fn a_reference_to_itself_ends() {
        let schema = json!({"$ref": "#", "properties": {"a": {"$ref": "#"}}, "additionalProperties": false});
        assert_eq!(without_forced_nulls(r#"{"a": {"a": null}}"#, &schema), None);
    }
}
