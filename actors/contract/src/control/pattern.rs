//! Glob patterns over tool names.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::glob::{Glob, literal};

/// A glob over tool names, case-sensitive on every system.
///
/// - `*` stands for any text, `/` and `.` included, so that `*_read` spans all servers;
/// - `?` stands for one character;
/// - `{a,b}` stands for `a` or `b`;
/// - `[ab]`, `[a-z]` and `[!a]` are classes of ASCII characters;
/// - `\` takes the next character as it is, and so does a class of one: `\[` and `[[]` are both a
///   bracket.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ToolPattern {
    text: String,
    matcher: Glob,
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
        match Glob::new(&text) {
            Ok(matcher) => Ok(Self { text, matcher }),
            Err(reason) => Err(PatternError { reason, pattern: text }),
        }
    }

    /// Makes the pattern that matches exactly `name`.
    pub fn literal(name: &str) -> Self {
        Self::new(literal(name)).expect("every special character is escaped")
    }

    /// The pattern's text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Tells whether a name fits.
    pub fn matches(&self, name: &str) -> bool {
        self.matcher.matches(name.trim())
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
