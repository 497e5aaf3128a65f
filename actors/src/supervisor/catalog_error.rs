//! Why the catalogue does not change.

use toolyard_contract::AliasCycle;

/// A tool that cannot be registered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CatalogError {
    /// The name is blank.
    #[error("a tool has a blank name")]
    BlankName,
    /// Another tool has this name, or one that differs only in case.
    #[error("tool {name:?}: the name is taken by {taken_by:?} (names are compared without case)")]
    NameTaken {
        /// The name of the tool that came later.
        name: String,
        /// The name of the tool that was there.
        taken_by: String,
    },
    /// A schema of the tool is not a usable JSON Schema.
    #[error("tool {name:?}: its {which} schema cannot be used: {reason}")]
    BadSchema {
        /// The tool.
        name: String,
        /// `input` or `output`.
        which: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// An alias that leads back to itself.
    #[error(transparent)]
    AliasCycle(#[from] AliasCycle),
    /// The code of a tool panicked when it was asked what it is.
    #[error("a tool panicked when it was asked what it is: {reason}")]
    Panicked {
        /// What the panic says.
        reason: String,
    },
    /// A name that no tool has.
    #[error("no tool is named {name:?}")]
    Unknown {
        /// The name as given.
        name: String,
    },
}

impl CatalogError {
    /// The name of the tool that is the matter, where it has one.
    pub fn tool(&self) -> Option<&str> {
        match self {
            Self::NameTaken { name, .. } | Self::BadSchema { name, .. } | Self::Unknown { name } => {
                Some(name)
            }
            Self::BlankName | Self::AliasCycle(_) | Self::Panicked { .. } => None,
        }
    }
}
