//! Tools that are not there and could be.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use toolyard_contract::{Aliases, name};

/// How each such tool is switched on, by its key. Shared, because it seldom changes.
#[derive(Clone, Default)]
pub(super) struct Off(Arc<FxHashMap<Box<str>, Box<str>>>);

impl Off {
    /// Says how a tool is switched on that is not there.
    pub(super) fn add(&mut self, name: &str, remedy: &str) {
        Arc::make_mut(&mut self.0).insert(name::key(name).into(), remedy.into());
    }

    /// What to say of a call of a tool that is not there, where it could be.
    pub(super) fn says(&self, wanted: &str, aliases: &Aliases) -> Option<String> {
        let is_off = |name: &str| self.0.contains_key(name::key(name).as_ref());
        let name = aliases.follow(wanted, is_off).ok()?;
        let remedy = self.0.get(name::key(name).as_ref())?;
        Some(format!("tool {wanted:?}: it is switched off: {remedy}"))
    }
}
