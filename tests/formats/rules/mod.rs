//! What each provider takes as a tool, written from the providers' public references and error messages.

use serde::Serialize;
use serde_json::Value;
use toolyard::{ToolSpec, formats::schema};

mod answers;
mod anthropic;
mod gemini;
mod mcp;
mod openai;

pub(super) use self::{
    answers::check as answers, anthropic::check as anthropic, gemini::check as gemini, mcp::check as mcp,
    openai::check as openai,
};

/// A broken rule, with its place.
pub(super) type Check = Result<(), String>;

/// Checks every provider's form of a tool.
pub(super) fn check_all(tool: &ToolSpec, exposed: &str) {
    let forms = [
        ("openai", openai(&to_json(&schema::openai::tool(tool, exposed)))),
        ("anthropic", anthropic(&to_json(&schema::anthropic::tool(tool, exposed)))),
        ("gemini", gemini(&to_json(&schema::gemini::function(tool, exposed)))),
        ("mcp", mcp(&to_json(&schema::mcp::tool(tool, exposed)))),
    ];
    for (provider, verdict) in forms {
        assert_eq!(verdict, Ok(()), "{provider} refuses {}", tool.name);
    }
}

fn to_json(tool: &impl Serialize) -> Value {
    serde_json::to_value(tool).expect("a tool is written as JSON")
}

fn require(holds: bool, place: &str, rule: &str) -> Check {
    if holds { Ok(()) } else { Err(format!("{place}: {rule}")) }
}

/// `[A-Za-z0-9_-]{1,64}`, and a letter or an underscore in front (which only Gemini wants).
fn check_name(tool: &Value) -> Check {
    let name = tool["name"].as_str().unwrap_or_default();
    let allowed = name.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c));
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    require(allowed && begins && name.len() <= 64, "name", "must be a name that all providers take")?;
    require(tool["description"].as_str().is_some_and(|d| !d.is_empty()), "description", "must be text")
}

fn check_json_schema(schema: &Value) -> Check {
    jsonschema::draft202012::meta::validate(schema)
        .map_err(|error| format!("not JSON Schema 2020-12: {error}"))
}

/// Calls `visit` with each schema inside of `schema`, itself first, and its JSON pointer.
fn visit(schema: &Value, place: &str, visit_one: &mut dyn FnMut(&Value, &str) -> Check) -> Check {
    visit_one(schema, place)?;
    for (keyword, value) in schema.as_object().into_iter().flatten() {
        let place = format!("{place}/{keyword}");
        match (keyword.as_str(), value) {
            ("properties" | "patternProperties" | "dependentSchemas" | "$defs", Value::Object(named)) => {
                for (name, child) in named {
                    visit(child, &format!("{place}/{name}"), visit_one)?;
                }
            }
            ("allOf" | "anyOf" | "oneOf" | "prefixItems", Value::Array(list)) => {
                for (index, child) in list.iter().enumerate() {
                    visit(child, &format!("{place}/{index}"), visit_one)?;
                }
            }
            (
                "items"
                | "additionalProperties"
                | "not"
                | "if"
                | "then"
                | "else"
                | "contains"
                | "propertyNames"
                | "unevaluatedItems"
                | "unevaluatedProperties"
                | "contentSchema",
                child,
            ) => visit(child, &place, visit_one)?,
            _ => {}
        }
    }
    Ok(())
}

fn has_type(schema: &Value, wanted: &str) -> bool {
    match &schema["type"] {
        Value::String(name) => name == wanted,
        Value::Array(names) => names.iter().any(|name| name == wanted),
        _ => false,
    }
}
