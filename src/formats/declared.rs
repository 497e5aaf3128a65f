//! Tools that a document declares: OpenAI's two shapes, Anthropic's, MCP's, and bare ones.

use serde_json::{Map, Value, value::RawValue};
use toolyard_contract::{ToolSpec, strict};

use super::error::DocumentError;

/// Reads the declarations; tools that the provider runs itself (a `type` and no name) are passed over.
pub(super) fn read(items: &[&RawValue]) -> Result<Vec<ToolSpec>, DocumentError> {
    let mut tools = Vec::with_capacity(items.len());
    for (index, raw) in items.iter().enumerate() {
        let tool =
            read_one(raw).map_err(|reason| DocumentError::field(format!("tools, item {index}"), reason))?;
        tools.extend(tool);
    }
    Ok(tools)
}

fn read_one(raw: &RawValue) -> Result<Option<ToolSpec>, String> {
    let Value::Object(mut tool) = strict::parse(raw.get()).map_err(|error| error.to_string())? else {
        return Err("a tool must be an object".to_owned());
    };
    if let Some(function) = tool.remove("function") {
        let Value::Object(function) = function else {
            return Err("field \"function\" must be an object".to_owned());
        };
        tool = function;
    } else if !tool.contains_key("name") && tool.get("type").is_some_and(|kind| kind != "function") {
        return Ok(None);
    }
    spec(tool).map(Some)
}

fn spec(mut tool: Map<String, Value>) -> Result<ToolSpec, String> {
    let Some(Value::String(name)) = tool.remove("name") else {
        return Err("field \"name\" must be text".to_owned());
    };
    if name.trim().is_empty() {
        return Err("field \"name\" is empty".to_owned());
    }
    let mut spec = ToolSpec::new(name);
    match tool.remove("description") {
        None | Some(Value::Null) => {}
        Some(Value::String(text)) => spec = spec.description(text),
        Some(_) => return Err("field \"description\" must be text".to_owned()),
    }
    if let Some(schema) = schema(&mut tool, &["parameters", "input_schema", "inputSchema"])? {
        spec = spec.input_schema(schema);
    }
    if let Some(schema) = schema(&mut tool, &["output_schema", "outputSchema"])? {
        spec = spec.output_schema(schema);
    }
    Ok(spec)
}

fn schema(tool: &mut Map<String, Value>, fields: &[&str]) -> Result<Option<Value>, String> {
    for field in fields {
        match tool.remove(*field) {
            None | Some(Value::Null) => {}
            Some(schema @ Value::Object(_)) => return Ok(Some(schema)),
            Some(_) => return Err(format!("field {field:?} must be an object")),
        }
    }
    Ok(None)
}
