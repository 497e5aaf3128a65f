//! Tools that a document declares: OpenAI's two shapes, Anthropic's, MCP's, and bare ones.

use std::collections::BTreeMap;

use serde_json::{Value, value::RawValue};
use toolyard_contract::{ExactValue, ToolSpec, strict};

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
    strict::check(raw.get()).map_err(|error| error.to_string())?;
    let mut tool = fields(raw).ok_or("a tool must be an object")?;
    if let Some(function) = tool.remove("function") {
        tool = fields(function).ok_or("field \"function\" must be an object")?;
    } else if !tool.contains_key("name") && tool.get("type").is_some_and(|kind| kind.get() != "\"function\"")
    {
        return Ok(None);
    }
    spec(tool).map(Some)
}

/// The fields of an object, as they were written.
type Fields<'a> = BTreeMap<String, &'a RawValue>;

fn fields(raw: &RawValue) -> Option<Fields<'_>> {
    serde_json::from_str(raw.get()).ok()
}

fn take(tool: &mut Fields<'_>, field: &str) -> Result<Option<ExactValue>, String> {
    tool.remove(field).map(|raw| ExactValue::read(raw.get())).transpose().map_err(|error| error.to_string())
}

fn spec(mut tool: Fields<'_>) -> Result<ToolSpec, String> {
    let Some(Value::String(name)) = take(&mut tool, "name")?.map(ExactValue::into_value) else {
        return Err("field \"name\" must be text".to_owned());
    };
    if name.trim().is_empty() {
        return Err("field \"name\" is empty".to_owned());
    }
    let mut spec = ToolSpec::new(name);
    match take(&mut tool, "description")?.map(ExactValue::into_value) {
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

fn schema(tool: &mut Fields<'_>, fields: &[&str]) -> Result<Option<ExactValue>, String> {
    for field in fields {
        match take(tool, field)? {
            None => {}
            Some(schema) if schema.is_null() => {}
            Some(schema) if schema.is_object() => return Ok(Some(schema)),
            Some(_) => return Err(format!("field {field:?} must be an object")),
        }
    }
    Ok(None)
}
