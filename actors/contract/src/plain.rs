//! JSON that is seen to be in order at a glance: most arguments are, and a parser would cost more than all else
//! on their way.

use serde_json::value::RawValue;

/// Objects and lists nested deeper than this are left to the parser.
const DEPTH: usize = 4;
/// Keys of one object.
const KEYS: usize = 8;
/// Bytes of one string.
const STRING: usize = 64;
/// Bytes of one number: too few to overflow anything.
const NUMBER: usize = 15;

/// Gives what a JSON string says, when nothing in it is escaped.
pub fn plain_string(raw: &RawValue) -> Option<&str> {
    let inside = raw.get().strip_prefix('"')?.strip_suffix('"')?;
    (!inside.as_bytes().contains(&b'\\')).then_some(inside)
}

/// Tells whether `text` surely is one JSON value without duplicate keys and without `null`.
///
/// `false` says nothing: text with escapes, exponents, `null`, long strings or many keys is not looked at further.
pub fn is_plain(text: &str) -> bool {
    let mut scan = Scan { rest: text.as_bytes() };
    scan.value(DEPTH) && {
        scan.skip_space();
        scan.rest.is_empty()
    }
}

struct Scan<'a> {
    rest: &'a [u8],
}

impl<'a> Scan<'a> {
    fn skip_space(&mut self) {
        while let [b' ' | b'\n' | b'\t' | b'\r', rest @ ..] = self.rest {
            self.rest = rest;
        }
    }

    /// Takes the next byte that is no space, if it is this one.
    fn takes(&mut self, byte: u8) -> bool {
        self.skip_space();
        match self.rest {
            [first, rest @ ..] if *first == byte => {
                self.rest = rest;
                true
            }
            _ => false,
        }
    }

    fn word(&mut self, word: &[u8]) -> bool {
        self.rest.strip_prefix(word).map(|rest| self.rest = rest).is_some()
    }

    fn value(&mut self, depth: usize) -> bool {
        self.skip_space();
        match self.rest.first() {
            Some(b'{') => depth > 0 && self.object(depth - 1),
            Some(b'[') => depth > 0 && self.list(depth - 1),
            Some(b'"') => self.string().is_some(),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word(b"true"),
            Some(b'f') => self.word(b"false"),
            _ => false,
        }
    }

    fn object(&mut self, depth: usize) -> bool {
        self.rest = &self.rest[1..];
        if self.takes(b'}') {
            return true;
        }
        let mut keys: [&[u8]; KEYS] = [&[]; KEYS];
        for count in 0..KEYS {
            self.skip_space();
            let Some(key) = self.string() else { return false };
            if keys[..count].contains(&key) || !self.takes(b':') || !self.value(depth) {
                return false;
            }
            keys[count] = key;
            if !self.takes(b',') {
                return self.takes(b'}');
            }
        }
        false
    }

    fn list(&mut self, depth: usize) -> bool {
        self.rest = &self.rest[1..];
        if self.takes(b']') {
            return true;
        }
        loop {
            if !self.value(depth) {
                return false;
            }
            if !self.takes(b',') {
                return self.takes(b']');
            }
        }
    }

    /// A string without escapes; gives what is between the quotes.
    fn string(&mut self) -> Option<&'a [u8]> {
        let inside = self.rest.strip_prefix(b"\"")?;
        let end =
            inside.iter().take(STRING).position(|&byte| byte == b'"' || byte == b'\\' || byte < b' ')?;
        let (string, rest) = inside.split_at(end);
        self.rest = rest.strip_prefix(b"\"")?;
        Some(string)
    }

    /// A number without exponent.
    fn number(&mut self) -> bool {
        let all = self.rest.len();
        let _ = self.word(b"-");
        let leading_zero = self.rest.first() == Some(&b'0');
        let whole = self.digits();
        if whole == 0 || (leading_zero && whole > 1) || (self.word(b".") && self.digits() == 0) {
            return false;
        }
        all - self.rest.len() <= NUMBER && !matches!(self.rest.first(), Some(b'e' | b'E'))
    }

    fn digits(&mut self) -> usize {
        let before = self.rest.len();
        while let [b'0'..=b'9', rest @ ..] = self.rest {
            self.rest = rest;
        }
        before - self.rest.len()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;
    use crate::strict;

    fn has_null(value: &Value) -> bool {
        match value {
            Value::Null => true,
            Value::Array(items) => items.iter().any(has_null),
            Value::Object(entries) => entries.values().any(has_null),
            _ => false,
        }
    }

    #[test]
    fn usual_arguments_are_plain() {
        for text in [
            "{}",
            r#"{"a":12.5,"b":-2}"#,
            r#" { "city" : "Rome" , "days" : [1, 2, 30] , "exact" : true } "#,
            r#"{"a":{"b":{"c":[0, 0.5, "é"]}},"d":false}"#,
        ] {
            assert!(is_plain(text), "{text}");
        }
    }

    #[test]
    fn what_needs_a_closer_look_is_not_plain() {
        for text in [
            "",
            r#"{"a":1,"a":2}"#,
            r#"{"a":1,}"#,
            r#"{"a":01}"#,
            r#"{"a":1.}"#,
            r#"{"a":-}"#,
            r#"{"a":1e5}"#,
            r#"{"a":null}"#,
            r#"{"a":"\u0061"}"#,
            r#"{"a":"x"#,
            r#"{"a" 1}"#,
            "{\"a\":\"\n\"}",
            r#"{"a":1234567890123456}"#,
            r"[[[[[]]]]]",
            r#"{"a":1} x"#,
            "[1 2]",
            "truely",
        ] {
            assert!(!is_plain(text), "{text}");
        }
    }

    #[test]
    fn a_string_without_escapes_is_what_stands_between_its_quotes() {
        let says = |text: &str| {
            let raw: Box<RawValue> = serde_json::from_str(text).unwrap();
            plain_string(&raw).map(str::to_owned)
        };
        assert_eq!(says(r#""""#).as_deref(), Some(""));
        assert_eq!(says(r#" "Zoë" "#).as_deref(), Some("Zoë"));
        for other in [r#""a\n""#, r#""\"""#, "1", "null", "[\"a\"]"] {
            assert_eq!(says(other), None, "{other}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        #[test]
        fn what_is_plain_passes_the_strict_parser(
            parts in prop::collection::vec(
                prop::sample::select(vec![
                    "{", "}", "[", "]", ",", ":", "\"a\"", "\"b\"", "\"\"", "\"é\"", "\"", "1", "0", "-", ".5", "e3",
                    "true", "false", "null", " ", "\n", "\\", "\"a\":1", "{\"a\":", "\u{1}", "x",
                ]),
                0..12,
            ),
        ) {
            let text = parts.concat();
            if is_plain(&text) {
                prop_assert_eq!(strict::check(&text), Ok(()), "{}", text);
                prop_assert!(!has_null(&strict::parse(&text).unwrap()), "{}", text);
            }
        }

        #[test]
        fn plain_json_that_was_changed_in_one_place_is_still_told_right(at in 0_usize..64, byte in 0x20_u8..0x7f) {
            let mut text = br#"{"city":"Rome","days":[1,-2.5,30],"where":{"a":true,"b":false}}"#.to_vec();
            let at = at % text.len();
            text[at] = byte;
            let text = String::from_utf8(text).unwrap();
            if is_plain(&text) {
                prop_assert_eq!(strict::check(&text), Ok(()), "{}", text);
            }
        }
    }
}
