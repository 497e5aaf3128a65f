use serde_json::Value;

use super::{Check, check_name, require};

/// The fields of `Schema` in the API's reference.
const FIELDS: [&str; 22] = [
    "type",
    "format",
    "title",
    "description",
    "nullable",
    "enum",
    "maxItems",
    "minItems",
    "properties",
    "required",
    "minProperties",
    "maxProperties",
    "minLength",
    "maxLength",
    "pattern",
    "example",
    "anyOf",
    "propertyOrdering",
    "default",
    "items",
    "minimum",
    "maximum",
];

/// An entry of `functionDeclarations`.
pub(in super::super) fn check(function: &Value) -> Check {
    check_name(function)?;
    match function.get("parameters") {
        None => Ok(()),
        Some(parameters) => {
            require(parameters["type"] == "OBJECT", "parameters", "must be of type OBJECT")?;
            check_schema(parameters, "parameters")
        }
    }
}

fn check_schema(schema: &Value, place: &str) -> Check {
    let Some(fields) = schema.as_object() else { return Err(format!("{place}: must be an object")) };
    for field in fields.keys() {
        require(FIELDS.contains(&field.as_str()), place, &format!("unknown name {field:?}"))?;
    }
    if let Some(variants) = fields.get("anyOf") {
        require(fields.len() == 1, place, "any_of must be the only field set")?;
        let variants = variants.as_array().map_or(&[][..], Vec::as_slice);
        require(variants.len() >= 2, place, "any_of needs variants")?;
        return variants
            .iter()
            .enumerate()
            .try_for_each(|(n, one)| check_schema(one, &format!("{place}.anyOf[{n}]")));
    }
    match schema["type"].as_str().unwrap_or_default() {
        "OBJECT" => check_object(schema, place),
        "ARRAY" => {
            require(schema.get("items").is_some(), place, "items: missing field")?;
            check_schema(&schema["items"], &format!("{place}.items"))
        }
        "STRING" => check_string(schema, place),
        "NUMBER" => check_number(schema, place, &["float", "double"]),
        "INTEGER" => check_number(schema, place, &["int32", "int64"]),
        "BOOLEAN" => check_number(schema, place, &[]),
        other => Err(format!("{place}.type: {other:?} must be specified when not using any_of")),
    }
}

fn check_object(schema: &Value, place: &str) -> Check {
    let Some(properties) = schema.get("properties") else {
        return require(schema.get("required").is_none(), place, "required: property is not defined");
    };
    let properties = properties.as_object().ok_or_else(|| format!("{place}.properties: must be a map"))?;
    require(!properties.is_empty(), place, "properties: should be non-empty for OBJECT type")?;
    for name in schema["required"].as_array().into_iter().flatten() {
        let known = name.as_str().is_some_and(|name| properties.contains_key(name));
        require(known, place, "required: property is not defined")?;
    }
    for (name, property) in properties {
        let place = format!("{place}.properties[{name}]");
        let begins = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        let allowed = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        require(
            begins && allowed && name.len() <= 64,
            &place,
            "parameter names are letters, digits and underscores",
        )?;
        check_schema(property, &place)?;
    }
    Ok(())
}

fn check_string(schema: &Value, place: &str) -> Check {
    match schema["format"].as_str() {
        None | Some("date-time") => {}
        Some("enum") => {
            require(schema["enum"].is_array(), place, "enum: should be non-empty with enum format")?;
        }
        Some(_) => {
            return Err(format!("{place}.format: only 'enum' and 'date-time' are supported for STRING type"));
        }
    }
    if let Some(values) = schema.get("enum") {
        let values = values.as_array().ok_or_else(|| format!("{place}.enum: must be a list"))?;
        require(!values.is_empty(), place, "enum: should be non-empty")?;
        let texts = values.iter().all(|value| value.as_str().is_some_and(|text| !text.is_empty()));
        require(texts, place, "enum: values are texts that are not empty")?;
    }
    Ok(())
}

fn check_number(schema: &Value, place: &str, formats: &[&str]) -> Check {
    require(schema.get("enum").is_none(), place, "enum: only allowed for STRING type")?;
    match schema["format"].as_str() {
        Some(format) => require(formats.contains(&format), place, "format is not supported"),
        None => Ok(()),
    }
}
