//! Faults in a message's text that can be mended without changing what it says.

use super::scan::Escape;

/// What stands for what is no character.
const REPLACEMENT: &[u8] = "\u{fffd}".as_bytes();

/// A text that was mended, and what was done to it, for whoever reads the result.
pub(super) struct Mended {
    pub(super) text: Vec<u8>,
    pub(super) notes: Vec<&'static str>,
}

/// Mends a text that is no JSON, or has half of a character in a string. `None`: there is nothing to mend.
pub(super) fn mended(text: &[u8]) -> Option<Mended> {
    // A byte-order mark, blanks, and what a program prints before its message.
    let begin = text.iter().position(|byte| *byte == b'{')?;
    let mut mended = Mended { text: Vec::with_capacity(text.len()), notes: Vec::new() };
    let mut rest = &text[begin..];
    while let Some(at) = rest.iter().position(|byte| *byte == b'"') {
        mended.text.extend_from_slice(&rest[..=at]);
        rest = mended.string(&rest[at + 1..]);
    }
    mended.text.extend_from_slice(rest);
    (begin > 0 || !mended.notes.is_empty()).then_some(mended)
}

impl Mended {
    /// Takes a string up to its end, and gives what follows.
    fn string<'a>(&mut self, mut rest: &'a [u8]) -> &'a [u8] {
        loop {
            let is_plain = |byte: &u8| *byte >= b' ' && !matches!(byte, b'"' | b'\\');
            let plain = rest.iter().take_while(|byte| is_plain(byte)).count();
            self.characters(&rest[..plain]);
            rest = &rest[plain..];
            match rest.first() {
                None => return rest,
                Some(b'"') => {
                    self.text.push(b'"');
                    return &rest[1..];
                }
                Some(b'\\') => {
                    let escape = Escape::at(rest);
                    let len = escape.len().min(rest.len());
                    if escape == Escape::Half {
                        self.text.extend_from_slice(REPLACEMENT);
                        self.note("half a character (a lone surrogate) in the server's answer was replaced by U+FFFD");
                    } else {
                        self.text.extend_from_slice(&rest[..len]);
                    }
                    rest = &rest[len..];
                }
                Some(control) => {
                    self.text.extend_from_slice(format!("\\u{control:04x}").as_bytes());
                    self.note(
                        "a control character in the server's answer was read as if it had been escaped",
                    );
                    rest = &rest[1..];
                }
            }
        }
    }

    fn characters(&mut self, bytes: &[u8]) {
        for chunk in bytes.utf8_chunks() {
            self.text.extend_from_slice(chunk.valid().as_bytes());
            if !chunk.invalid().is_empty() {
                self.text.extend_from_slice(REPLACEMENT);
                self.note("bytes that are no UTF-8 in the server's answer were replaced by U+FFFD");
            }
        }
    }

    fn note(&mut self, note: &'static str) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_harmless_is_mended_in_strings_alone() {
        for (text, expected, notes) in [
            (b"{\"a\":\"x\\ud800y\"}".as_slice(), "{\"a\":\"x\u{fffd}y\"}", 1),
            (b"{\"a\\udc00\":1}", "{\"a\u{fffd}\":1}", 1),
            (b"{\"a\":\"\xff\xfe\",\"b\":\"\xc3\"}", "{\"a\":\"\u{fffd}\u{fffd}\",\"b\":\"\u{fffd}\"}", 1),
            (b"{\"a\":\"1\t2\x01\"}", "{\"a\":\"1\\u00092\\u0001\"}", 1),
            (b"{\"a\":\"\t\xff\\ud83d\"}", "{\"a\":\"\\u0009\u{fffd}\u{fffd}\"}", 3),
            (b"\xef\xbb\xbf {\"a\":1}", "{\"a\":1}", 0),
            (b"log: {\"a\":1}", "{\"a\":1}", 0),
        ] {
            let mended = mended(text).unwrap();
            assert_eq!(String::from_utf8(mended.text).unwrap(), expected);
            assert_eq!(mended.notes.len(), notes, "{expected}");
        }
        for sound in ["{\"a\":\"\\ud83d\\ude00 \\\\ud800 \\\"\"}", "{\"a\":\t1}", "no message", ""] {
            assert!(mended(sound.as_bytes()).is_none(), "{sound}");
        }
    }

    #[test]
    fn a_text_that_ends_in_a_string_or_an_escape_is_taken_to_its_end() {
        for text in ["{\"a\":\"\t", "{\"\t\\", "{\"\t\\ud8", "{\"\t\\ud800\\u"] {
            assert!(mended(text.as_bytes()).is_some(), "{text}");
        }
    }
}
