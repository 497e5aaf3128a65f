//! The calls that a list is nested in, and what it has from them.

use std::sync::Arc;

use toolyard_contract::{RowKey, RunId, ToolPattern};

use super::catalog::Catalog;

/// Where a list comes from.
#[derive(Clone, Default)]
pub(crate) struct Ancestry {
    /// How many calls it is nested in.
    pub(crate) depth: usize,
    /// The rows on which those are at work, by tool.
    pub(crate) held: Vec<(String, RowKey)>,
    /// The call that submitted it.
    pub(crate) parent: Option<(RunId, usize)>,
    /// The tools that were declared for the lists around it: the same actors and rows, not others like them.
    pub(crate) guests: Option<Arc<Catalog>>,
    /// Patterns of the tools that it may call; each list of them was set by a call around it, and all count.
    pub(crate) only: Vec<Arc<[ToolPattern]>>,
}
