//! Tools as an MCP server lists them.

use serde::Serialize;
use serde_json::Value;
use toolyard_contract::{ExactValue, ToolSpec};

use super::{note, prose};

/// An entry of the result of `tools/list`.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Tool {
    /// The exposed name.
    pub name: String,
    /// What the tool does.
    pub description: String,
    /// The schema of its arguments, as the tool declares it.
    pub input_schema: ExactValue,
    /// The schema of its structured output, where that is an object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<ExactValue>,
}

/// Writes a tool under its exposed name. MCP takes any JSON Schema whose top has the type `object`.
pub fn tool(spec: &ToolSpec, exposed: &str) -> Tool {
    let mut description = prose::description(spec, exposed);
    let mut input_schema = spec.parameters().into_value();
    if let Value::Object(schema) = &mut input_schema
        && let Some(kind) = schema.insert("type".to_owned(), "object".into())
        && kind != "object"
    {
        let rest = [("type".to_owned(), kind)].into_iter().collect();
        description = note::with_digits_of(&spec.input_schema, || note::join(&description, rest));
    }
    let is_object = |schema: &&ExactValue| schema.get("type").is_some_and(|kind| kind == "object");
    let output_schema = spec.output_schema.as_ref().filter(is_object).cloned();
    if let (None, Some(schema)) = (&output_schema, &spec.output_schema) {
        description = format!("{description}\nReturns (JSON Schema): {schema}");
    }
    let input_schema = spec.input_schema.with_value(input_schema);
    Tool { name: exposed.to_owned(), description, input_schema, output_schema }
}
