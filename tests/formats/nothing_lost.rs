//! What a provider cannot express is in the description.

use serde_json::{Value, json};
use toolyard::{ToolSpec, formats::schema};

/// A schema that uses every keyword which says something about values, each with a word to look for.
fn marked() -> (Value, Vec<String>) {
    let mut properties = json!({
        "text": {"minLength": 3, "maxLength": 77_001, "pattern": "M-pattern", "format": "M-format", "default": "M-default",
            "examples": ["M-example"], "title": "M-title", "description": "M-description", "contentEncoding": "M-encoding",
            "contentMediaType": "M-media", "deprecated": true, "type": "string", "x-own": "M-extension"},
        "number": {"type": "number", "minimum": 77_002, "exclusiveMinimum": 77_003, "maximum": 77_004,
            "exclusiveMaximum": 77_005, "multipleOf": 77_006},
        "list": {"type": "array", "items": {"const": "M-items"}, "minItems": 77_007, "maxItems": 77_008,
            "contains": {"const": "M-contains"}, "minContains": 77_009, "maxContains": 77_010,
            "unevaluatedItems": {"const": "M-unevaluated-items"}},
        "tuple": {"type": "array", "prefixItems": [{"const": "M-place"}], "items": false},
        "map": {"type": "object", "additionalProperties": {"const": "M-additional"},
            "patternProperties": {"M-key-pattern": {"const": "M-pattern-property"}},
            "propertyNames": {"pattern": "M-names"}, "minProperties": 77_011, "maxProperties": 77_012,
            "dependentRequired": {"M-when": ["M-then-required"]}, "dependentSchemas": {"M-has": {"const": "M-dependent"}},
            "unevaluatedProperties": {"const": "M-unevaluated"}, "required": ["M-required"]},
        "choice": {"oneOf": [{"const": "M-one"}, {"type": "integer", "maximum": 77_013}], "description": "M-choice"},
        "either": {"anyOf": [{"type": "object", "properties": {"M-property": {"const": "M-inner"}}}, {"type": "null"}]},
        "all": {"allOf": [{"pattern": "M-all-one"}, {"pattern": "M-all-two"}]},
        "logic": {"not": {"const": "M-not"}, "if": {"const": "M-if"}, "then": {"const": "M-then"}, "else": {"const": "M-else"}},
        "enum": {"enum": ["M-enum", 77_014, ""]},
        "ref": {"$ref": "#/$defs/D", "description": "M-sibling", "pattern": "M-sibling-pattern"},
        "odd name": {"const": "M-odd"},
    });
    properties["recursive"] = json!({"$ref": "#/$defs/R"});
    let schema = json!({
        "type": "object", "properties": properties, "description": "M-root", "not": {"const": "M-root-not"},
        "anyOf": [{"required": ["M-root-any"]}, {"properties": {"hoisted": {"const": "M-hoisted"}}}],
        "dependentRequired": {"text": ["M-root-dependent"]},
        "$defs": {
            "D": {"type": "string", "pattern": "M-target", "description": "M-target-description"},
            "R": {"type": "object", "properties": {"again": {"$ref": "#/$defs/R"}, "M-recursive": true}},
        },
    });
    let text = schema.to_string();
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'));
    let marks: Vec<String> =
        words.filter(|word| word.starts_with("M-") || word.starts_with("770")).map(str::to_owned).collect();
    (schema, marks)
}

#[test]
fn every_word_of_a_schema_is_in_each_provider_form_or_its_descriptions() {
    let (schema, marks) = marked();
    assert!(marks.len() > 50, "the schema has its marks: {}", marks.len());
    let spec = ToolSpec::new("t").input_schema(schema);
    let forms = [
        ("openai", json!(schema::openai::tool(&spec, "t"))),
        ("anthropic", json!(schema::anthropic::tool(&spec, "t"))),
        ("gemini", json!(schema::gemini::function(&spec, "t"))),
        ("mcp", json!(schema::mcp::tool(&spec, "t"))),
    ];
    for (provider, form) in forms {
        let text = form.to_string();
        let lost: Vec<&String> = marks.iter().filter(|mark| !text.contains(*mark)).collect();
        assert_eq!(lost, Vec::<&String>::new(), "{provider}");
    }
}

#[test]
fn strict_mode_keeps_what_it_cannot_enforce_in_descriptions() {
    let schema = json!({
        "type": "object",
        "properties": {
            "a": {"type": "string", "minLength": 77_001, "pattern": "(?=M-look)", "default": "M-default", "format": "M-format"},
            "b": {"type": "array", "items": {"type": "integer"}, "uniqueItems": true, "contains": {"const": 77_002}},
            "c": {"type": "object", "properties": {}, "additionalProperties": false, "minProperties": 77_003},
        },
        "additionalProperties": false,
        "not": {"const": "M-not"},
        "dependentRequired": {"a": ["M-b"]},
    });
    let tool = schema::openai::tool(&ToolSpec::new("t").input_schema(schema), "t");
    assert_eq!(tool.not_strict, None);
    let text = json!(tool).to_string();
    for mark in ["77001", "M-look", "M-default", "M-format", "uniqueItems", "77002", "77003", "M-not", "M-b"]
    {
        assert!(text.contains(mark), "{mark} is lost in {text}");
    }
}
