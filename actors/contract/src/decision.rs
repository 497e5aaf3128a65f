//! Whether one concrete call may overlap with others, and why.

use std::borrow::Cow;

use serde::{Serialize, Serializer};

/// Says whether a call may overlap with its neighbours. It explains one concrete call, not a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParallelDecision {
    /// True: the call may overlap.
    pub allowed: bool,
    /// Why, for people.
    pub reason: Cow<'static, str>,
    /// Why, for programs.
    pub category: ParallelCategory,
}

impl ParallelDecision {
    /// Lets the call overlap.
    pub fn allow(reason: impl Into<Cow<'static, str>>) -> Self {
        Self { allowed: true, reason: reason.into(), category: ParallelCategory::Allowed }
    }

    /// Keeps the call alone.
    pub fn refuse(category: ParallelCategory, reason: impl Into<Cow<'static, str>>) -> Self {
        Self { allowed: false, reason: reason.into(), category }
    }

    /// The rule for tools that do not decide by their arguments: a call that gets values from the
    /// runtime is kept alone, then one whose tool is not declared parallel-safe, else it may overlap.
    pub fn by_default(parallel_safe: bool, context: &DecisionContext) -> Self {
        if context.injected {
            Self::refuse(ParallelCategory::RuntimeInjected, "the call gets values from the runtime")
        } else if parallel_safe {
            Self::allow("the tool is declared parallel-safe")
        } else {
            Self::refuse(ParallelCategory::StatefulTool, "the tool is not declared parallel-safe")
        }
    }
}

/// The kinds of reason for a [`ParallelDecision`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParallelCategory {
    /// The call gets values from the runtime.
    RuntimeInjected,
    /// The tool is not declared parallel-safe.
    StatefulTool,
    /// The arguments decided.
    ArgsSensitive,
    /// Nothing forbids it.
    Allowed,
    /// A tool's own kind.
    Other(Cow<'static, str>),
}

impl ParallelCategory {
    /// The name used in documents.
    pub fn as_str(&self) -> &str {
        match self {
            Self::RuntimeInjected => "runtime_injected",
            Self::StatefulTool => "stateful_tool",
            Self::ArgsSensitive => "args_sensitive",
            Self::Allowed => "allowed",
            Self::Other(name) => name,
        }
    }
}

impl Serialize for ParallelCategory {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// What a decision may know beside the arguments.
#[derive(Clone, Copy, Debug, Default)]
pub struct DecisionContext {
    /// True: the runtime has values for parameters that the tool declares as injected.
    pub injected: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn injection_beats_the_flag_and_no_flag_means_alone() {
        let decide = |safe, injected| ParallelDecision::by_default(safe, &DecisionContext { injected });
        assert_eq!(decide(true, true).category, ParallelCategory::RuntimeInjected);
        assert_eq!(decide(false, false).category, ParallelCategory::StatefulTool);
        assert!(!decide(true, true).allowed && !decide(false, false).allowed);
        assert!(decide(true, false).allowed);
    }
}
