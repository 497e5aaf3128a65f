//! What a call wants to do, and who may say whether it may.

mod policy;
mod rules;

use serde::{Deserialize, Serialize};

pub use self::{
    policy::{Judgement, PermissionPolicy},
    rules::{CompiledRule, PermissionRule, PermissionRules, RuleError, RulePolicy},
};

/// One call projected to an action on a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PermissionCheck {
    /// What is done (`file.write`).
    pub action: String,
    /// To what: a path, a URL, or the canonical arguments.
    pub resource: String,
}

/// What a projection or a policy may know beside the call itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct PermissionContext<'a> {
    /// The agent that calls.
    pub agent: Option<&'a str>,
    /// The kinds of effect that the tool says it has; `None` when it says nothing.
    pub effects: Option<&'a [String]>,
}

/// What a policy says to a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It runs.
    #[default]
    Allow,
    /// It waits until somebody approves it.
    Ask,
    /// It is refused.
    Deny,
}

impl Verdict {
    /// The name used in documents.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

/// A verdict with what led to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PermissionDecision {
    /// What the policy says.
    pub verdict: Verdict,
    /// What decided, in words that people can find again: `rule 2: ask file.write *`.
    pub rule: String,
}

impl PermissionDecision {
    /// Makes a decision.
    pub fn new(verdict: Verdict, rule: impl Into<String>) -> Self {
        Self { verdict, rule: rule.into() }
    }
}
