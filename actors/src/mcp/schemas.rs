//! Schemas as a server wrote them: they travel beside their tool, because the JSON values of the protocol's library keep
//! no number beyond 64 bits.

use rmcp::model::Tool;
use serde_json::{Map, Value, value::RawValue};
use toolyard_contract::{ExactValue, exact::has_inexact};

/// Where they travel. A server that writes this itself says no more by it than by writing the schemas.
const BESIDE: &str = "toolyard/schemas";
const INPUT: &str = "inputSchema";
const OUTPUT: &str = "outputSchema";

/// Reads a tool, with its schemas beside it where they need that.
pub(super) fn read(entry: &RawValue) -> serde_json::Result<Tool> {
    let as_ever = serde_json::from_str::<Tool>(entry.get());
    if !has_inexact(entry.get()) {
        return as_ever;
    }
    let Ok(exact) = ExactValue::read(entry.get()) else { return as_ever };
    // That there are numbers which it cannot read is not the error to tell.
    let mut tool: Tool = serde_json::from_value(exact.value().clone())?;
    let schema = |key: &str| {
        let schema = exact.with_value(exact.get(key)?.clone());
        Some((key.to_owned(), Value::String(schema.to_string())))
    };
    let schemas: Map<String, Value> = [INPUT, OUTPUT].into_iter().filter_map(schema).collect();
    // They are there already where a message is read anew that was written after the first reading.
    tool.meta.get_or_insert_default().0.entry(BESIDE).or_insert(schemas.into());
    Ok(tool)
}

/// The schemas of a tool's arguments and of its output.
pub(super) fn of(tool: &Tool) -> (ExactValue, Option<ExactValue>) {
    let beside = tool.meta.as_ref().and_then(|meta| meta.0.get(BESIDE));
    let exact = |key: &str| ExactValue::read(beside?.get(key)?.as_str()?).ok();
    let input = exact(INPUT).unwrap_or_else(|| Value::Object((*tool.input_schema).clone()).into());
    let as_read = |schema: &Map<String, Value>| Value::Object(schema.clone()).into();
    let output = tool.output_schema.as_deref().map(|schema| exact(OUTPUT).unwrap_or_else(|| as_read(schema)));
    (input, output)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tool(text: &str) -> Tool {
        read(&RawValue::from_string(text.to_owned()).unwrap()).unwrap()
    }

    #[test]
    fn long_numbers_of_schemas_stay_as_they_were_written() {
        let long = "9".repeat(400);
        for number in ["36893488147419103233", "1E30", "1e400", &long] {
            let (input, output) =
                (format!(r#"{{"maximum":{number}}}"#), format!(r#"{{"const":{number},"type":"object"}}"#));
            let read = tool(&format!(r#"{{"name":"t","inputSchema":{input},"outputSchema":{output}}}"#));
            // It also survives the library's own writing.
            for tool in [&read, &tool(&serde_json::to_string(&read).unwrap())] {
                let (exact, exact_output) = of(tool);
                assert_eq!(
                    (exact.to_string(), exact_output.unwrap().to_string()),
                    (input.clone(), output.clone())
                );
            }
        }
    }

    #[test]
    fn other_tools_have_nothing_beside_them() {
        let plain = tool(r#"{"name":"t","inputSchema":{"maximum":18446744073709551615},"_meta":{"m":1}}"#);
        assert_eq!(serde_json::to_value(&plain.meta).unwrap(), json!({"m": 1}));
        let (input, output) = of(&plain);
        assert!(input.long().is_none() && output.is_none());
        assert_eq!(input, json!({"maximum": 18_446_744_073_709_551_615_u64}));
    }
}
