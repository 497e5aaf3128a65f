//! Glob patterns, as permission rules and activation rules write them.

use globset::GlobBuilder;
use regex::bytes::{Regex, RegexBuilder};

/// A pattern that is ready to be asked.
///
/// The syntax is `globset`'s, but `?` and a class stand for one character, not for one byte.
#[derive(Clone, Debug)]
pub(crate) struct Glob(Regex);

impl Glob {
    /// Reads a pattern.
    ///
    /// # Errors
    /// Says why it cannot be read.
    pub(crate) fn new(pattern: &str) -> Result<Self, String> {
        let glob = GlobBuilder::new(pattern)
            .case_insensitive(false)
            .literal_separator(false)
            .backslash_escape(true)
            .empty_alternates(true)
            .allow_unclosed_class(false)
            .build()
            .map_err(|error| error.kind().to_string())?;
        let regex = by_characters(glob.regex()).ok_or(
            "a class may name ASCII characters only; write other ones as alternatives, such as {é,ü}",
        )?;
        let regex = RegexBuilder::new(&regex).dot_matches_new_line(true).build();
        regex.map(Self).map_err(|error| error.to_string())
    }

    /// Tells whether the whole text fits.
    pub(crate) fn matches(&self, text: &str) -> bool {
        self.0.is_match(text.as_bytes())
    }
}

/// The pattern that matches exactly `text`.
pub(crate) fn literal(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '*' | '?' | '[' | ']' | '{' | '}' | '\\' | ',' | '!') {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern
}

/// Rewrites a regular expression of `globset`, which goes by bytes, so that `.` alone and what a class
/// leaves out are characters; `None` when a class names a character that is not ASCII.
fn by_characters(bytewise: &str) -> Option<String> {
    let mut out = String::with_capacity(bytewise.len() + 16);
    let mut rest = bytewise;
    while let Some(c) = rest.chars().next() {
        let taken = match c {
            '[' => {
                let class = &rest[..end_of_class(rest)];
                if !class.is_ascii() || class.contains("\\x") {
                    return None;
                }
                out.push_str("(?u:");
                out.push_str(class);
                out.push(')');
                rest = &rest[class.len()..];
                continue;
            }
            '.' if !rest.starts_with(".*") => {
                out.push_str("(?su:.)");
                rest = &rest[1..];
                continue;
            }
            '\\' | '.' => 2,
            c => c.len_utf8(),
        };
        out.push_str(&rest[..taken]);
        rest = &rest[taken..];
    }
    Some(out)
}

/// Where the class that `text` begins with has ended.
fn end_of_class(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut at = 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            b']' => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn matches(pattern: &str, text: &str) -> bool {
        Glob::new(pattern).unwrap().matches(text)
    }

    #[test]
    fn a_question_mark_and_a_class_are_one_character() {
        for one in ["a", "é", "日", "🦀", "\n"] {
            assert!(matches("?", one) && !matches("??", one), "{one:?}");
            assert!(matches("x?z", &format!("x{one}z")), "{one:?}");
            assert!(matches("[!x]", one) && !matches("[!x][!x]", one), "{one:?}");
        }
        assert!(matches("[a-c]?", "bü") && !matches("[!a-c]", "b"));
        assert!(matches(r"\?", "?") && !matches(r"\?", "a"));
        assert!(matches("a.b", "a.b") && !matches("a.b", "axb"), "a dot is a dot");
        assert!(Glob::new("[é]").unwrap_err().contains("ASCII"));
        assert!(matches("{é,ü}*", "ü日"));
    }

    proptest! {
        #[test]
        fn every_text_is_matched_by_its_own_characters(text in ".{0,12}", cut in 0..12_usize) {
            let marks: String = text.chars().map(|_| '?').collect();
            prop_assert!(matches(&marks, &text));
            let more = format!("{marks}?");
            prop_assert!(!matches(&more, &text));
            prop_assert!(matches(&literal(&text), &text));
            let head: String = text.chars().take(cut).collect();
            let pattern = format!("{}*", literal(&head));
            prop_assert!(matches(&pattern, &text));
        }
    }
}
