//! A list of calls, as text and in memory.

use std::fs;

use serde::Deserialize;

use crate::trivial::RawCall;

pub(crate) struct List {
    text: String,
    calls: Vec<RawCall>,
}

impl List {
    pub(crate) fn open(path: &str) -> Self {
        let text = fs::read_to_string(path).expect("a list");
        let calls = read(&text);
        Self { text, calls }
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Fresh copies, since whoever runs calls owns them; so the copying is in every mode's figures.
    pub(crate) fn calls(&self) -> Vec<RawCall> {
        self.calls.clone()
    }
}

/// Reads a provider's list without any care.
pub(crate) fn read(text: &str) -> Vec<RawCall> {
    #[derive(Deserialize)]
    struct Item {
        id: String,
        function: Function,
    }
    #[derive(Deserialize)]
    struct Function {
        name: String,
        arguments: String,
    }
    let items: Vec<Item> = serde_json::from_str(text).expect("a list");
    items.into_iter().map(|Item { id, function }| (id, function.name, function.arguments)).collect()
}
