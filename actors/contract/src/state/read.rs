//! Reads a state so that nothing of another shape passes for one.

use serde::{
    Deserializer,
    de::{DeserializeOwned, Error as _, Visitor},
};
use serde_path_to_error::Track;

use crate::strict;

/// Reads a state from its JSON text.
///
/// Stricter than `serde_json` alone: fields that the type does not know are refused, where it passes
/// over them; so are duplicate keys, and an array in the place of a whole struct, of which serde
/// would take the items for the fields.
///
/// # Errors
/// Says where in the state, and what was expected there.
pub(super) fn read<S: DeserializeOwned>(text: &str) -> serde_json::Result<S> {
    strict::check(text).map_err(serde_json::Error::custom)?;
    let mut json = serde_json::Deserializer::from_str(text);
    let mut unknown = None;
    let mut track = Track::new();
    let read = {
        let mut note = |path: serde_ignored::Path<'_>| {
            unknown.get_or_insert_with(|| path.to_string());
        };
        let tracked = serde_path_to_error::Deserializer::new(Whole(&mut json), &mut track);
        S::deserialize(serde_ignored::Deserializer::new(tracked, &mut note))
    };
    match (read, unknown) {
        (Ok(state), None) => Ok(state),
        (Ok(_), Some(field)) => Err(serde_json::Error::custom(format!("its state has no field {field:?}"))),
        (Err(error), _) => Err(placed(&error, &track.path().to_string())),
    }
}

/// The error with its place in the state. That in the text says little: it is all one line.
fn placed(error: &serde_json::Error, path: &str) -> serde_json::Error {
    let text = error.to_string();
    let what = text.rfind(" at line ").map_or(text.as_str(), |end| &text[..end]);
    serde_json::Error::custom(if path == "." { what.to_owned() } else { format!("at {path}: {what}") })
}

/// Takes a struct from an object alone.
struct Whole<D>(D);

macro_rules! forward {
    ($($method:ident($($argument:ident: $type:ty),*);)+) => {$(
        fn $method<V: Visitor<'de>>(self, $($argument: $type,)* visitor: V) -> Result<V::Value, D::Error> {
            self.0.$method($($argument,)* visitor)
        }
    )+};
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Whole<D> {
    type Error = D::Error;

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.0.deserialize_map(visitor)
    }

    forward! {
        deserialize_any();
        deserialize_bool();
        deserialize_i8();
        deserialize_i16();
        deserialize_i32();
        deserialize_i64();
        deserialize_i128();
        deserialize_u8();
        deserialize_u16();
        deserialize_u32();
        deserialize_u64();
        deserialize_u128();
        deserialize_f32();
        deserialize_f64();
        deserialize_char();
        deserialize_str();
        deserialize_string();
        deserialize_bytes();
        deserialize_byte_buf();
        deserialize_option();
        deserialize_unit();
        deserialize_unit_struct(name: &'static str);
        deserialize_newtype_struct(name: &'static str);
        deserialize_seq();
        deserialize_tuple(len: usize);
        deserialize_tuple_struct(name: &'static str, len: usize);
        deserialize_map();
        deserialize_enum(name: &'static str, variants: &'static [&'static str]);
        deserialize_identifier();
        deserialize_ignored_any();
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::{Deserialize, Serialize};
    use serde_json::{Value, value::RawValue};

    use super::*;

    #[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
    struct Basket {
        items: Vec<Item>,
        #[serde(default)]
        note: Option<String>,
    }

    #[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
    struct Item {
        count: u32,
        #[serde(default)]
        tags: BTreeMap<String, Value>,
    }

    #[derive(Debug, Serialize, Deserialize)]
    struct Raw {
        kept: Option<Box<RawValue>>,
    }

    fn error<S: DeserializeOwned>(text: &str) -> String {
        read::<S>(text).err().map_or_else(|| format!("{text} was taken"), |error| error.to_string())
    }

    #[test]
    fn what_is_a_state_is_read_as_it_was_written() {
        let basket = read::<Basket>(r#"{"items": [{"count": 2, "tags": {"any": {"key": [1]}}}]}"#).unwrap();
        assert_eq!(basket.items[0].tags["any"]["key"][0], 1);
        assert_eq!(read::<(u8, String)>(r#"[1, "a"]"#).unwrap(), (1, "a".to_owned()));
        assert_eq!(read::<i64>("-3").unwrap(), -3);
        assert_eq!(read::<Value>("[1]").unwrap(), serde_json::json!([1]));
        let raw = read::<Raw>(r#"{"kept": 123456789012345678901234567890}"#).unwrap();
        assert_eq!(raw.kept.unwrap().get(), "123456789012345678901234567890");
    }

    #[test]
    fn what_has_another_shape_is_refused_with_its_place_and_what_was_expected() {
        let cases = [
            (
                r#"{"items": [{"count": "x"}]}"#,
                r#"at items[0].count: invalid type: string "x", expected u32"#,
            ),
            (r#"{"items": [], "typo": 1}"#, r#"its state has no field "typo""#),
            (r#"{"items": [{"count": 1, "cuont": 2}]}"#, r#"its state has no field "items.0.cuont""#),
            (r#"{"note": "a"}"#, "missing field `items`"),
            ("[[]]", "invalid type: sequence, expected struct Basket"),
            (r#"{"items": [], "items": [{"count": 1}]}"#, r#"duplicate key "items" at line 1 column 21"#),
            ("7", "invalid type: integer `7`, expected struct Basket"),
            ("{", "EOF while parsing an object at line 1 column 1"),
        ];
        for (text, expected) in cases {
            assert_eq!(error::<Basket>(text), expected, "{text}");
        }
        assert_eq!(error::<i64>(r#"{"n": 50}"#), "invalid type: map, expected i64");
    }
}
