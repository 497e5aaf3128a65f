//! What is wrong with a configuration file, in one line.

use std::{fmt, io, ops::Range, path::PathBuf};

use toolyard_contract::{RuleError, name};

/// Why a configuration cannot be used.
#[derive(Debug)]
pub struct ConfigError {
    /// The file, where there is one.
    pub file: Option<PathBuf>,
    /// Line and column, counted from 1, where the place is known.
    pub place: Option<(usize, usize)>,
    /// What is wrong.
    pub reason: String,
}

impl ConfigError {
    pub(super) fn new(reason: impl Into<String>) -> Self {
        Self { file: None, place: None, reason: reason.into() }
    }

    pub(super) fn io(error: &io::Error) -> Self {
        Self::new(error.to_string())
    }

    pub(super) fn parse(text: &str, error: &toml::de::Error) -> Self {
        let reason = unknown_key(error.message()).unwrap_or_else(|| one_line(error.message()));
        Self { file: None, place: error.span().map(|span| place(text, &span)), reason }
    }

    pub(super) fn in_file(mut self, file: impl Into<PathBuf>) -> Self {
        self.file = Some(file.into());
        self
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.file {
            write!(f, "{}: ", file.display())?;
        }
        if let Some((line, column)) = self.place {
            write!(f, "line {line}, column {column}: ")?;
        }
        f.write_str(&self.reason)
    }
}

impl std::error::Error for ConfigError {}

impl From<RuleError> for ConfigError {
    fn from(error: RuleError) -> Self {
        Self::new(error.to_string())
    }
}

/// Words the error of an unknown key, with the nearest known one.
fn unknown_key(message: &str) -> Option<String> {
    // serde writes: unknown field `key`, expected one of `a`, `b`
    let quoted = message.strip_prefix("unknown field ")?;
    let mut names = quoted.split('`').skip(1).step_by(2);
    let key = names.next()?;
    let known: Vec<&str> = names.collect();
    Some(match (name::nearest(key, known.iter().copied()).first(), known.is_empty()) {
        (Some(nearest), _) => format!("unknown key {key:?}; the nearest known one is {nearest:?}"),
        (None, false) => format!("unknown key {key:?}; known are: {}", known.join(", ")),
        (None, true) => format!("unknown key {key:?}"),
    })
}

fn one_line(message: &str) -> String {
    message.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn place(text: &str, span: &Range<usize>) -> (usize, usize) {
    let before = text.get(..span.start).unwrap_or(text);
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    (before.matches('\n').count() + 1, column)
}
