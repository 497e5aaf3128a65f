//! The subset of JSON Schema that OpenAI enforces while the model writes (strict mode).
//!
//! Every object is closed and lists all its properties as required, so a property that may be left out becomes
//! one that may be `null`. A schema that would lose values that way has no strict form.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::{
    Object, note,
    shape::{Alternative, Kind, Shape},
    walk,
};

// The limits of OpenAI's public guide to structured outputs.
const MAX_PROPERTIES: usize = 5_000;
const MAX_NESTING: usize = 10;
const MAX_ENUM_VALUES: usize = 1_000;
const MAX_NAME_CHARS: usize = 120_000;
const LONG_ENUM_VALUES: usize = 250;
const MAX_LONG_ENUM_CHARS: usize = 15_000;
const FORMATS: [&str; 9] =
    ["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"];

/// Rewrites a root object and the recursive definitions it uses.
///
/// # Errors
/// The place and what stands in the way.
pub(super) fn convert(root: &Object, definitions: &BTreeMap<String, Value>) -> Result<Object, String> {
    let mut strict = Strict::default();
    let mut schema = strict.at("", |strict| strict.schema(&Value::Object(root.clone()), false))?;
    let mut converted = Object::new();
    for (name, definition) in definitions {
        let definition = strict.at(&format!("/$defs/{name}"), |strict| strict.schema(definition, false))?;
        converted.insert(name.clone(), definition.into());
        strict.name_chars += name.len();
    }
    strict.check_limits()?;
    if !converted.is_empty() {
        schema.insert("$defs".to_owned(), converted.into());
    }
    Ok(schema)
}

#[derive(Default)]
struct Strict {
    path: String,
    nesting: usize,
    properties: usize,
    enum_values: usize,
    name_chars: usize,
}

impl Strict {
    fn at<T>(&mut self, place: &str, work: impl FnOnce(&mut Self) -> Result<T, String>) -> Result<T, String> {
        let length = self.path.len();
        self.path.push_str(place);
        let result = work(self)?;
        self.path.truncate(length);
        Ok(result)
    }

    fn refuse<T>(&self, reason: &str) -> Result<T, String> {
        let place = if self.path.is_empty() { "the arguments" } else { &self.path };
        Err(format!("{place}: {reason}"))
    }

    fn schema(&mut self, schema: &Value, or_null: bool) -> Result<Object, String> {
        let mut shape = Shape::of(schema);
        let takes_null = shape.take_null() || or_null;
        self.shape(shape, takes_null)
    }

    fn shape(&mut self, shape: Shape, takes_null: bool) -> Result<Object, String> {
        let mut schemas = Vec::new();
        let mut first_keys = BTreeSet::new();
        for alternative in shape.alternatives {
            let key = alternative.kind == Kind::Object;
            let schema = self.alternative(alternative)?;
            let first =
                schema.get("properties").and_then(Value::as_object).and_then(|p| p.keys().next().cloned());
            if key && !first_keys.insert(first) {
                return self.refuse("two kinds of object begin with the same property");
            }
            schemas.push(schema);
        }
        let mut schema = match (schemas.len(), takes_null) {
            (0, false) => return self.refuse("no value is accepted"),
            (0, true) => Object::from_iter([("type".to_owned(), "null".into())]),
            (1, false) => schemas.pop().unwrap_or_default(),
            (1, true) if schemas[0].contains_key("type") => with_null(schemas.pop().unwrap_or_default()),
            _ => {
                let null = takes_null.then(|| Object::from_iter([("type".to_owned(), "null".into())]));
                let variants: Vec<Object> = schemas.into_iter().chain(null).collect();
                Object::from_iter([("anyOf".to_owned(), json!(variants))])
            }
        };
        if schema.contains_key("$ref") && !shape.labels.is_empty() {
            schema = Object::from_iter([("anyOf".to_owned(), json!([schema]))]);
        }
        note::label(&mut schema, shape.labels);
        Ok(schema)
    }

    fn alternative(&mut self, alternative: Alternative) -> Result<Object, String> {
        let Alternative { kind, labels, mut keywords } = alternative;
        let mut schema = Object::new();
        match kind {
            Kind::Reference => return Ok(reference(keywords, labels)),
            Kind::Object => self.object(&mut schema, &mut keywords)?,
            Kind::Array => self.array(&mut schema, &mut keywords)?,
            Kind::String => move_if(&mut schema, &mut keywords, |keyword, value| match keyword {
                "format" => value.as_str().is_some_and(|format| FORMATS.contains(&format)),
                // The guide names no look-around; the engine behind it has none.
                "pattern" => value.as_str().is_some_and(|pattern| !pattern.contains("(?")),
                _ => false,
            }),
            Kind::Integer | Kind::Number => move_if(&mut schema, &mut keywords, |keyword, value| {
                ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"]
                    .contains(&keyword)
                    && value.is_number()
            }),
            Kind::Boolean | Kind::Null => {}
        }
        if !matches!(kind, Kind::Object | Kind::Array) {
            move_if(&mut schema, &mut keywords, |keyword, _| keyword == "enum");
            self.count_enum(schema.get("enum"))?;
        }
        schema.insert("type".to_owned(), kind.name().into());
        note::label(&mut schema, labels);
        note::add(&mut schema, keywords);
        Ok(schema)
    }

    fn object(&mut self, schema: &mut Object, keywords: &mut Object) -> Result<(), String> {
        let is_false = |keyword| keywords.get(keyword) == Some(&Value::Bool(false));
        let closed = is_false("additionalProperties")
            || (is_false("unevaluatedProperties") && !walk::has_in_place(keywords));
        if !closed || keywords.contains_key("patternProperties") {
            return self.refuse(
                "other keys than the listed ones are accepted (\"additionalProperties\" is not false)",
            );
        }
        if self.nesting >= MAX_NESTING {
            return self.refuse("objects are nested more than 10 deep");
        }
        keywords.remove("additionalProperties");
        keywords.remove("unevaluatedProperties");
        let required: BTreeSet<String> = strings(keywords.remove("required"));
        let listed = match keywords.remove("properties") {
            Some(Value::Object(listed)) => listed,
            _ => Object::new(),
        };
        if required.iter().any(|name| !listed.contains_key(name)) {
            return self.refuse("a required property is not listed");
        }
        self.nesting += 1;
        let mut properties = Object::new();
        for (name, property) in listed {
            let optional = !required.contains(&name);
            if optional && property == Value::Bool(false) {
                continue;
            }
            self.name_chars += name.len();
            let place = format!("/properties/{}", name.replace('~', "~0").replace('/', "~1"));
            let property = self.at(&place, |strict| strict.schema(&property, optional))?;
            properties.insert(name, property.into());
        }
        self.nesting -= 1;
        self.properties += properties.len();
        let names: Vec<&String> = properties.keys().collect();
        schema.insert("required".to_owned(), json!(names));
        schema.insert("properties".to_owned(), properties.into());
        schema.insert("additionalProperties".to_owned(), false.into());
        Ok(())
    }

    fn array(&mut self, schema: &mut Object, keywords: &mut Object) -> Result<(), String> {
        move_if(schema, keywords, |keyword, _| ["minItems", "maxItems"].contains(&keyword));
        let mut element = match keywords.remove("items") {
            Some(items) => Shape::of(&items),
            None => return self.refuse("items of any kind are accepted"),
        };
        // Places of a tuple cannot be told apart: each takes what any of them takes.
        if let Some(Value::Array(places)) = keywords.get("prefixItems") {
            for place in places {
                element.alternatives.extend(Shape::of(place).alternatives);
            }
            element.alternatives.dedup();
        }
        let takes_null = element.take_null();
        let items = self.at("/items", |strict| strict.shape(element, takes_null))?;
        schema.insert("items".to_owned(), items.into());
        Ok(())
    }

    fn count_enum(&mut self, values: Option<&Value>) -> Result<(), String> {
        let values = values.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let chars: usize = values.iter().filter_map(Value::as_str).map(|text| text.chars().count()).sum();
        self.enum_values += values.len();
        self.name_chars += chars;
        if values.len() > LONG_ENUM_VALUES && chars > MAX_LONG_ENUM_CHARS {
            return self.refuse("the values of one enum are too long (more than 15,000 characters)");
        }
        Ok(())
    }

    fn check_limits(&self) -> Result<(), String> {
        let limits = [
            (self.properties, MAX_PROPERTIES, "properties"),
            (self.enum_values, MAX_ENUM_VALUES, "enum values"),
            (self.name_chars, MAX_NAME_CHARS, "characters in names and enum values"),
        ];
        match limits.into_iter().find(|(count, limit, _)| count > limit) {
            Some((count, limit, what)) => self.refuse(&format!("{count} {what}, more than {limit}")),
            None => Ok(()),
        }
    }
}

/// A reference may have nothing beside it.
fn reference(mut keywords: Object, labels: Object) -> Object {
    let target = Object::from_iter(keywords.remove("$ref").map(|target| ("$ref".to_owned(), target)));
    let mut described = Object::new();
    note::label(&mut described, labels);
    note::add(&mut described, keywords);
    if described.is_empty() {
        return target;
    }
    described.insert("anyOf".to_owned(), json!([target]));
    described
}

fn with_null(mut schema: Object) -> Object {
    if let Some(kind) = schema.remove("type") {
        schema.insert("type".to_owned(), json!([kind, "null"]));
    }
    if let Some(Value::Array(values)) = schema.get_mut("enum") {
        values.push(Value::Null);
    }
    schema
}

fn move_if(to: &mut Object, from: &mut Object, wanted: impl Fn(&str, &Value) -> bool) {
    let all = std::mem::take(from);
    for (keyword, value) in all {
        let target = if wanted(&keyword, &value) { &mut *to } else { &mut *from };
        target.insert(keyword, value);
    }
}

fn strings(value: Option<Value>) -> BTreeSet<String> {
    let values = match value {
        Some(Value::Array(values)) => values,
        _ => Vec::new(),
    };
    values.into_iter().filter_map(|value| value.as_str().map(str::to_owned)).collect()
}
