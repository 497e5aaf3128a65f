use serde_json::Value;

use super::{Check, check_name, require};

/// An entry of the result of `tools/list`.
pub(in super::super) fn check(tool: &Value) -> Check {
    check_name(tool)?;
    require(tool["inputSchema"]["type"] == "object", "inputSchema", "must have the type object")?;
    check_own_draft(&tool["inputSchema"])?;
    match tool.get("outputSchema") {
        Some(schema) => {
            require(schema["type"] == "object", "outputSchema", "must have the type object")?;
            check_own_draft(schema)
        }
        None => Ok(()),
    }
}

/// The draft that `$schema` names, else 2020-12.
fn check_own_draft(schema: &Value) -> Check {
    jsonschema::meta::validate(schema).map_err(|error| format!("not JSON Schema: {error}"))
}
