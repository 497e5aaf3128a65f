//! JSON Schemas of types.

use schemars::{
    JsonSchema, Schema,
    generate::SchemaSettings,
    transform::{RecursiveTransform, Transform},
};
use serde_json::Value;

use crate::ToolSpec;

/// Gives the JSON Schema of a type in the form that models get: draft 2020-12, everything in one
/// place without `$ref` (but for types that contain themselves), without the type's own name and
/// without the widths of number types, which providers refuse as unknown formats.
///
/// ```
/// use toolyard_contract::function::schema_of;
///
/// let schema = schema_of::<Vec<u32>>();
/// assert_eq!(schema, serde_json::json!({"type": "array", "items": {"type": "integer", "minimum": 0}}));
/// ```
pub fn schema_of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().for_deserialize().with(|settings| {
        settings.meta_schema = None;
        settings.inline_subschemas = true;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    schema.remove("title");
    RecursiveTransform(remove_number_width).transform(&mut schema);
    schema.into()
}

/// Gives `spec` the schema of the arguments, unless it has one. The type's own comment is left out:
/// it is for readers of the code.
pub(super) fn fill<Args: JsonSchema>(spec: &mut ToolSpec) {
    if spec.input_schema == ToolSpec::new("").input_schema {
        let mut schema = schema_of::<Args>();
        if let Some(schema) = schema.as_object_mut() {
            schema.remove("description");
        }
        spec.input_schema = schema.into();
    }
}

fn remove_number_width(schema: &mut Schema) {
    let is_width = |format: &str| {
        matches!(format, "float" | "double") || format.trim_start_matches('u').starts_with("int")
    };
    if schema.get("format").and_then(Value::as_str).is_some_and(is_width) {
        schema.remove("format");
    }
}
