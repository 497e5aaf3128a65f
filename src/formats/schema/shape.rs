//! The kinds of value that a schema takes, each with what holds for that kind alone.

use serde_json::{Value, json};

use super::{Object, merge};

/// A kind of value in JSON Schema's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Object,
    Array,
    String,
    Integer,
    Number,
    Boolean,
    Null,
    /// A reference that was kept because it is recursive.
    Reference,
}

/// The kinds that a schema without `type` takes; `number` covers integers.
const ANY: [Kind; 6] = [Kind::Object, Kind::Array, Kind::String, Kind::Number, Kind::Boolean, Kind::Null];

/// More alternatives than this stay a note: no model reads them, and combinations multiply.
const MAX_ALTERNATIVES: usize = 32;

/// A schema as a choice between kinds of value.
#[derive(Clone, Debug, Default)]
pub(super) struct Shape {
    /// `title` and `description`.
    pub(super) labels: Object,
    /// What a value may be; with none of them, no value fits.
    pub(super) alternatives: Vec<Alternative>,
}

/// One kind of value, with the keywords that say something about it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Alternative {
    pub(super) kind: Kind,
    pub(super) labels: Object,
    pub(super) keywords: Object,
}

impl Shape {
    /// Reads an inlined schema.
    pub(super) fn of(schema: &Value) -> Self {
        match schema {
            Value::Object(schema) => Self::of_object(schema),
            Value::Bool(false) => Self::default(),
            _ => Self { labels: Object::new(), alternatives: plain(&Object::new()) },
        }
    }

    fn of_object(schema: &Object) -> Self {
        let (labels, base): (Object, Object) = schema.clone().into_iter().partition(|(k, _)| is_label(k));
        let alternatives = distributed(&base).unwrap_or_else(|| plain(&base));
        Self { labels, alternatives }
    }

    /// Takes `null` out and tells whether it was there.
    pub(super) fn take_null(&mut self) -> bool {
        let before = self.alternatives.len();
        self.alternatives.retain(|alternative| alternative.kind != Kind::Null);
        self.alternatives.len() != before
    }
}

impl Kind {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Object => "object",
            Self::Array => "array",
            Self::String => "string",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::Null => "null",
            Self::Reference => "reference",
        }
    }

    fn named(name: &str) -> Option<Self> {
        [Self::Integer].into_iter().chain(ANY).find(|kind| kind.name() == name)
    }

    fn takes(self, value: &Value) -> bool {
        match (self, value) {
            (Self::Integer, Value::Number(n)) => n.as_f64().is_some_and(|n| n.fract() == 0.0),
            (Self::Object, Value::Object(_))
            | (Self::Array, Value::Array(_))
            | (Self::String, Value::String(_))
            | (Self::Number, Value::Number(_))
            | (Self::Boolean, Value::Bool(_))
            | (Self::Null, Value::Null) => true,
            _ => false,
        }
    }
}

/// Multiplies the variants of `anyOf` (or `oneOf`) with what stands beside it; `None` when there are none.
fn distributed(base: &Object) -> Option<Vec<Alternative>> {
    let keyword =
        ["anyOf", "oneOf"].into_iter().find(|keyword| base.get(*keyword).is_some_and(Value::is_array))?;
    let mut beside = base.clone();
    let variants = beside.remove(keyword)?;
    let mut alternatives: Vec<Alternative> = Vec::new();
    for variant in variants.as_array()? {
        let Shape { labels, alternatives: more } = match variant {
            Value::Object(variant) => Shape::of_object(&both(&beside, variant)),
            Value::Bool(false) => Shape::default(),
            _ => Shape::of_object(&beside),
        };
        for mut alternative in more {
            for (label, text) in &labels {
                alternative.labels.entry(label.clone()).or_insert_with(|| text.clone());
            }
            if !alternatives.contains(&alternative) {
                alternatives.push(alternative);
            }
        }
        if alternatives.len() > MAX_ALTERNATIVES {
            return None;
        }
    }
    Some(alternatives)
}

fn both(beside: &Object, variant: &Object) -> Object {
    let is_reference = variant.contains_key("$ref") && !beside.is_empty();
    let merged = if is_reference { None } else { merge::both(beside, variant) };
    merged.unwrap_or_else(|| {
        let mut schema = beside.clone();
        let parts = schema.entry("allOf").or_insert_with(|| json!([]));
        if let Value::Array(parts) = parts {
            parts.push(variant.clone().into());
        }
        schema
    })
}

fn plain(schema: &Object) -> Vec<Alternative> {
    if schema.get("$ref").is_some_and(Value::is_string) {
        return vec![Alternative { kind: Kind::Reference, labels: Object::new(), keywords: schema.clone() }];
    }
    let kinds: Vec<Kind> = match schema.get("type").and_then(merge::type_names) {
        Some(names) => names.into_iter().filter_map(Kind::named).collect(),
        None => ANY.to_vec(),
    };
    let values: Option<Vec<&Value>> = match (schema.get("const"), schema.get("enum")) {
        (Some(value), _) => Some(vec![value]),
        (None, Some(Value::Array(values))) => Some(values.iter().collect()),
        _ => None,
    };
    let alternative = |kind: Kind| {
        let mut keywords: Object = schema.clone().into_iter().filter(|(k, _)| concerns(k, kind)).collect();
        if let Some(values) = &values {
            let fitting: Vec<&Value> = values.iter().copied().filter(|value| kind.takes(value)).collect();
            if fitting.is_empty() {
                return None;
            }
            keywords.remove("const");
            keywords.insert("enum".to_owned(), json!(fitting));
        }
        Some(Alternative { kind, labels: Object::new(), keywords })
    };
    kinds.into_iter().filter_map(alternative).collect()
}

fn is_label(keyword: &str) -> bool {
    ["title", "description"].contains(&keyword)
}

/// Tells whether a keyword says anything about values of this kind.
fn concerns(keyword: &str, kind: Kind) -> bool {
    let only: &[Kind] = match keyword {
        "minLength" | "maxLength" | "pattern" | "contentEncoding" | "contentMediaType" | "contentSchema" => {
            &[Kind::String]
        }
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf" => {
            &[Kind::Integer, Kind::Number]
        }
        "format" => &[Kind::String, Kind::Integer, Kind::Number],
        "properties"
        | "required"
        | "additionalProperties"
        | "patternProperties"
        | "propertyNames"
        | "minProperties"
        | "maxProperties"
        | "unevaluatedProperties"
        | "dependentRequired"
        | "dependentSchemas" => &[Kind::Object],
        "items" | "prefixItems" | "minItems" | "maxItems" | "uniqueItems" | "contains" | "minContains"
        | "maxContains" | "unevaluatedItems" => &[Kind::Array],
        "type" => &[],
        _ => return true,
    };
    only.contains(&kind)
}
