//! Texts that occur often, each kept once.

use std::{collections::HashMap, sync::Arc};

use serde::{Serialize, Serializer};

/// Texts in the order in which they first came; others name them by number.
#[derive(Debug, Default)]
pub(super) struct Texts {
    numbers: HashMap<Arc<str>, u32>,
    texts: Vec<Arc<str>>,
}

impl Texts {
    /// The number of a text.
    pub(super) fn number(&mut self, text: &str) -> u32 {
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        let (text, number) = (Arc::<str>::from(text), u32::try_from(self.texts.len()).unwrap_or(u32::MAX));
        self.texts.push(text.clone());
        self.numbers.insert(text, number);
        number
    }
}

impl Serialize for Texts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.texts.iter().map(|text| &**text))
    }
}
