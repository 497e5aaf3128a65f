//! Why a document cannot be taken.

use super::json;

/// Why a document cannot be taken at all. A single bad call is no such reason: see [`Document::calls`](super::Document::calls).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DocumentError {
    /// Not JSON.
    #[error("line {line}, column {column}: {reason}")]
    Syntax {
        /// The line, counted from 1.
        line: usize,
        /// The column in bytes, counted from 1.
        column: usize,
        /// What the parser met.
        reason: String,
    },
    /// JSON, but a field is not what it must be.
    #[error("{place}: {reason}")]
    Field {
        /// The field, and the item where it is in a list.
        place: String,
        /// What is wrong with it.
        reason: String,
    },
    /// JSON, but neither a list nor any object that holds calls.
    #[error("{0}")]
    NotCalls(String),
}

impl DocumentError {
    pub(super) fn field(place: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Field { place: place.into(), reason: reason.into() }
    }

    pub(super) fn syntax(error: &serde_json::Error) -> Self {
        Self::Syntax { line: error.line(), column: error.column().max(1), reason: json::reason(error) }
    }
}
