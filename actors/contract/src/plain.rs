//! JSON that is seen to be in order at a glance: most calls are, and a parser would cost more than all else on their
//! way.

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
    let mut scan = Scan::new(text);
    scan.value(DEPTH).is_some() && scan.is_at_end()
}

/// Walks through JSON text as long as it is in order at a glance.
///
/// A method that gives nothing says nothing about the text: it may be in order and only longer, deeper or stranger
/// than a glance is for. The scan is then somewhere in the middle; to go back, keep a copy.
#[derive(Clone, Copy, Debug)]
pub struct Scan<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Scan<'a> {
    /// Begins at the first byte.
    pub fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    /// What has not been walked through.
    pub fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// Goes on behind so many bytes, which somebody else has read; nothing when the text is shorter or a character
    /// would be cut.
    pub fn skip(&mut self, bytes: usize) -> Option<()> {
        self.rest().get(bytes..)?;
        self.at += bytes;
        Some(())
    }

    /// Tells whether only space is left.
    pub fn is_at_end(&mut self) -> bool {
        self.skip_space().is_none()
    }

    /// Takes the next byte that is no space, if it is this one.
    pub fn takes(&mut self, byte: u8) -> bool {
        let is_next = self.skip_space() == Some(byte);
        self.at += usize::from(is_next);
        is_next
    }

    /// Takes an object, and gives its text.
    pub fn object(&mut self) -> Option<PlainObject> {
        (self.skip_space()? == b'{').then_some(())?;
        let start = self.at;
        self.value(DEPTH)?;
        self.text.get(start..self.at).map(|text| PlainObject(text.to_owned()))
    }

    /// Takes an object whose values are taken by `value`, which gets each key; keys may come again.
    pub fn fields(&mut self, mut value: impl FnMut(&'a str, &mut Self) -> Option<()>) -> Option<()> {
        self.takes(b'{').then_some(())?;
        if self.takes(b'}') {
            return Some(());
        }
        loop {
            let key = self.string()?;
            self.takes(b':').then_some(())?;
            value(key, self)?;
            if !self.takes(b',') {
                return self.takes(b'}').then_some(());
            }
        }
    }

    /// Takes a string without escapes, and gives what is between the quotes.
    pub fn string(&mut self) -> Option<&'a str> {
        self.takes(b'"').then_some(())?;
        let start = self.at;
        self.verbatim(STRING);
        let end = self.at;
        (self.peek()? == b'"').then_some(())?;
        self.at += 1;
        self.text.get(start..end)
    }

    /// Takes a string in which nothing but quotes and backslashes is escaped, and gives what it says.
    pub fn quoting(&mut self) -> Option<String> {
        self.takes(b'"').then_some(())?;
        let mut said = String::with_capacity(STRING);
        loop {
            let start = self.at;
            self.verbatim(usize::MAX);
            said.push_str(self.text.get(start..self.at)?);
            match &self.text.as_bytes()[self.at..] {
                [b'"', ..] => {
                    self.at += 1;
                    return Some(said);
                }
                [b'\\', escaped @ (b'"' | b'\\'), ..] => {
                    said.push(char::from(*escaped));
                    self.at += 2;
                }
                _ => return None,
            }
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Goes to the next byte that is no space, and gives it.
    fn skip_space(&mut self) -> Option<u8> {
        loop {
            match self.peek()? {
                b' ' | b'\n' | b'\t' | b'\r' => self.at += 1,
                other => return Some(other),
            }
        }
    }

    /// Goes to the next byte that cannot stand for itself in a string, or so many bytes.
    fn verbatim(&mut self, most: usize) {
        // A table and a plain loop: what the compiler makes of an iterator takes three times as long.
        let bytes = self.text.as_bytes();
        let end = bytes.len().min(self.at.saturating_add(most));
        let mut at = self.at;
        while at < end && !ENDS_VERBATIM[usize::from(bytes[at])] {
            at += 1;
        }
        self.at = at;
    }

    fn word(&mut self, word: &[u8]) -> Option<()> {
        self.text.as_bytes()[self.at..].starts_with(word).then(|| self.at += word.len())
    }

    fn value(&mut self, depth: usize) -> Option<()> {
        match self.skip_space()? {
            b'{' => self.unique_fields(depth.checked_sub(1)?),
            b'[' => self.list(depth.checked_sub(1)?),
            b'"' => self.string().map(drop),
            b'-' | b'0'..=b'9' => self.number(),
            b't' => self.word(b"true"),
            b'f' => self.word(b"false"),
            _ => None,
        }
    }

    fn unique_fields(&mut self, depth: usize) -> Option<()> {
        let (mut keys, mut count) = ([""; KEYS], 0);
        self.fields(|key, scan| {
            if keys[..count].contains(&key) {
                return None;
            }
            *keys.get_mut(count)? = key;
            count += 1;
            scan.value(depth)
        })
    }

    fn list(&mut self, depth: usize) -> Option<()> {
        self.at += 1;
        if self.takes(b']') {
            return Some(());
        }
        loop {
            self.value(depth)?;
            if !self.takes(b',') {
                return self.takes(b']').then_some(());
            }
        }
    }

    /// A number without exponent.
    fn number(&mut self) -> Option<()> {
        let start = self.at;
        let _ = self.word(b"-");
        let leading_zero = self.peek() == Some(b'0');
        let whole = self.digits();
        if whole == 0 || (leading_zero && whole > 1) {
            return None;
        }
        if self.word(b".").is_some() && self.digits() == 0 {
            return None;
        }
        let short = self.at - start <= NUMBER;
        (short && !matches!(self.peek(), Some(b'e' | b'E'))).then_some(())
    }

    fn digits(&mut self) -> usize {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        self.at - start
    }
}

/// The bytes that cannot stand for themselves in a string.
static ENDS_VERBATIM: [bool; 256] = {
    let mut ends = [false; 256];
    let mut control = 0;
    while control < 0x20 {
        ends[control] = true;
        control += 1;
    }
    (ends[b'"' as usize], ends[b'\\' as usize]) = (true, true);
    ends
};

/// The text of a JSON object that has been seen to be in order: no key comes twice, and nothing is `null`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlainObject(String);

impl PlainObject {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Gives the text.
    pub fn into_string(self) -> String {
        self.0
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
