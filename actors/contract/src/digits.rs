//! Integers that no number of this program can hold: the text that carries them stays as it is, and only what checks
//! it reads a shorter one.

use std::borrow::Cow;

/// The longest integer, in digits, that a double always holds.
const MOST: usize = 308;

/// What stands for a longer one: close below the largest double.
fn instead() -> String {
    format!("17976{}", "0".repeat(MOST - 4))
}

/// Gives JSON text with integers of more than 308 digits cut to the size that a double has, so that it can be parsed
/// where only the order of magnitude matters.
pub fn shortened(text: &str) -> Cow<'_, str> {
    let mut out = String::new();
    let mut kept = 0;
    for (start, end) in numbers(text) {
        let digits = text[start..end].trim_start_matches('-');
        let is_long = digits.len() > MOST && !digits.starts_with('0');
        if is_long && digits.bytes().all(|byte| byte.is_ascii_digit()) {
            out.push_str(&text[kept..end - digits.len()]);
            out.push_str(&instead());
            kept = end;
        }
    }
    if kept == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[kept..]);
    Cow::Owned(out)
}

/// How many digits the longest number of a JSON text has.
pub fn longest(text: &str) -> usize {
    let digits = |(start, end): (usize, usize)| text[start..end].bytes().filter(u8::is_ascii_digit).count();
    numbers(text).map(digits).max().unwrap_or_default()
}

/// Where numbers stand in a JSON text; what stands in a string is none.
pub(crate) fn numbers(text: &str) -> impl Iterator<Item = (usize, usize)> {
    let bytes = text.as_bytes();
    let is_part = |byte: &u8| byte.is_ascii_digit() || matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E');
    let mut at = 0;
    std::iter::from_fn(move || {
        while let Some(byte) = bytes.get(at) {
            match byte {
                b'"' => {
                    at += 1;
                    while let Some(byte) = bytes.get(at).filter(|byte| **byte != b'"') {
                        at += if *byte == b'\\' { 2 } else { 1 };
                    }
                    at += 1;
                }
                b'-' | b'0'..=b'9' => {
                    let start = at;
                    at += bytes[at..].iter().take_while(|byte| is_part(byte)).count();
                    return Some((start, at));
                }
                _ => at += 1,
            }
        }
        None
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::strict;

    fn nines(count: usize) -> String {
        "9".repeat(count)
    }

    #[test]
    fn long_integers_alone_are_shortened() {
        let long = nines(5_000);
        let text = format!(r#"{{"a\"{long}": -{long}, "b": [1, {long}, 1.5e3, "{long}"], "c": {long}.5}}"#);
        let short = shortened(&text);
        let expected = text
            .replace(&format!("-{long},"), &format!("-{},", instead()))
            .replace(&format!("1, {long},"), &format!("1, {},", instead()));
        assert_eq!(short, expected);
        for same in ["", "1", "[1, -2]", &format!("[0{long}]"), &nines(MOST), "\"\\", "{\"a\":"] {
            assert!(matches!(shortened(same), Cow::Borrowed(_)), "{same}");
        }
        assert_eq!((longest(&text), longest("[-12, \"123\"]"), longest("")), (5_001, 2, 0));
    }

    #[test]
    fn arguments_with_integers_of_any_size_are_checked() {
        for digits in [309, 400, 5_000, 100_000] {
            let text = format!(r#"{{"n": {}}}"#, nines(digits));
            assert_eq!(strict::check(&text), Ok(()), "{digits}");
            let value = strict::parse(&text).unwrap();
            assert!(value["n"].as_f64().is_some_and(|n| n > 1.79e308), "{digits}: {value}");
            let twice = format!(r#"{{"n": {0}, "n": {0}}}"#, nines(digits));
            assert!(strict::check(&twice).unwrap_err().to_string().contains("duplicate key \"n\""));
        }
    }

    proptest! {
        #[test]
        fn what_was_json_stays_json(digits in 1_usize..700, fraction in "(\\.[0-9]{1,3})?", negative: bool) {
            let sign = if negative { "-" } else { "" };
            let text = format!("[{sign}{}{fraction}, 1]", nines(digits));
            let short = shortened(&text);
            prop_assert!(strict::is_json(&short));
            if fraction.is_empty() {
                prop_assert!(serde_json::from_str::<serde_json::Value>(&short).is_ok(), "{}", short);
            }
        }
    }
}
