//! The canonical text of JSON: what approvals and permission rules compare.

use std::{borrow::Cow, collections::BTreeMap};

use serde_json::value::RawValue;

use crate::strict::StrictError;

/// Gives the canonical text of one JSON value: keys sorted by code point, no white space, strings
/// escaped in one way, and [one form](number) for each number.
///
/// ```
/// use toolyard_contract::canonical::canonical;
///
/// let text = canonical(r#"{"b": 1e3, "a": [1000.0, 9007199254740993, 1.50]}"#)?;
/// assert_eq!(text, r#"{"a":[1000,9007199254740993,1.5],"b":1000}"#);
/// # Ok::<(), toolyard_contract::strict::StrictError>(())
/// ```
///
/// # Errors
/// When `text` is not JSON, or is nested deeper than 128.
pub fn canonical(text: &str) -> Result<String, StrictError> {
    written(text, number)
}

/// Gives the text as [`canonical`] does, but leaves every number as it was written (`-0` is `0`), for
/// what is shown and for what must not change by a digit.
///
/// # Errors
/// When `text` is not JSON, or is nested deeper than 128.
pub fn canonical_as_written(text: &str) -> Result<String, StrictError> {
    written(text, |number| Cow::Borrowed(if number == "-0" { "0" } else { number }))
}

/// How many zeros are written out before a number is given an exponent: enough for every double.
const MOST_ZEROS: i64 = 400;

/// Gives the one form of a JSON number.
///
/// Whole numbers of any size are exact, digit by digit, however they are written: `1000`, `1e3`,
/// `1000.0` and `10E2` are `1000`. One with a fraction is the double that it is read as, in the fewest
/// digits that say which one that is; if that double is whole, so is the number.
pub fn number(text: &str) -> Cow<'_, str> {
    let (digits, exponent, is_negative) = parts(text);
    if exponent >= 0 || digits.is_empty() {
        return whole(text, &digits, exponent, is_negative);
    }
    match text.parse::<f64>() {
        Ok(double) if double.is_finite() && double.fract() == 0.0 => {
            let (digits, exponent, is_negative) = parts(&format!("{double:.0}"));
            whole(text, &digits, exponent, is_negative)
        }
        Ok(double) if double.is_finite() => kept_or(text, double.to_string()),
        // Larger than every double, with a fraction: nothing reads it but as decimal digits.
        _ => kept_or(text, format!("{}{digits}e{exponent}", if is_negative { "-" } else { "" })),
    }
}

/// The digits of a number without zeros at either end, the power of ten that they count, and the sign.
pub(crate) fn parts(text: &str) -> (String, i64, bool) {
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let is_negative = mantissa.starts_with('-');
    let (whole, fraction) = mantissa.trim_start_matches('-').split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{}{fraction}", whole.trim_start_matches('-'));
    let significant = digits.trim_start_matches('0').trim_end_matches('0');
    let zeros = digits.len() - digits.trim_end_matches('0').len();
    // Numbers with an exponent beyond 64 bits are all taken for the largest, or for nothing.
    let exponent = exponent.parse().unwrap_or(if exponent.starts_with('-') { i64::MIN } else { i64::MAX });
    let length = |length: usize| i64::try_from(length).unwrap_or(i64::MAX);
    let exponent = exponent.saturating_add(length(zeros)).saturating_sub(length(fraction.len()));
    (significant.to_owned(), exponent, is_negative && !significant.is_empty())
}

/// `digits` with `exponent` zeros behind them.
fn whole<'a>(text: &'a str, digits: &str, exponent: i64, is_negative: bool) -> Cow<'a, str> {
    let sign = if is_negative { "-" } else { "" };
    kept_or(
        text,
        match usize::try_from(exponent) {
            _ if digits.is_empty() => "0".to_owned(),
            Ok(zeros) if exponent <= MOST_ZEROS => format!("{sign}{digits}{}", "0".repeat(zeros)),
            _ => format!("{sign}{digits}e{exponent}"),
        },
    )
}

fn kept_or(text: &str, form: String) -> Cow<'_, str> {
    if form == text { Cow::Borrowed(text) } else { Cow::Owned(form) }
}

/// Gives a JSON text in which every number has its [one form](number), and everything else stays as it
/// is; `None` when it is so already. So a tool gets the very numbers that were judged.
pub fn with_canonical_numbers(text: &str) -> Option<String> {
    let mut out: Option<String> = None;
    let (mut at, mut kept) = (0, 0);
    let bytes = text.as_bytes();
    while at < bytes.len() {
        match bytes[at] {
            b'"' => at = end_of_string(bytes, at),
            b'-' | b'0'..=b'9' => {
                let is_part = |byte: &u8| matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9');
                let end = at + bytes[at..].iter().take_while(|byte| is_part(byte)).count();
                if let Cow::Owned(form) = number(&text[at..end]) {
                    let out = out.get_or_insert_with(|| String::with_capacity(text.len()));
                    out.push_str(&text[kept..at]);
                    out.push_str(&form);
                    kept = end;
                }
                at = end;
            }
            _ => at += 1,
        }
    }
    out.map(|mut out| {
        out.push_str(&text[kept..]);
        out
    })
}

/// Where the string that begins at `start` has ended.
fn end_of_string(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

fn written(text: &str, number: fn(&str) -> Cow<'_, str>) -> Result<String, StrictError> {
    let raw: &RawValue = serde_json::from_str(text)?;
    let mut out = String::with_capacity(text.len());
    write(raw, &mut out, 0, number)?;
    Ok(out)
}

const MAX_DEPTH: usize = 128; // serde_json's own limit

fn write(
    raw: &RawValue,
    out: &mut String,
    depth: usize,
    number: fn(&str) -> Cow<'_, str>,
) -> Result<(), StrictError> {
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
                write(value, out, depth + 1, number)?;
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
                write(item, out, depth + 1, number)?;
            }
            out.push(']');
        }
        Some(b'"') => out.push_str(&serde_json::to_string(&serde_json::from_str::<String>(text)?)?),
        Some(b'-' | b'0'..=b'9') => out.push_str(&number(text)),
        _ => out.push_str(text),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn order_space_escapes_and_the_spelling_of_numbers_do_not_matter() {
        let a = canonical(r#" { "b" : 9007199254740993, "a" : ["\u0041", 1.50] } "#).unwrap();
        assert_eq!(a, r#"{"a":["A",1.5],"b":9007199254740993}"#);
        assert_ne!(a, canonical(r#"{"a":["A",1.5],"b":9007199254740992}"#).unwrap());
        let written = canonical_as_written(r#"{"b": 1.50, "a": 1e3}"#).unwrap();
        assert_eq!(written, r#"{"a":1e3,"b":1.50}"#);
    }

    #[test]
    fn every_number_has_one_form() {
        let long = format!("1{}", "0".repeat(5_000));
        for (spellings, form) in [
            (
                &["1000", "1e3", "1000.0", "10E2", "1e+3", "0.1e4", "100000e-2", "1000.00000000000000001"][..],
                "1000",
            ),
            (&["0", "-0", "0.0", "-0.0e5", "0e99999999999999999999"], "0"),
            (&["-12", "-1.2e1", "-120e-1"], "-12"),
            (&["0.1", "1e-1", "0.10", "0.1000000000000000055511151231257827"], "0.1"),
            (&["9007199254740993", "9007199254740993.0", "90071992547409930e-1"], "9007199254740993"),
            (&["1e23", "100000000000000000000000"], "100000000000000000000000"),
            (&["1e5000", &long, "10e4999"], "1e5000"),
            (&["1.5e-7", "0.00000015"], "0.00000015"),
        ] {
            for spelling in spellings {
                assert_eq!(number(spelling), form, "{spelling}");
                assert_eq!(number(form), form, "{form}");
            }
        }
        assert_ne!(number("9007199254740993"), number("9007199254740992"));
        assert_ne!(number("1e999999999999999999999"), number("1e999"));
    }

    #[test]
    fn only_numbers_change_where_all_else_is_kept() {
        let text = r#"{ "1e3": "1e3 \" 2.0", "b": [1e3, -2.50, 7, true], "c" :10E2}"#;
        let expected = r#"{ "1e3": "1e3 \" 2.0", "b": [1000, -2.5, 7, true], "c" :1000}"#;
        assert_eq!(with_canonical_numbers(text).as_deref(), Some(expected));
        assert_eq!(with_canonical_numbers(expected), None);
    }

    #[test]
    fn deep_nesting_is_an_error() {
        let deep = format!("{}{}", "[".repeat(5_000), "]".repeat(5_000));
        assert!(canonical(&deep).is_err());
    }

    proptest! {
        #[test]
        fn whole_numbers_are_equal_exactly_when_they_are_the_same_number(
            a in "[1-9][0-9]{0,30}", b in "[1-9][0-9]{0,30}", zeros in 0..6_usize, shift in 0..6_usize,
        ) {
            let spelled = format!("{}.{}e{shift}", a, "0".repeat(zeros + 1));
            let plain = format!("{a}{}", "0".repeat(shift));
            let form = number(&spelled).into_owned();
            prop_assert_eq!(&form, &plain);
            prop_assert_eq!(number(&a) == number(&b), a == b);
        }

        #[test]
        fn a_double_has_one_form_and_it_reads_back_as_the_same(double in proptest::num::f64::NORMAL) {
            let shown = serde_json::to_string(&double).unwrap();
            let form = number(&shown).into_owned();
            prop_assert_eq!(form.parse::<f64>().unwrap().to_bits(), double.to_bits());
            prop_assert_eq!(number(&form).into_owned(), form.clone());
            if double.fract() != 0.0 {
                prop_assert_eq!(number(&format!("{double:.40e}")).into_owned(), form);
            }
        }
    }
}
