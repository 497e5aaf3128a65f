//! Glob patterns over tool names.

use std::fmt;

use globset::{GlobBuilder, GlobMatcher};
use serde::{Deserialize, Serialize};

/// A glob over tool names, case-sensitive on every system.
///
/// - `*` stands for any text, `/` and `.` included, so that `*_read` spans all servers;
/// - `?` stands for one byte, which is one character of an ASCII name;
/// - `{a,b}` stands for `a` or `b`;
/// - `[ab]`, `[a-z]` and `[!a]` are classes of ASCII characters;
/// - `\` takes the next character as it is, and so does a class of one: `\[` and `[[]` are both a
///   bracket.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ToolPattern {
    text: String,
    matcher: GlobMatcher,
}

/// A pattern that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("pattern {pattern:?} cannot be read: {reason}")]
pub struct PatternError {
    /// The pattern.
    pub pattern: String,
    /// What is wrong with it.
    pub reason: String,
}

impl ToolPattern {
    /// Reads a pattern.
    ///
    /// # Errors
    /// When a class, an alternative or an escape is not finished, or a range runs backwards.
    pub fn new(text: impl Into<String>) -> Result<Self, PatternError> {
        let text = text.into();
        let glob = GlobBuilder::new(&text)
            .case_insensitive(false)
            .literal_separator(false)
            .backslash_escape(true)
            .empty_alternates(true)
            .allow_unclosed_class(false)
            .build();
        match glob {
            Ok(glob) => Ok(Self { matcher: glob.compile_matcher(), text }),
            Err(error) => Err(PatternError { reason: error.kind().to_string(), pattern: text }),
        }
    }

    /// Makes the pattern that matches exactly `name`.
    pub fn literal(name: &str) -> Self {
        let special = |c: char| matches!(c, '*' | '?' | '[' | ']' | '{' | '}' | '\\' | ',' | '!');
        let mut text = String::with_capacity(name.len());
        for c in name.chars() {
            if special(c) {
                text.push('\\');
            }
            text.push(c);
        }
        Self::new(text).expect("every special character is escaped")
    }

    /// The pattern's text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Tells whether a name fits.
    pub fn matches(&self, name: &str) -> bool {
        self.matcher.is_match(name.trim())
    }
}

impl PartialEq for ToolPattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl fmt::Display for ToolPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl TryFrom<String> for ToolPattern {
    type Error = PatternError;

    fn try_from(text: String) -> Result<Self, PatternError> {
        Self::new(text)
    }
}

impl From<ToolPattern> for String {
    fn from(pattern: ToolPattern) -> Self {
        pattern.text
    }
}
