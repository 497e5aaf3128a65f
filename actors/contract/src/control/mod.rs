//! Which tools are switched on.
//!
//! Two kinds of switch, kept apart: an ordered list of **rules** with glob patterns, of which the
//! first that matches decides, and **exact names** that were switched on or off by hand, which win
//! over every rule. A tool that nothing speaks of follows the default mode. Names are compared with
//! the tool's own spelling, case-sensitively on every system.

mod pattern;
mod rules;

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use parking_lot::RwLock;
use serde_json::Value;

pub use pattern::{PatternError, ToolPattern};
pub use rules::{ActivationMode, ActivationRule, ActivationRules};

use crate::{FunctionSchema, SharedTool, ToolSpec};

/// Decides which tools are switched on, and may be changed at any time.
///
/// A tool that is off is neither listed nor called. Clones share one state, so that one controller
/// can serve several engines; a change counts for every call that is admitted after it.
///
/// ```
/// use toolyard_contract::{ActivationController, ActivationMode, ActivationRule, ActivationRules};
///
/// let rules = ActivationRules {
///     rules: vec![ActivationRule::new(ActivationMode::Deactivate, "file_*")?],
///     ..Default::default()
/// };
/// let controller = ActivationController::new(rules);
/// assert!(!controller.is_active("file_write"));
/// controller.activate("file_write");
/// assert!(controller.is_active("file_write") && !controller.is_active("file_read"));
/// # Ok::<(), toolyard_contract::PatternError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct ActivationController {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    state: RwLock<State>,
    version: AtomicU64,
}

#[derive(Debug, Default)]
struct State {
    rules: ActivationRules,
    exact: BTreeMap<String, ActivationMode>,
}

impl ActivationController {
    /// Makes a controller that starts with these rules.
    pub fn new(rules: ActivationRules) -> Self {
        let state = RwLock::new(State { rules, exact: BTreeMap::new() });
        Self { shared: Arc::new(Shared { state, version: AtomicU64::new(0) }) }
    }

    /// Tells whether the tool with this name is on.
    pub fn is_active(&self, name: &str) -> bool {
        self.shared.state.read().is_active(name)
    }

    /// Keeps the entries whose tool is on: schemas as listings return them, tools, or bare names.
    ///
    /// All are judged by one state, even when it is changed meanwhile. An entry without a name is
    /// dropped.
    pub fn filter<T: NamesTool>(&self, entries: impl IntoIterator<Item = T>) -> Vec<T> {
        let state = self.shared.state.read();
        entries
            .into_iter()
            .filter(|entry| entry.tool_name().is_some_and(|name| state.is_active(name)))
            .collect()
    }

    /// Switches the tool with exactly this name on; `*` and `[` mean themselves here.
    pub fn activate(&self, name: &str) {
        self.switch(name, ActivationMode::Activate);
    }

    /// Switches the tool with exactly this name off; `*` and `[` mean themselves here.
    pub fn deactivate(&self, name: &str) {
        self.switch(name, ActivationMode::Deactivate);
    }

    /// Forgets what was said about exactly this name, so that the rules decide again.
    pub fn forget(&self, name: &str) {
        self.change(|state| {
            state.exact.remove(name.trim());
        });
    }

    /// Replaces the rules and the default mode; what was said about exact names stays.
    pub fn set_rules(&self, rules: ActivationRules) {
        self.change(|state| state.rules = rules);
    }

    /// The rules and the default mode.
    pub fn rules(&self) -> ActivationRules {
        self.shared.state.read().rules.clone()
    }

    /// What decides now as one list of rules, exact names first, for writing it down.
    pub fn to_rules(&self) -> ActivationRules {
        let state = self.shared.state.read();
        let exact = state.exact.iter();
        let exact = exact.map(|(name, &mode)| ActivationRule { mode, pattern: ToolPattern::literal(name) });
        ActivationRules {
            default: state.rules.default,
            rules: exact.chain(state.rules.rules.iter().cloned()).collect(),
        }
    }

    /// Counts the changes made so far, so that a caller can tell whether an earlier answer still holds.
    pub fn version(&self) -> u64 {
        self.shared.version.load(Ordering::Acquire)
    }

    fn switch(&self, name: &str, mode: ActivationMode) {
        self.change(|state| {
            state.exact.insert(name.trim().to_owned(), mode);
        });
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.shared.state.write();
        change(&mut state);
        self.shared.version.fetch_add(1, Ordering::Release);
    }
}

impl State {
    fn is_active(&self, name: &str) -> bool {
        let mode = self.exact.get(name.trim()).copied();
        mode.unwrap_or_else(|| self.rules.mode_of(name)) == ActivationMode::Activate
    }
}

/// Something in a listing that stands for a tool.
pub trait NamesTool {
    /// The tool's name, where there is one.
    fn tool_name(&self) -> Option<&str>;
}

impl NamesTool for FunctionSchema {
    fn tool_name(&self) -> Option<&str> {
        Some(&self.name)
    }
}

impl NamesTool for ToolSpec {
    fn tool_name(&self) -> Option<&str> {
        Some(&self.name)
    }
}

impl NamesTool for SharedTool {
    fn tool_name(&self) -> Option<&str> {
        Some(&self.spec().name)
    }
}

impl NamesTool for String {
    fn tool_name(&self) -> Option<&str> {
        Some(self)
    }
}

impl NamesTool for &str {
    fn tool_name(&self) -> Option<&str> {
        Some(self)
    }
}

/// A schema as JSON: `{"name": …}`, or wrapped as `{"type": "function", "function": {"name": …}}`.
impl NamesTool for Value {
    fn tool_name(&self) -> Option<&str> {
        self.get("function").unwrap_or(self).get("name")?.as_str()
    }
}

#[cfg(test)]
mod tests;
