//! JSON as untrusted text: one pass that refuses what `serde_json` alone would let through.
//!
//! Duplicate keys are an error (a reader that keeps the first and one that keeps the last would see
//! different calls). Nesting is bounded by `serde_json`'s limit of 128.

use std::{borrow::Cow, cell::Cell, collections::HashSet, fmt};

use serde::de::{Deserialize, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use smallvec::SmallVec;

use crate::{digits, exact};

/// Text that is not acceptable JSON; says what is wrong and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct StrictError(String);

impl From<serde_json::Error> for StrictError {
    fn from(error: serde_json::Error) -> Self {
        Self(error.to_string())
    }
}

/// Tells whether `text` is one JSON value, duplicate keys or not.
pub fn is_json(text: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(text).is_ok()
}

pub use crate::plain::{PlainObject, Scan, is_plain, plain_string};

/// Checks that `text` is one JSON value without duplicate keys, building nothing.
///
/// # Errors
/// Names the duplicate key, or what the parser met, with line and column.
pub fn check(text: &str) -> Result<(), StrictError> {
    let once = |text: &str| -> serde_json::Result<()> {
        let mut parser = serde_json::Deserializer::from_str(text);
        Check.deserialize(&mut parser)?;
        parser.end()
    };
    Ok(once(text).or_else(|error| again(text, error, once))?)
}

/// Reads a text again that the parser has refused for the size of an integer.
fn again<T>(
    text: &str,
    error: serde_json::Error,
    read: impl Fn(&str) -> serde_json::Result<T>,
) -> serde_json::Result<T> {
    // The parser has no kind of error for this.
    let is_too_large = error.to_string().starts_with("number out of range");
    match digits::shortened(text) {
        Cow::Owned(shortened) if is_too_large => read(&shortened),
        _ => Err(error),
    }
}

/// Parses `text` as one JSON value without duplicate keys.
///
/// Integers beyond 64 bits become floats, the largest one where they are larger still, so the value serves checks,
/// not results.
///
/// # Errors
/// As [`check`].
pub fn parse(text: &str) -> Result<Value, StrictError> {
    parse_noting(text).map(|(value, _)| value)
}

/// Parses as [`parse`] does, and tells whether the value may have numbers that are not quite those of the text;
/// [`ExactValue`](crate::ExactValue) keeps them.
///
/// # Errors
/// As [`check`].
pub fn parse_noting(text: &str) -> Result<(Value, bool), StrictError> {
    let is_inexact = Cell::new(false);
    let once = |text: &str| -> serde_json::Result<Value> {
        let mut parser = serde_json::Deserializer::from_str(text);
        let value = Build(&is_inexact).deserialize(&mut parser)?;
        parser.end()?;
        Ok(value)
    };
    let value = once(text).or_else(|error| again(text, error, once))?;
    Ok((value, is_inexact.get()))
}

fn duplicate<E: serde::de::Error>(key: &str) -> E {
    E::custom(format_args!("duplicate key {key:?}"))
}

/// Walks a value and keeps only the keys of the objects it is inside of.
struct Check;

impl<'de> DeserializeSeed<'de> for Check {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Check {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }
    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }
    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }
    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }
    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }
    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while items.next_element_seed(Check)?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        let mut seen = Keys::default();
        while let Some(Key(key)) = entries.next_key()? {
            seen.add(key).map_err(|key| duplicate::<A::Error>(&key))?;
            entries.next_value_seed(Check)?;
        }
        Ok(())
    }
}

/// The keys of one object: a short list while they are few, a set when they are many.
#[derive(Default)]
struct Keys<'de> {
    few: SmallVec<[Cow<'de, str>; 8]>,
    many: HashSet<Cow<'de, str>>,
}

impl<'de> Keys<'de> {
    const FEW: usize = 16;

    fn add(&mut self, key: Cow<'de, str>) -> Result<(), Cow<'de, str>> {
        if self.few.len() < Self::FEW {
            if self.few.contains(&key) {
                return Err(key);
            }
            self.few.push(key);
            return Ok(());
        }
        if self.many.is_empty() {
            self.many.extend(self.few.iter().cloned());
        }
        if self.many.contains(&key) {
            return Err(key);
        }
        self.many.insert(key);
        Ok(())
    }
}

/// A key, borrowed from the text unless it has escapes.
struct Key<'de>(Cow<'de, str>);

impl<'de> Deserialize<'de> for Key<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct KeyVisitor;
        impl<'de> Visitor<'de> for KeyVisitor {
            type Value = Key<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a key")
            }
            fn visit_borrowed_str<E>(self, key: &'de str) -> Result<Self::Value, E> {
                Ok(Key(Cow::Borrowed(key)))
            }
            fn visit_str<E>(self, key: &str) -> Result<Self::Value, E> {
                Ok(Key(Cow::Owned(key.to_owned())))
            }
        }
        deserializer.deserialize_str(KeyVisitor)
    }
}

/// Builds a [`Value`], and notes whether a number of it may be another one than was written.
#[derive(Clone, Copy)]
struct Build<'a>(&'a Cell<bool>);

impl<'de> DeserializeSeed<'de> for Build<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Build<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, v: bool) -> Result<Value, E> {
        Ok(v.into())
    }
    fn visit_i64<E>(self, v: i64) -> Result<Value, E> {
        Ok(v.into())
    }
    fn visit_u64<E>(self, v: u64) -> Result<Value, E> {
        Ok(v.into())
    }
    fn visit_f64<E>(self, v: f64) -> Result<Value, E> {
        if exact::is_inexact(v) {
            self.0.set(true);
        }
        Ok(v.into())
    }
    fn visit_str<E>(self, v: &str) -> Result<Value, E> {
        Ok(v.into())
    }
    fn visit_string<E>(self, v: String) -> Result<Value, E> {
        Ok(v.into())
    }
    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut out = Vec::new();
        while let Some(item) = items.next_element_seed(self)? {
            out.push(item);
        }
        Ok(Value::Array(out))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut out = serde_json::Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            if out.contains_key(&key) {
                return Err(duplicate(&key));
            }
            out.insert(key, entries.next_value_seed(self)?);
        }
        Ok(Value::Object(out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_and_parse_agree() {
        for text in [
            "{}",
            "[]",
            "1",
            "{\"a\":{\"b\":[1,2,{\"c\":null}]}}",
            "{\"a\":1,\"a\":1}",
            "[{\"x\":1,\"x\":2}]",
            "{\"a\":",
            "nul",
            "{\"a\":1}}",
            "1e400",
            "\"\\ud800\"",
        ] {
            assert_eq!(check(text).err(), parse(text).err(), "{text}");
        }
    }

    #[test]
    fn a_duplicate_among_many_keys_is_found() {
        let mut keys: Vec<String> = (0..100).map(|i| format!("\"k{i}\":0")).collect();
        assert_eq!(check(&format!("{{{}}}", keys.join(","))), Ok(()));
        keys.push("\"k3\":1".into());
        let error = check(&format!("{{{}}}", keys.join(","))).unwrap_err();
        assert!(error.to_string().contains("duplicate key \"k3\""), "{error}");
    }

    #[test]
    fn deep_nesting_is_an_error_and_no_stack_overflow() {
        let deep = "[".repeat(100_000);
        assert!(check(&deep).unwrap_err().to_string().contains("recursion limit"));
        assert!(parse(&deep).is_err());
    }
}
