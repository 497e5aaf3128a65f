//! The canonical text of JSON: what approvals and permission rules compare.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use crate::strict::StrictError;

/// Gives the canonical text of one JSON value: keys sorted by code point, no white space, strings
/// escaped in one way, integers digit by digit.
///
/// Unlike RFC 8785 no number goes through a double where that could change it: an integer of any
/// size is kept exactly, and a number with a fraction or an exponent keeps its spelling.
///
/// # Errors
/// When `text` is not JSON, or is nested deeper than 128.
pub fn canonical(text: &str) -> Result<String, StrictError> {
    let raw: &RawValue = serde_json::from_str(text)?;
    let mut out = String::with_capacity(text.len());
    write(raw, &mut out, 0)?;
    Ok(out)
}

const MAX_DEPTH: usize = 128; // serde_json's own limit

fn write(raw: &RawValue, out: &mut String, depth: usize) -> Result<(), StrictError> {
    let text = raw.get().trim();
    if depth > MAX_DEPTH {
        return Err(serde::de::Error::custom("recursion limit exceeded"))
            .map_err(|e: serde_json::Error| e.into());
    }
    match text.as_bytes().first() {
        Some(b'{') => {
            let entries: BTreeMap<String, &RawValue> = serde_json::from_str(text)?;
            out.push('{');
            for (i, (key, value)) in entries.into_iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                out.push_str(&serde_json::to_string(&key)?);
                out.push(':');
                write(value, out, depth + 1)?;
            }
            out.push('}');
        }
        Some(b'[') => {
            let items: Vec<&RawValue> = serde_json::from_str(text)?;
            out.push('[');
            for (i, item) in items.into_iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write(item, out, depth + 1)?;
            }
            out.push(']');
        }
        Some(b'"') => out.push_str(&serde_json::to_string(&serde_json::from_str::<String>(text)?)?),
        _ => out.push_str(if text == "-0" { "0" } else { text }),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_space_and_escapes_do_not_matter_but_digits_do() {
        let a = canonical(r#" { "b" : 9007199254740993, "a" : ["\u0041", 1.50] } "#).unwrap();
        assert_eq!(a, r#"{"a":["A",1.50],"b":9007199254740993}"#);
        assert_ne!(a, canonical(r#"{"a":["A",1.50],"b":9007199254740992}"#).unwrap());
    }

    #[test]
    fn deep_nesting_is_an_error() {
        let deep = format!("{}{}", "[".repeat(5_000), "]".repeat(5_000));
        assert!(canonical(&deep).is_err());
    }
}
