use std::collections::BTreeSet;

use serde_json::Value;

use super::{Check, check_json_schema, check_name, has_type, require, visit};

const STRICT_KEYWORDS: [&str; 19] = [
    "type",
    "title",
    "description",
    "enum",
    "const",
    "anyOf",
    "$ref",
    "$defs",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "minItems",
    "maxItems",
    "pattern",
    "format",
    "multipleOf",
    "minimum",
    "maximum",
];
const STRICT_BOUNDS: [&str; 2] = ["exclusiveMinimum", "exclusiveMaximum"];
const STRICT_FORMATS: [&str; 9] =
    ["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"];

/// An entry of `tools` of the chat API.
pub(in super::super) fn check(tool: &Value) -> Check {
    require(tool["type"] == "function", "type", "must be function")?;
    let function = &tool["function"];
    check_name(function)?;
    let length = function["description"].as_str().unwrap_or_default().chars().count();
    require(length <= 1024, "description", "has at most 1,024 characters")?;
    let parameters = &function["parameters"];
    require(parameters["type"] == "object", "parameters", "must have the type object")?;
    for keyword in ["oneOf", "anyOf", "allOf", "enum", "const", "not", "$ref"] {
        require(parameters.get(keyword).is_none(), keyword, "is not taken at the top")?;
    }
    check_json_schema(parameters)?;
    visit(parameters, "", &mut |schema, place| {
        require(
            !has_type(schema, "object") || schema["properties"].is_object(),
            place,
            "object schema missing properties",
        )?;
        require(
            !has_type(schema, "array") || schema.get("items").is_some(),
            place,
            "array schema missing items",
        )
    })?;
    match &function["strict"] {
        Value::Bool(true) => check_strict(parameters),
        strict => require(strict == &Value::Bool(false), "strict", "must be true or false"),
    }
}

fn check_strict(parameters: &Value) -> Check {
    let mut properties = 0;
    let mut enum_values = 0;
    visit(parameters, "", &mut |schema, place| {
        if schema == &Value::Bool(false) && place.ends_with("/additionalProperties") {
            return Ok(());
        }
        let Some(keywords) = schema.as_object() else { return Err(format!("{place}: must be an object")) };
        for keyword in keywords.keys().map(String::as_str) {
            let known = STRICT_KEYWORDS.contains(&keyword) || STRICT_BOUNDS.contains(&keyword);
            require(known, place, &format!("{keyword} is not permitted"))?;
        }
        let says_what = ["type", "anyOf", "$ref"].iter().any(|keyword| keywords.contains_key(*keyword));
        require(says_what, place, "must have a type")?;
        if keywords.contains_key("$ref") {
            require(keywords.len() == 1, place, "$ref cannot have other keywords")?;
        }
        if let Some(format) = schema["format"].as_str() {
            require(STRICT_FORMATS.contains(&format), place, "format is not supported")?;
        }
        if has_type(schema, "object") {
            let listed: BTreeSet<&str> =
                schema["properties"].as_object().unwrap().keys().map(String::as_str).collect();
            let required: BTreeSet<&str> =
                schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            require(listed == required, place, "required must include every key in properties")?;
            require(schema["additionalProperties"] == false, place, "additionalProperties must be false")?;
            properties += listed.len();
        }
        if let Some(values) = schema["enum"].as_array() {
            enum_values += values.len();
        }
        Ok(())
    })?;
    require(properties <= 5000, "", "has at most 5,000 properties")?;
    require(enum_values <= 1000, "", "has at most 1,000 enum values")?;
    require(nesting(parameters) <= 10, "", "has at most 10 levels of objects")
}

/// How deep objects lie in each other, references not followed.
fn nesting(schema: &Value) -> usize {
    let properties = schema["properties"].as_object().into_iter().flat_map(|named| named.values());
    let variants = schema["anyOf"].as_array().into_iter().flatten();
    let below = properties.chain(variants).chain(schema.get("items")).map(nesting).max().unwrap_or(0);
    below + usize::from(has_type(schema, "object"))
}
