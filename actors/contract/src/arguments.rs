//! The arguments of a call: text until the tool parses it, so that integers stay exact.

use std::{borrow::Cow, collections::BTreeMap};

use serde::{Serialize, Serializer};
use serde_json::{Map, Value, value::RawValue};

use crate::{
    ToolSpec,
    strict::{self, PlainObject, StrictError},
};

/// The arguments of a call as they came, before any check.
#[derive(Clone, Debug)]
pub enum Arguments {
    /// Text that claims to be JSON. Whether it is an object of the right shape is checked later.
    Json(String),
    /// JSON that was seen to be an object in order while it was read, which is not looked at again.
    Plain(PlainObject),
    /// Text that is not JSON, for a tool that declares plain-text input.
    Text(String),
}

impl Arguments {
    /// No arguments: `{}`.
    pub fn empty() -> Self {
        Self::Json("{}".to_owned())
    }

    /// Reads arguments that a provider sent as text.
    ///
    /// Blank text and `null` are `{}`; an object that was encoded twice is unwrapped once; other
    /// JSON stays as it is, and so does text that begins like an object or a list but does not
    /// parse, so that a cut-off call is refused instead of being taken for plain text.
    pub fn from_text(text: String) -> Self {
        let trimmed = text.trim();
        match trimmed.as_bytes().first() {
            None => Self::empty(),
            Some(b'{' | b'[') => Self::Json(text),
            Some(b'"') => match serde_json::from_str::<String>(trimmed) {
                Ok(inner) if inner.trim_start().starts_with('{') => Self::Json(inner),
                Ok(_) => Self::Json(text),
                Err(_) => Self::Text(text),
            },
            Some(_) if trimmed == "null" => Self::empty(),
            Some(_) if strict::is_json(trimmed) => Self::Json(text),
            Some(_) => Self::Text(text),
        }
    }

    /// Reads arguments that came as a JSON value inside a document.
    pub fn from_raw(raw: &RawValue) -> Self {
        let text = raw.get();
        match text.as_bytes().first() {
            Some(b'"') => match serde_json::from_str::<String>(text) {
                Ok(inner) => Self::from_text(inner),
                Err(_) => Self::Json(text.to_owned()),
            },
            _ if text == "null" => Self::empty(),
            _ => Self::Json(text.to_owned()),
        }
    }

    /// The text that they came as.
    pub fn as_str(&self) -> &str {
        self.said().1
    }

    /// Whether they claim to be JSON, and their text.
    fn said(&self) -> (bool, &str) {
        match self {
            Self::Json(text) => (true, text),
            Self::Plain(object) => (true, object.as_str()),
            Self::Text(text) => (false, text),
        }
    }

    /// Checks that these are one JSON object without duplicate keys, and gives its text.
    ///
    /// Plain text becomes `{"<field>": text}` for a tool that declares such a field.
    ///
    /// # Errors
    /// Anything else: a list, a scalar, NaN, duplicate keys, JSON that was cut off.
    pub fn into_object_text(self, spec: &ToolSpec) -> Result<String, ArgumentError> {
        match self {
            Self::Json(text) => match text.trim_start().as_bytes().first() {
                Some(b'{') => Ok(text),
                first => Err(ArgumentError::not_an_object(first.copied(), &text)),
            },
            Self::Plain(object) => Ok(object.into_string()),
            Self::Text(text) => match &spec.plain_text_input {
                Some(field) => {
                    Ok(Value::Object(Map::from_iter([(field.clone(), Value::String(text))])).to_string())
                }
                None => Err(ArgumentError::PlainText),
            },
        }
    }
}

/// By what they say: who looked at it does not count.
impl PartialEq for Arguments {
    fn eq(&self, other: &Self) -> bool {
        self.said() == other.said()
    }
}

impl Eq for Arguments {}

impl Default for Arguments {
    fn default() -> Self {
        Self::empty()
    }
}

impl From<Value> for Arguments {
    fn from(value: Value) -> Self {
        match value {
            Value::Null => Self::empty(),
            Value::String(text) => Self::from_text(text),
            other => Self::Json(other.to_string()),
        }
    }
}

/// Writes JSON as the value it is, and anything that does not parse as a JSON string.
impl Serialize for Arguments {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (is_json, text) = self.said();
        match serde_json::from_str::<&RawValue>(text) {
            Ok(raw) if is_json => raw.serialize(serializer),
            _ => serializer.serialize_str(text),
        }
    }
}

/// Why arguments cannot be given to a tool. Texts name the place and what was expected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ArgumentError {
    /// Not JSON, or JSON with duplicate keys.
    #[error("arguments are not valid: {0}")]
    Strict(#[from] StrictError),
    /// JSON, but not an object.
    #[error("arguments must be a JSON object, not {0}")]
    NotAnObject(&'static str),
    /// Plain text for a tool that takes none.
    #[error("arguments must be a JSON object: this tool takes no plain text")]
    PlainText,
    /// The object does not fit the tool's schema.
    #[error("{0}")]
    Schema(String),
}

impl ArgumentError {
    fn not_an_object(first: Option<u8>, text: &str) -> Self {
        if let Err(error) = strict::check(text) {
            return Self::Strict(error);
        }
        Self::NotAnObject(match first {
            Some(b'[') => "a list",
            Some(b'"') => "a string",
            Some(b't' | b'f') => "a boolean",
            Some(b'n') => "null",
            _ => "a number",
        })
    }
}

/// Which value wins when the runtime and the model both give one for an injected parameter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InjectPolicy {
    /// The runtime's value wins (the default: a model must not be able to choose it).
    #[default]
    InjectedWins,
    /// The model's value wins where it gave one.
    ExplicitWins,
}

/// Merges values of the runtime into the arguments for the parameters that `spec` declares as
/// injected, and gives the merged object's text.
///
/// # Errors
/// When `arguments` is not a JSON object.
pub fn inject(
    arguments: String,
    spec: &ToolSpec,
    injected: &Map<String, Value>,
    policy: InjectPolicy,
) -> Result<String, ArgumentError> {
    let wanted: Vec<&String> = spec.injected.iter().filter(|name| injected.contains_key(*name)).collect();
    if wanted.is_empty() {
        return Ok(arguments);
    }
    // Raw values, so that the model's integers stay exact.
    let mut merged: BTreeMap<String, Box<RawValue>> =
        serde_json::from_str(&arguments).map_err(|e| ArgumentError::Strict(e.into()))?;
    for name in wanted {
        let keep_explicit = policy == InjectPolicy::ExplicitWins && merged.contains_key(name);
        if let (false, Ok(raw)) = (keep_explicit, serde_json::value::to_raw_value(&injected[name])) {
            merged.insert(name.clone(), raw);
        }
    }
    serde_json::to_string(&merged).map_err(|e| ArgumentError::Strict(e.into()))
}

/// Gives the arguments without the parameters that the runtime may fill in.
pub(crate) fn without_injected<'a>(arguments: &'a str, injected: &[String]) -> Cow<'a, str> {
    if injected.is_empty() {
        return Cow::Borrowed(arguments);
    }
    let Ok(mut shown) = serde_json::from_str::<BTreeMap<String, &RawValue>>(arguments) else {
        return Cow::Borrowed("{}");
    };
    shown.retain(|name, _| !injected.contains(name));
    serde_json::to_string(&shown).map_or(Cow::Borrowed("{}"), Cow::Owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(arguments: Arguments) -> Result<String, String> {
        let spec = ToolSpec::new("t");
        let text = arguments.into_object_text(&spec).map_err(|e| e.to_string())?;
        strict::check(&text).map_err(|e| e.to_string())?;
        Ok(text)
    }

    #[test]
    fn absent_blank_and_null_arguments_are_an_empty_object() {
        for text in ["", "  \n", "null", " null "] {
            assert_eq!(object(Arguments::from_text(text.into())).unwrap(), "{}", "{text:?}");
        }
        assert_eq!(object(Value::Null.into()).unwrap(), "{}");
    }

    #[test]
    fn an_object_encoded_twice_is_unwrapped_once() {
        let once = r#"{"a":1}"#;
        let twice = serde_json::to_string(once).unwrap();
        let thrice = serde_json::to_string(&twice).unwrap();
        assert_eq!(object(Arguments::from_text(twice)).unwrap(), once);
        assert_eq!(
            object(Arguments::from_text(thrice)).unwrap_err(),
            "arguments must be a JSON object, not a string"
        );
    }

    #[test]
    fn lists_scalars_and_broken_json_are_refused_with_the_reason() {
        for (text, reason) in [
            ("[1]", "not a list"),
            ("42", "not a number"),
            ("true", "not a boolean"),
            ("\"x\"", "not a string"),
            ("{\"a\": 1", "EOF while parsing"),
            ("{\"a\": NaN}", "expected value"),
            ("{\"a\": Infinity}", "expected value"),
            ("{\"a\": 1, \"a\": 2}", "duplicate key \"a\""),
            ("{\"b\": {\"a\": 1, \"\\u0061\": 2}}", "duplicate key \"a\""),
            ("{} x", "trailing characters"),
            ("[1", "EOF while parsing"),
            ("NaN", "takes no plain text"),
            ("hello", "takes no plain text"),
        ] {
            let error = object(Arguments::from_text(text.into())).unwrap_err();
            assert!(error.contains(reason), "{text}: {error}");
        }
    }

    #[test]
    fn big_integers_stay_as_they_were_written() {
        let text = r#"{"a":9007199254740993,"b":123456789012345678901234567890}"#;
        assert_eq!(object(Arguments::from_text(text.into())).unwrap(), text);
    }

    #[test]
    fn plain_text_goes_to_the_declared_field() {
        let spec = ToolSpec::new("calc").plain_text_input("input");
        let text = Arguments::from_text("2+2".into()).into_object_text(&spec).unwrap();
        assert_eq!(text, r#"{"input":"2+2"}"#);
    }

    #[test]
    fn injected_values_win_unless_the_policy_says_otherwise() {
        let spec = ToolSpec::new("t").injected(["user"]);
        let given = Map::from_iter([("user".into(), "host".into()), ("other".into(), 1.into())]);
        let merge = |text: &str, policy| inject(text.into(), &spec, &given, policy).unwrap();
        let explicit = r#"{"n":123456789012345678901,"user":"model"}"#;
        assert_eq!(
            merge(explicit, InjectPolicy::InjectedWins),
            r#"{"n":123456789012345678901,"user":"host"}"#
        );
        assert_eq!(merge(explicit, InjectPolicy::ExplicitWins), explicit);
        assert_eq!(merge("{}", InjectPolicy::ExplicitWins), r#"{"user":"host"}"#);
    }
}
