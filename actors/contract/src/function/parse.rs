//! From argument text to a typed value.

use serde::de::DeserializeOwned;
use serde_json::{Number, Value};

use crate::{Failure, strict};

/// Reads a typed value from the text of the arguments.
///
/// Nothing is converted, with one exception that JSON Schema makes too: `1.0` is an integer.
pub(super) fn arguments<T: DeserializeOwned>(text: String) -> Result<T, Failure> {
    match serde_json::from_str(&text) {
        Ok(read) => Ok(read),
        Err(_) => carefully(&text).map_err(|reason| Failure::unfit(text, reason)),
    }
}

/// Reads once more, through a value: takes whole floats for integers, and finds which argument
/// does not fit.
#[cold]
fn carefully<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    let mut value = strict::parse(text).map_err(|error| format!("arguments are not valid: {error}"))?;
    whole_floats_to_integers(&mut value);
    serde_path_to_error::deserialize(value).map_err(|error| {
        let reason = shortened(&error.inner().to_string());
        match error.path().to_string().as_str() {
            "." => format!("arguments: {reason}"),
            path => format!("argument `{path}`: {reason}"),
        }
    })
}

fn whole_floats_to_integers(value: &mut Value) {
    match value {
        Value::Number(number) if number.is_f64() => {
            if let Some(whole) = number.as_f64().and_then(whole) {
                *number = whole;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(whole_floats_to_integers),
        Value::Object(entries) => entries.values_mut().for_each(whole_floats_to_integers),
        _ => {}
    }
}

/// The integer that a float stands for, where it stands for exactly one.
fn whole(float: f64) -> Option<Number> {
    const EXACT: f64 = 9_007_199_254_740_992.0; // 2^53
    #[expect(clippy::cast_possible_truncation, reason = "the range is checked")]
    (float.fract() == 0.0 && float.abs() < EXACT).then(|| (float as i64).into())
}

/// Cuts out the middle of a long reason: it quotes the argument, and ends with what was expected.
fn shortened(reason: &str) -> String {
    const HEAD: usize = 160;
    const TAIL: usize = 160;
    if reason.len() <= HEAD + TAIL {
        return reason.to_owned();
    }
    let head = reason.floor_char_boundary(HEAD);
    let tail = reason.ceil_char_boundary(reason.len() - TAIL);
    format!("{} … {}", &reason[..head], &reason[tail..])
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    struct Add {
        a: i64,
        b: Option<u8>,
        #[serde(default)]
        points: Vec<Point>,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    struct Point {
        x: f64,
    }

    fn error(text: &str) -> String {
        arguments::<Add>(text.to_owned()).unwrap_err().error
    }

    #[test]
    fn errors_name_the_argument_and_what_was_expected() {
        for (text, expected) in [
            (r#"{"a": "x"}"#, r#"argument `a`: invalid type: string "x", expected i64"#),
            (r#"{"a": 1.5}"#, "argument `a`: invalid type: floating point `1.5`, expected i64"),
            (r#"{"a": 1, "b": 256}"#, "argument `b`: invalid value: integer `256`, expected u8"),
            (r#"{"a": 1, "b": 1e300}"#, "argument `b`: invalid type: floating point `1e+300`, expected u8"),
            (
                r#"{"a": 1, "points": [{"x": 1}, {"x": true}]}"#,
                "argument `points[1].x`: invalid type: boolean `true`, expected f64",
            ),
            ("{}", "arguments: missing field `a`"),
            (r#"{"a": 1, "a": 2}"#, r#"arguments are not valid: duplicate key "a" at line 1 column 12"#),
        ] {
            assert_eq!(error(text), expected, "{text}");
        }
    }

    #[test]
    fn a_whole_float_is_an_integer() {
        let read = arguments::<Add>(r#"{"a": 1.0, "b": 2e1, "points": [{"x": 3.0}]}"#.to_owned()).unwrap();
        assert_eq!(read, Add { a: 1, b: Some(20), points: vec![Point { x: 3.0 }] });
    }

    #[test]
    fn integers_stay_exact() {
        let read = arguments::<Add>(r#"{"a": 9007199254740993}"#.to_owned()).unwrap();
        assert_eq!(read.a, 9_007_199_254_740_993);
        assert!(error(r#"{"a": 9007199254740993.0}"#).contains("expected i64"));
    }

    #[test]
    fn a_long_argument_is_not_echoed_whole() {
        let text = format!(r#"{{"a": "{}"}}"#, "é".repeat(10_000));
        let error = error(&text);
        assert!(error.len() < 400, "{}", error.len());
        assert!(
            error.starts_with("argument `a`: invalid type: string \"é") && error.ends_with("expected i64")
        );
    }
}
