//! Parameters that the runtime fills in, kept out of all that a model reads.

use serde_json::{Map, Value};

/// Keywords whose schemas speak of the same value as the schema that they stand in.
const IN_PLACE: [&str; 6] = ["allOf", "anyOf", "oneOf", "then", "else", "dependentSchemas"];

/// Keywords that say the opposite, or nothing, once a name is taken out of them: they go as a whole.
const ALL_OR_NOTHING: [&str; 2] = ["not", "if"];

/// Gives a schema of an object without the properties `names`, wherever they are named.
///
/// What remains is for showing: calls are checked against the schema as it was declared.
pub fn without(mut schema: Value, names: &[String]) -> Value {
    if names.is_empty() {
        return schema;
    }
    let mut definitions = Vec::new();
    take_out(&mut schema, names, &mut definitions);
    // A definition may name the next one.
    for at in 0.. {
        let Some(place) = definitions.get(at).cloned() else { break };
        if let Some(definition) = schema.pointer_mut(&place) {
            take_out(definition, names, &mut definitions);
        }
    }
    schema
}

/// Tells whether a text for a model names one of `names`: in quotes of any kind, or as a step of a JSON pointer. A word
/// of a sentence is none.
pub fn is_named(text: &str, names: &[String]) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    names.iter().filter(|name| !name.is_empty()).any(|name| {
        text.match_indices(name.as_str()).any(|(at, _)| {
            let before = text[..at].chars().next_back();
            let after = text[at + name.len()..].chars().next();
            match before {
                Some(quote @ ('"' | '\'' | '`')) => after == Some(quote),
                Some('/') => !after.is_some_and(is_part),
                _ => false,
            }
        })
    })
}

fn take_out(schema: &mut Value, names: &[String], definitions: &mut Vec<String>) {
    let Value::Object(schema) = schema else { return };
    let is_hidden = |name: &str| names.iter().any(|hidden| hidden == name);
    let drop_names = |listed: &mut Value| {
        if let Value::Array(listed) = listed {
            listed.retain(|name| !name.as_str().is_some_and(is_hidden));
        }
    };
    for keyed in ["properties", "dependentRequired", "dependentSchemas", "dependencies"] {
        if let Some(Value::Object(keyed)) = schema.get_mut(keyed) {
            keyed.retain(|name, _| !is_hidden(name));
        }
    }
    for keyed in ["dependentRequired", "dependencies"] {
        if let Some(Value::Object(lists)) = schema.get_mut(keyed) {
            lists.values_mut().for_each(drop_names);
        }
    }
    schema.get_mut("required").into_iter().for_each(drop_names);
    if let Some(Value::Object(lists)) = schema.get_mut("dependentRequired") {
        lists.retain(|_, list| !is_empty(list));
    }
    if let Some(Value::Object(name_schema)) = schema.get_mut("propertyNames") {
        name_schema.get_mut("enum").into_iter().for_each(drop_names);
    }
    hide_in_examples(schema, is_hidden);
    schema.retain(|keyword, value| {
        !ALL_OR_NOTHING.contains(&keyword.as_str()) || !is_named(&value.to_string(), names)
    });
    // What says nothing any more is left out.
    for keyword in ["required", "dependentRequired", "dependentSchemas", "dependencies"] {
        if schema.get(keyword).is_some_and(is_empty) {
            schema.remove(keyword);
        }
    }
    if let Some(place) = schema.get("$ref").and_then(Value::as_str).and_then(|place| place.strip_prefix('#'))
        && !definitions.iter().any(|known| known == place)
    {
        definitions.push(place.to_owned());
    }
    for keyword in IN_PLACE {
        match schema.get_mut(keyword) {
            Some(Value::Array(parts)) => {
                let mut satisfied = false;
                for part in &mut *parts {
                    let had_more = !is_empty(part);
                    take_out(part, names, definitions);
                    drop_empty_properties(part);
                    satisfied |= had_more && is_empty(part);
                }
                // What the runtime gives is there, so a choice between that and more is made.
                if satisfied && keyword != "allOf" {
                    schema.remove(keyword);
                }
            }
            Some(Value::Object(keyed)) if keyword == "dependentSchemas" => {
                keyed.values_mut().for_each(|part| take_out(part, names, definitions));
            }
            Some(part) => take_out(part, names, definitions),
            None => {}
        }
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Object(object) => object.is_empty(),
        Value::Array(list) => list.is_empty(),
        _ => false,
    }
}

fn drop_empty_properties(schema: &mut Value) {
    if let Value::Object(schema) = schema
        && schema.get("properties").is_some_and(is_empty)
    {
        schema.remove("properties");
    }
}

fn hide_in_examples(schema: &mut Map<String, Value>, is_hidden: impl Fn(&str) -> bool) {
    let clean = |example: &mut Value| {
        if let Value::Object(example) = example {
            example.retain(|name, _| !is_hidden(name));
        }
    };
    schema.get_mut("default").into_iter().for_each(clean);
    for keyword in ["examples", "enum"] {
        if let Some(Value::Array(examples)) = schema.get_mut(keyword) {
            examples.iter_mut().for_each(clean);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn hide(schema: Value) -> Value {
        without(schema, &["user".to_owned()])
    }

    #[test]
    fn a_hidden_property_is_nowhere_in_what_is_shown() {
        let schema = json!({
            "type": "object",
            "properties": {"user": {"type": "string"}, "n": {"type": "integer"}},
            "required": ["user", "n"],
            "dependentRequired": {"n": ["user"], "user": ["n"]},
            "dependentSchemas": {"user": {}, "n": {"required": ["user"]}},
            "propertyNames": {"enum": ["user", "n"]},
            "anyOf": [{"required": ["user"]}, {"properties": {"user": true}}, {"$ref": "#/$defs/a"}],
            "not": {"required": ["user"]},
            "if": {"properties": {"user": {"const": 1}}},
            "then": {"required": ["user"]},
            "examples": [{"user": "me", "n": 1}],
            "default": {"user": "me"},
            "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"properties": {"user": {}}, "allOf": [{"$ref": "#/$defs/a"}]}},
        });
        let shown = hide(schema);
        assert!(!shown.to_string().contains("user"), "{shown}");
        assert_eq!(shown["properties"], json!({"n": {"type": "integer"}}));
        assert_eq!(shown["required"], json!(["n"]));
    }

    #[test]
    fn a_property_of_a_value_further_down_is_not_the_hidden_one() {
        let schema = json!({"properties": {"to": {"properties": {"user": {"type": "string"}}}}});
        assert_eq!(hide(schema.clone()), schema);
        assert_eq!(without(schema.clone(), &[]), schema);
    }

    #[test]
    fn a_name_is_found_where_an_error_names_it() {
        let names = ["user".to_owned()];
        for text in [
            "missing field `user`",
            "\"user\" is a required property",
            "at /user: wrong",
            "no argument: 'user'",
        ] {
            assert!(is_named(text, &names), "{text}");
        }
        for text in ["the user is unknown", "`user_id`", "at /users", "", "\"user one\""] {
            assert!(!is_named(text, &names), "{text}");
        }
    }
}
