use serde_json::Value;

use super::{Check, check_json_schema, check_name, require, visit};

/// An entry of `tools` of the messages API.
pub(in super::super) fn check(tool: &Value) -> Check {
    check_name(tool)?;
    let schema = &tool["input_schema"];
    require(schema["type"] == "object", "input_schema", "must have the type object")?;
    for keyword in ["oneOf", "anyOf", "allOf"] {
        require(schema.get(keyword).is_none(), keyword, "is not supported at the top level")?;
    }
    check_json_schema(schema)?;
    visit(schema, "", &mut |schema, place| {
        require(schema.get("$ref").is_none(), place, "references are not supported")?;
        for name in schema["properties"].as_object().into_iter().flat_map(|named| named.keys()) {
            let allowed = name.chars().all(|c| c.is_ascii_alphanumeric() || "_.-".contains(c));
            let length = (1..=64).contains(&name.len());
            require(allowed && length, place, "property keys should match ^[a-zA-Z0-9_.-]{1,64}$")?;
        }
        Ok(())
    })
}
