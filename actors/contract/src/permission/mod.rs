//! What a call wants to do, and who may say whether it may.

mod doubt;
mod policy;
mod rules;

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Failure, glob::literal};

pub use self::{
    doubt::literal_head,
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

impl PermissionCheck {
    /// Refuses a call that would touch another resource than the one that was judged.
    pub fn changed_to(&self, resource: &str) -> Failure {
        let Self { action, resource: judged } = self;
        Failure::denied(format!(
            "not permitted: what it names has changed since it was judged: {action} was permitted on {judged:?}, \
             and this is {resource:?} now; call it again to have that judged"
        ))
    }
}

/// As the two keys of a rule that speaks of exactly this, ready to paste into a configuration file:
/// `action = 'pay', resource = '\{"amount":1000\}'`.
impl fmt::Display for PermissionCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (action, resource) = (literal(&self.action), literal(&self.resource));
        write!(f, "action = {}, resource = {}", TomlText(&action), TomlText(&resource))
    }
}

/// A TOML string: between single quotes, where nothing has a meaning, if that can be.
struct TomlText<'a>(&'a str);

impl fmt::Display for TomlText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.0.contains(|c: char| c == '\'' || c.is_control()) {
            return write!(f, "'{}'", self.0);
        }
        f.write_str("\"")?;
        for c in self.0.chars() {
            match c {
                '"' | '\\' => write!(f, "\\{c}")?,
                c if c.is_control() => write!(f, "\\u{:04X}", u32::from(c))?,
                c => write!(f, "{c}")?,
            }
        }
        f.write_str("\"")
    }
}

/// What a projection or a policy may know beside the call itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct PermissionContext<'a> {
    /// The agent that calls.
    pub agent: Option<&'a str>,
    /// The kinds of effect that the tool says it has; `None` when it says nothing.
    pub effects: Option<&'a [String]>,
    /// The parameters that the runtime has filled in: their values may be secrets, and are not shown.
    pub filled: &'a [String],
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
