use std::{collections::HashMap, fmt, sync::Arc};

use toolyard_contract::{Tool, name};

/// Says what happens to custom tools that no name asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CustomTail {
    /// They are appended, in their order (the default): names narrow the shipped tools only.
    #[default]
    Append,
    /// They are left out.
    Omit,
}

/// The tools that a list of names stands for, and the names that stand for none.
#[derive(Default)]
pub struct Resolution {
    /// The tools, in the order of the names.
    pub tools: Vec<Arc<dyn Tool>>,
    /// Names as given that no tool has.
    pub missing: Vec<String>,
    /// Tools that cannot be made.
    pub failed: Vec<FailedTool>,
}

impl fmt::Debug for Resolution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tools: Vec<_> = self.tools.iter().map(|tool| &tool.spec().name).collect();
        f.debug_struct("Resolution")
            .field("tools", &tools)
            .field("missing", &self.missing)
            .field("failed", &self.failed)
            .finish()
    }
}

/// A tool that cannot be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedTool {
    /// The name as given.
    pub name: String,
    /// Why not, for people.
    pub reason: String,
}

/// Custom tools by name: of two with one name the later, in the place of the earlier.
pub(super) struct CustomTools {
    pub(super) tools: Vec<Arc<dyn Tool>>,
    positions: HashMap<String, usize>,
}

impl CustomTools {
    pub(super) fn new(given: impl IntoIterator<Item = Arc<dyn Tool>>) -> Self {
        let mut custom = Self { tools: Vec::new(), positions: HashMap::new() };
        for tool in given {
            let next = custom.tools.len();
            let position = *custom.positions.entry(name::key(&tool.spec().name).into_owned()).or_insert(next);
            if position == next {
                custom.tools.push(tool);
            } else {
                custom.tools[position] = tool;
            }
        }
        custom
    }

    pub(super) fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.positions.get(&*name::key(name)).map(|&position| &self.tools[position])
    }
}
