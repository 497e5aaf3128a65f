//! Schemas, each with a value that it was made to accept.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// A schema and a value for it.
pub(super) type Pair = (Value, Value);

/// An object schema for a tool's arguments, with arguments.
pub(super) fn root() -> impl Strategy<Value = Pair> {
    object(pair()).prop_flat_map(|(schema, value)| {
        let plain = (with_definitions(schema.clone()), value.clone());
        prop_oneof![
            6 => Just(plain.clone()),
            1 => Just((with_definitions(json!({"$ref": "#/$defs/Tree"})), json!({"name": "a", "kids": [{"name": "b"}]}))),
            1 => Just(around(json!({"oneOf": [schema.clone(), {"type": "null"}]}), &value)),
            1 => Just(around(json!({"anyOf": [schema.clone(), {"type": "object", "required": ["zz"]}]}), &value)),
            1 => Just(around(json!({"allOf": [schema.clone(), {"type": "object", "minProperties": 0}]}), &value)),
            1 => Just(around(json!({"allOf": [schema.clone()], "not": {"required": ["zz"]}}), &value)),
            1 => Just(around(json!({"if": {"required": ["zz"]}, "then": false, "allOf": [schema]}), &value)),
        ]
    })
}

fn around(schema: Value, value: &Value) -> Pair {
    (with_definitions(schema), value.clone())
}

/// Some definitions to refer to: plain, with constraints, recursive, mutually recursive.
fn with_definitions(mut schema: Value) -> Value {
    schema["$defs"] = json!({
        "Unit": {"type": "string", "enum": ["c", "f"], "description": "A unit."},
        "Name": {"type": "string", "maxLength": 8},
        "Tree": {
            "type": "object",
            "properties": {"name": {"type": "string"}, "kids": {"type": "array", "items": {"$ref": "#/$defs/Tree"}}},
            "required": ["name"],
            "additionalProperties": false,
        },
        "Even": {"type": "object", "properties": {"odd": {"$ref": "#/$defs/Odd"}}, "additionalProperties": false},
        "Odd": {"type": "object", "properties": {"even": {"anyOf": [{"$ref": "#/$defs/Even"}, {"type": "null"}]}}, "additionalProperties": false},
    });
    schema
}

fn pair() -> BoxedStrategy<Pair> {
    leaf()
        .prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                3 => object(inner.clone()),
                2 => array(inner.clone()),
                1 => tuple(inner.clone()),
                3 => choice(inner.clone()),
                1 => nullable(inner.clone()),
                2 => conjunction(inner),
            ]
        })
        .boxed()
}

fn leaf() -> impl Strategy<Value = Pair> {
    prop_oneof![strings(), numbers(), enums(), anything(), references()]
}

fn strings() -> impl Strategy<Value = Pair> {
    prop::sample::select(vec![
        (json!({"type": "string"}), json!("")),
        (json!({"type": "string", "minLength": 2, "maxLength": 5}), json!("abc")),
        (json!({"type": "string", "pattern": "^a+$"}), json!("aaa")),
        (json!({"type": "string", "pattern": "^(?=a)[a-z]+$"}), json!("abc")),
        (json!({"type": "string", "format": "uri", "description": "Where."}), json!("http://a.b/")),
        (json!({"type": "string", "format": "date-time"}), json!("2026-01-31T00:00:00Z")),
        (json!({"type": "string", "default": "x", "examples": ["y"], "title": "T"}), json!("z")),
        (json!({"type": ["string", "null"], "description": "Optional."}), json!(null)),
        (json!({"type": ["string", "integer"], "minLength": 1, "minimum": 3}), json!(4)),
        (json!({"minLength": 3}), json!("abc")),
        (json!({"minLength": 3}), json!(1)),
    ])
}

fn numbers() -> impl Strategy<Value = Pair> {
    prop::sample::select(vec![
        (json!({"type": "integer"}), json!(9_007_199_254_740_993_i64)),
        (json!({"type": "integer"}), json!(1.0)),
        (json!({"type": "integer", "minimum": 1, "maximum": 5, "format": "int32"}), json!(5)),
        (json!({"type": "integer", "exclusiveMinimum": 1}), json!(2)),
        (json!({"type": "number", "multipleOf": 0.5, "format": "double"}), json!(1.5)),
        (json!({"type": "number"}), json!(7)),
        (json!({"type": "boolean"}), json!(true)),
        (json!({"type": "null"}), json!(null)),
    ])
}

fn enums() -> impl Strategy<Value = Pair> {
    prop::sample::select(vec![
        (json!({"type": "string", "enum": ["a", "b"]}), json!("b")),
        (json!({"type": "string", "enum": ["a", ""]}), json!("")),
        (json!({"type": ["string", "null"], "enum": ["a", null]}), json!(null)),
        (json!({"enum": ["a", 1, 2.5, true, null, {"k": 1}, [1]]}), json!({"k": 1})),
        (json!({"enum": ["a", 1, 2.5, true, null, {"k": 1}, [1]]}), json!(2.5)),
        (json!({"type": "integer", "enum": [1, 2, 3]}), json!(3)),
        (json!({"const": "only"}), json!("only")),
        (json!({"const": {"deep": [1]}}), json!({"deep": [1]})),
    ])
}

/// Arrays of anything lie at most three deep here: Gemini has no way to say "and so on".
fn anything() -> impl Strategy<Value = Pair> {
    let value = prop::sample::select(vec![
        json!("x"),
        json!(1),
        json!(null),
        json!({"a": [1]}),
        json!([[1], ["x", null]]),
    ]);
    (
        prop::sample::select(vec![
            json!({}),
            json!(true),
            json!({"description": "Anything."}),
            json!({"not": {"const": 0}}),
        ]),
        value,
    )
}

fn references() -> impl Strategy<Value = Pair> {
    prop::sample::select(vec![
        (json!({"$ref": "#/$defs/Unit"}), json!("c")),
        (json!({"$ref": "#/$defs/Unit", "description": "The unit.", "default": "c"}), json!("f")),
        (json!({"$ref": "#/$defs/Name", "minLength": 2}), json!("abc")),
        (
            json!({"$ref": "#/$defs/Tree", "description": "A tree."}),
            json!({"name": "a", "kids": [{"name": "b", "kids": [{"name": "c", "kids": [{"name": "d"}]}]}]}),
        ),
        (json!({"$ref": "#/$defs/Even"}), json!({"odd": {"even": {"odd": {"even": null}}}})),
        (json!({"anyOf": [{"$ref": "#/$defs/Odd"}, {"type": "null"}]}), json!({"even": {}})),
    ])
}

/// How an object treats keys that it does not list, with such a key.
fn openness() -> impl Strategy<Value = (Map<String, Value>, Map<String, Value>)> {
    let map = |value: Value| value.as_object().cloned().unwrap_or_default();
    prop::sample::select(vec![
        (map(json!({"additionalProperties": false})), map(json!({}))),
        (map(json!({"additionalProperties": false})), map(json!({}))),
        (map(json!({"unevaluatedProperties": false})), map(json!({}))),
        (map(json!({})), map(json!({}))),
        (map(json!({})), map(json!({"other": [1]}))),
        (map(json!({"additionalProperties": true})), map(json!({"other": "x"}))),
        (map(json!({"additionalProperties": {"type": "integer"}})), map(json!({"other": 1}))),
        (
            map(json!({"patternProperties": {"^x-": {"type": "integer"}}, "additionalProperties": false})),
            map(json!({"x-a": 1})),
        ),
        (map(json!({"propertyNames": {"maxLength": 20}, "minProperties": 0})), map(json!({"o": null}))),
        (map(json!({"dependentRequired": {"zz": ["a"]}})), map(json!({}))),
    ])
}

fn object(inner: BoxedStrategy<Pair>) -> impl Strategy<Value = Pair> {
    let name = prop::sample::select(vec![
        "a",
        "b",
        "type",
        "properties",
        "required",
        "enum",
        "$ref",
        "items",
        "filter[id]",
        "user-id",
        "x.y",
        "ä",
        "default",
    ]);
    let property = (name, inner, any::<bool>(), any::<bool>());
    (prop::collection::vec(property, 0..4), openness()).prop_map(|(properties, (mut schema, mut value))| {
        let mut listed = Map::new();
        let mut required = Vec::new();
        for (name, (property, sample), is_required, is_present) in properties {
            if listed.insert(name.to_owned(), property).is_some() {
                value.remove(name);
                required.retain(|other| *other != name);
            }
            if is_required {
                required.push(name);
            }
            if is_required || is_present {
                value.insert(name.to_owned(), sample);
            }
        }
        schema.insert("type".to_owned(), json!("object"));
        schema.insert("properties".to_owned(), listed.into());
        schema.insert("required".to_owned(), json!(required));
        (Value::Object(schema), Value::Object(value))
    })
}

fn array(inner: BoxedStrategy<Pair>) -> impl Strategy<Value = Pair> {
    let bounds = prop::sample::select(vec![
        json!({}),
        json!({"minItems": 1}),
        json!({"maxItems": 3}),
        json!({"contains": true}),
    ]);
    (inner, 1..3_usize, bounds).prop_map(|((items, sample), count, mut schema)| {
        schema["type"] = json!("array");
        schema["items"] = items;
        (schema, json!(vec![sample; count]))
    })
}

fn tuple(inner: BoxedStrategy<Pair>) -> impl Strategy<Value = Pair> {
    (inner.clone(), inner, any::<bool>()).prop_map(|((first, one), (second, two), is_open)| {
        let mut schema = json!({"type": "array", "prefixItems": [first, second]});
        let mut value = json!([one, two]);
        if is_open {
            value.as_array_mut().expect("a list").push(json!("more"));
        } else {
            schema["items"] = json!(false);
        }
        (schema, value)
    })
}

fn choice(inner: BoxedStrategy<Pair>) -> impl Strategy<Value = Pair> {
    let keyword = prop::sample::select(vec!["anyOf", "oneOf"]);
    (keyword, inner.clone(), inner, any::<bool>()).prop_map(|(keyword, (a, one), (b, two), first)| {
        (json!({keyword: [a, b], "description": "A choice."}), if first { one } else { two })
    })
}

fn nullable(inner: BoxedStrategy<Pair>) -> impl Strategy<Value = Pair> {
    (inner, any::<bool>()).prop_map(|((schema, sample), is_null)| {
        (json!({"anyOf": [schema, {"type": "null"}]}), if is_null { Value::Null } else { sample })
    })
}

fn conjunction(inner: BoxedStrategy<Pair>) -> impl Strategy<Value = Pair> {
    let other = prop::sample::select(vec![
        json!({"description": "Also."}),
        json!({"type": ["object", "array", "string", "number", "boolean", "null"]}),
        json!({"maxLength": 20, "maxItems": 20, "maxProperties": 20}),
        json!({"not": {"const": "zz"}}),
        json!({"if": {"const": "zz"}, "then": false}),
        json!({"properties": {"a": true, "c": {"type": "string"}}}),
    ]);
    (inner, other)
        .prop_map(|((schema, sample), other)| (json!({"allOf": [schema, other], "title": "Both"}), sample))
}
