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
    /// The model gives a value that only the runtime may give.
    #[error("there is no argument {0:?}: leave it out")]
    NotForTheModel(String),
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

/// Arguments with the runtime's values in them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Injected {
    /// The text of the object that the tool gets.
    pub text: String,
    /// The parameters that the runtime has filled in: their values are shown to nobody.
    pub filled: Vec<String>,
}

/// Merges values of the runtime into the arguments for the parameters that `spec` declares as
/// injected. Other parameters are the model's, whatever they are called.
///
/// # Errors
/// When `arguments` is not a JSON object, or the model gives a value for an injected parameter that the
/// runtime does not fill in and explicit values are not let win: the model must not be able to choose it.
pub fn inject(
    arguments: String,
    spec: &ToolSpec,
    injected: Option<&Map<String, Value>>,
    policy: InjectPolicy,
) -> Result<Injected, ArgumentError> {
    if spec.injected.is_empty() {
        return Ok(Injected { text: arguments, filled: Vec::new() });
    }
    // Raw values, so that the model's integers stay exact.
    let mut merged: BTreeMap<String, Box<RawValue>> =
        serde_json::from_str(&arguments).map_err(|e| ArgumentError::Strict(e.into()))?;
    let (mut filled, mut dropped) = (Vec::new(), false);
    for name in &spec.injected {
        if spec.fills_in {
            dropped |= merged.remove(name).is_some();
            continue;
        }
        let is_explicit = merged.contains_key(name);
        if is_explicit && policy == InjectPolicy::ExplicitWins {
            continue;
        }
        match injected.and_then(|injected| injected.get(name)).map(serde_json::value::to_raw_value) {
            Some(Ok(raw)) => {
                merged.insert(name.clone(), raw);
                filled.push(name.clone());
            }
            _ if is_explicit => return Err(ArgumentError::NotForTheModel(name.clone())),
            _ => {}
        }
    }
    if filled.is_empty() && !dropped {
        return Ok(Injected { text: arguments, filled });
    }
    let text = serde_json::to_string(&merged).map_err(|e| ArgumentError::Strict(e.into()))?;
    Ok(Injected { text, filled })
}

/// Takes the runtime's values out of arguments again: they may be secrets, and will be filled in anew.
/// `None` when these are no arguments.
///
/// Only parameters that `spec` declares as injected are taken out. Where explicit values win, one that
/// differs from the runtime's is the model's own and stays.
pub fn without_values_of_the_runtime(
    arguments: &str,
    spec: &ToolSpec,
    injected: Option<&Map<String, Value>>,
    policy: InjectPolicy,
) -> Option<String> {
    let mut object: BTreeMap<String, &RawValue> = serde_json::from_str(arguments).ok()?;
    let is_the_runtimes = |name: &String, raw: &RawValue| {
        let value = injected.filter(|_| spec.injected.contains(name)).and_then(|injected| injected.get(name));
        value.is_some_and(|value| {
            policy == InjectPolicy::InjectedWins
                || serde_json::from_str::<Value>(raw.get()).is_ok_and(|given| given == *value)
        })
    };
    object.retain(|name, raw| !is_the_runtimes(name, raw));
    serde_json::to_string(&object).ok()
}

/// Gives the arguments without the parameters that the runtime has filled in.
pub fn without_filled<'a>(arguments: &'a str, filled: &[String]) -> Cow<'a, str> {
    if filled.is_empty() {
        return Cow::Borrowed(arguments);
    }
    let Ok(mut shown) = serde_json::from_str::<BTreeMap<String, &RawValue>>(arguments) else {
        return Cow::Borrowed("{}");
    };
    shown.retain(|name, _| !filled.contains(name));
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
        let merge = |text: &str, policy| {
            let merged = inject(text.into(), &spec, Some(&given), policy).unwrap();
            (merged.text, merged.filled.len())
        };
        let explicit = r#"{"n":123456789012345678901,"user":"model"}"#;
        assert_eq!(
            merge(explicit, InjectPolicy::InjectedWins),
            (r#"{"n":123456789012345678901,"user":"host"}"#.to_owned(), 1)
        );
        assert_eq!(merge(explicit, InjectPolicy::ExplicitWins), (explicit.to_owned(), 0));
        assert_eq!(merge("{}", InjectPolicy::ExplicitWins), (r#"{"user":"host"}"#.to_owned(), 1));
    }

    #[test]
    fn a_model_cannot_fill_in_what_the_runtime_leaves_out() {
        let spec = ToolSpec::new("t").injected(["user"]);
        let other = Map::from_iter([("other".into(), 1.into())]);
        for given in [None, Some(&other)] {
            let merge = |policy| inject(r#"{"user":"model"}"#.into(), &spec, given, policy);
            let error = merge(InjectPolicy::InjectedWins).unwrap_err().to_string();
            assert_eq!(error, "there is no argument \"user\": leave it out");
            let shown = merge(InjectPolicy::ExplicitWins).unwrap();
            assert_eq!((shown.text.as_str(), shown.filled.len()), (r#"{"user":"model"}"#, 0));
            assert!(inject("{}".into(), &spec, given, InjectPolicy::InjectedWins).is_ok());
        }
    }

    #[test]
    fn what_the_tool_fills_in_itself_is_dropped() {
        let spec = ToolSpec::new("t").injected(["state"]).fills_in(true);
        for policy in [InjectPolicy::InjectedWins, InjectPolicy::ExplicitWins] {
            let merged = inject(r#"{"n":1,"state":{}}"#.into(), &spec, None, policy).unwrap();
            assert_eq!((merged.text.as_str(), merged.filled.len()), (r#"{"n":1}"#, 0));
        }
    }

    #[test]
    fn only_declared_parameters_are_taken_out_again() {
        let spec = ToolSpec::new("t").injected(["user"]);
        let given = Map::from_iter([("user".into(), "acme".into()), ("tenant".into(), "acme".into())]);
        let without =
            |text: &str, policy| without_values_of_the_runtime(text, &spec, Some(&given), policy).unwrap();
        let text = r#"{"tenant":"acme","user":"acme"}"#;
        let kept = r#"{"tenant":"acme"}"#;
        assert_eq!(without(text, InjectPolicy::InjectedWins), kept);
        assert_eq!(without(text, InjectPolicy::ExplicitWins), kept);
        let explicit = r#"{"user":"model"}"#;
        assert_eq!(without(explicit, InjectPolicy::ExplicitWins), explicit);
        assert_eq!(without(explicit, InjectPolicy::InjectedWins), "{}");
    }
}
