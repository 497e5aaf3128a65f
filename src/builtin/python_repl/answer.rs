//! What comes back from the code that runs inside of a session.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{Captured, RunEnd};

/// What came of a piece of code.
#[derive(Deserialize)]
pub(super) struct CellAnswer {
    value: Option<String>,
    #[serde(default)]
    value_bytes: u64,
    exited: Option<i64>,
    raised: Option<Raised>,
    /// So many that others could hardly start.
    left_processes: Option<u64>,
    /// Some of the text had half characters.
    #[serde(default)]
    halves: bool,
}

#[derive(Deserialize)]
struct Raised {
    summary: String,
    traceback: String,
}

/// What came of loading a snapshot.
#[derive(Deserialize)]
pub(super) struct LoadAnswer {
    /// The names that could not be loaded, and why.
    pub(super) problems: BTreeMap<String, String>,
}

impl CellAnswer {
    /// The first `most` bytes of the text of the value.
    pub(super) fn value(&self, most: usize) -> Option<Captured> {
        let text = self.value.as_ref()?;
        let kept = &text[..text.floor_char_boundary(most)];
        let total = self.value_bytes.max(text.len() as u64);
        Some(Captured::new(kept.as_bytes(), Some(total), most))
    }

    /// What was changed when the output was written as text.
    pub(super) fn notes(&self) -> Vec<String> {
        let note = self.halves.then(|| "half characters (lone surrogates) are given as U+FFFD".to_owned());
        note.into_iter().collect()
    }

    /// How the code ended.
    pub(super) fn end(self) -> RunEnd {
        if let Some(left) = self.left_processes {
            return RunEnd::Gone(format!("the code left {left} processes behind"));
        }
        match (self.raised, self.exited) {
            (Some(Raised { summary, traceback }), _) => RunEnd::Raised { summary, traceback },
            (None, Some(status)) => RunEnd::Exited(status),
            (None, None) => RunEnd::Done,
        }
    }
}
