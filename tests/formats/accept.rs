//! No provider's form accepts less than the tool's own schema.

use std::cell::Cell;

use proptest::test_runner::{Config, RngAlgorithm, TestError, TestRng, TestRunner};
use serde_json::{Map, Value, json};
use toolyard::{ToolSpec, formats::schema};

use super::{pairs, rules};

/// How many pairs of a schema and arguments that it accepts each provider's form is tried with.
const PAIRS: u32 = 10_000;

#[test]
fn openai_accepts_what_the_tool_accepts() {
    let strict_pairs = Cell::new(0);
    for_pairs(|spec, arguments| {
        let tool = serde_json::to_value(schema::openai::tool(spec, "t")).unwrap();
        rules::openai(&tool)?;
        let parameters = &tool["function"]["parameters"];
        if tool["function"]["strict"] == true {
            strict_pairs.set(strict_pairs.get() + 1);
            accepts(parameters, &with_nulls(parameters, parameters, arguments))
        } else {
            accepts(parameters, arguments)
        }
    });
    assert!(strict_pairs.get() > PAIRS / 20, "only {} pairs had a strict form", strict_pairs.get());
}

#[test]
fn anthropic_accepts_what_the_tool_accepts() {
    for_pairs(|spec, arguments| {
        let tool = serde_json::to_value(schema::anthropic::tool(spec, "t")).unwrap();
        rules::anthropic(&tool)?;
        accepts(&tool["input_schema"], arguments)
    });
}

#[test]
fn gemini_accepts_what_the_tool_accepts() {
    for_pairs(|spec, arguments| {
        let function = serde_json::to_value(schema::gemini::function(spec, "t")).unwrap();
        rules::gemini(&function)?;
        match function.get("parameters") {
            Some(parameters) => accepts(&from_gemini(parameters), arguments),
            None => Ok(()),
        }
    });
}

#[test]
fn mcp_accepts_what_the_tool_accepts() {
    for_pairs(|spec, arguments| {
        let tool = serde_json::to_value(schema::mcp::tool(spec, "t")).unwrap();
        rules::mcp(&tool)?;
        accepts(&tool["inputSchema"], arguments)
    });
}

/// Runs `check` with [`PAIRS`] generated pairs that the tool's own schema accepts.
fn for_pairs(check: impl Fn(&ToolSpec, &Value) -> Result<(), String>) {
    let config =
        Config { cases: PAIRS, max_global_rejects: PAIRS, failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let verdict = runner.run(&pairs::root(), |(schema, arguments)| {
        let own = jsonschema::validator_for(&schema).map_err(|error| fail(format!("{schema}: {error}")))?;
        proptest::prop_assume!(own.is_valid(&arguments));
        check(&ToolSpec::new("t").input_schema(schema), &arguments).map_err(fail)
    });
    match verdict {
        Ok(()) => {}
        Err(TestError::Fail(reason, (schema, arguments))) => {
            panic!("{reason}\nschema: {schema}\narguments: {arguments}")
        }
        Err(TestError::Abort(reason)) => panic!("{reason}"),
    }
}

fn fail(reason: String) -> proptest::test_runner::TestCaseError {
    proptest::test_runner::TestCaseError::fail(reason)
}

fn accepts(schema: &Value, arguments: &Value) -> Result<(), String> {
    let validator = jsonschema::validator_for(schema).map_err(|error| format!("{error} in {schema}"))?;
    validator.validate(arguments).map_err(|error| format!("{error} at {} in {schema}", error.instance_path()))
}

/// In strict mode a property that is left out comes as `null`.
fn with_nulls(root: &Value, schema: &Value, value: &Value) -> Value {
    if let Some(reference) = schema["$ref"].as_str() {
        return with_nulls(root, root.pointer(&reference[1..]).expect("a definition"), value);
    }
    if let Some(variants) = schema["anyOf"].as_array() {
        let filled = variants.iter().map(|variant| (variant, with_nulls(root, variant, value)));
        let fits = |(variant, value): &(&Value, Value)| {
            let mut variant = (*variant).clone();
            variant["$defs"] = root["$defs"].clone();
            accepts(&without_null_definitions(variant), value).is_ok()
        };
        return filled.into_iter().find(fits).map_or_else(|| value.clone(), |(_, value)| value);
    }
    match value {
        Value::Object(given) => {
            let Some(properties) = schema["properties"].as_object() else { return value.clone() };
            let fill = |(name, property): (&String, &Value)| {
                let value = given.get(name).map_or(Value::Null, |value| with_nulls(root, property, value));
                (name.clone(), value)
            };
            let mut filled: Map<String, Value> = properties.iter().map(fill).collect();
            filled.extend(
                given
                    .iter()
                    .filter(|(name, _)| !properties.contains_key(*name))
                    .map(|(n, v)| (n.clone(), v.clone())),
            );
            filled.into()
        }
        Value::Array(items) => items.iter().map(|item| with_nulls(root, &schema["items"], item)).collect(),
        scalar => scalar.clone(),
    }
}

fn without_null_definitions(mut schema: Value) -> Value {
    if schema["$defs"].is_null() {
        schema.as_object_mut().expect("a schema").remove("$defs");
    }
    schema
}

/// Gemini's schema in the words of JSON Schema.
fn from_gemini(schema: &Value) -> Value {
    let mut out = Map::new();
    for (field, value) in schema.as_object().expect("a schema") {
        let (keyword, value) = match field.as_str() {
            "type" => ("type", json!(value.as_str().expect("a type").to_lowercase())),
            "properties" => {
                let named = value.as_object().expect("a map").iter();
                ("properties", named.map(|(name, schema)| (name.clone(), from_gemini(schema))).collect())
            }
            "items" => ("items", from_gemini(value)),
            "anyOf" => ("anyOf", value.as_array().expect("a list").iter().map(from_gemini).collect()),
            "format" | "nullable" => continue,
            other => (other, value.clone()),
        };
        out.insert(keyword.to_owned(), value);
    }
    if schema["nullable"] == true {
        return json!({"anyOf": [out, {"type": "null"}]});
    }
    out.into()
}
