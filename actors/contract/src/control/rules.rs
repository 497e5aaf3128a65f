//! Ordered rules about which tools are on.

use serde::{Deserialize, Serialize};

use super::{PatternError, ToolPattern};

/// On or off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ActivationMode {
    /// The tool is listed and can be called.
    #[default]
    Activate,
    /// The tool is neither listed nor called.
    Deactivate,
}

/// One rule: what it says, and of which names.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ActivationRule {
    /// On or off.
    pub mode: ActivationMode,
    /// The names that it speaks of.
    pub pattern: ToolPattern,
}

impl ActivationRule {
    /// Makes a rule.
    ///
    /// # Errors
    /// When the pattern cannot be read.
    pub fn new(mode: ActivationMode, pattern: impl Into<String>) -> Result<Self, PatternError> {
        Ok(Self { mode, pattern: ToolPattern::new(pattern)? })
    }
}

/// An ordered list of rules; the first that matches decides.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ActivationRules {
    /// What holds for a name that no rule speaks of. Default: on.
    pub default: ActivationMode,
    /// The rules, in order. Default: none.
    pub rules: Vec<ActivationRule>,
}

impl ActivationRules {
    /// What the rules say of a name.
    pub fn mode_of(&self, name: &str) -> ActivationMode {
        let rule = self.rules.iter().find(|rule| rule.pattern.matches(name));
        rule.map_or(self.default, |rule| rule.mode)
    }
}
