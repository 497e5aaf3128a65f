//! `[tools]`: which tools there are, and which of them are switched on.

use std::{collections::BTreeMap, path::PathBuf};

use serde::{Deserialize, Deserializer, Serialize};
use toolyard_actors::ToolLimits;
use toolyard_contract::{ActivationMode, ActivationRule, ActivationRules};

use super::engine::RateSection;

/// The `[tools]` part.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct ToolsSection {
    /// The built-in tools to have, by name or alias; `"all"` or `"none"`. Default: none where the configuration names
    /// Python files or MCP servers, else `calculator`, `file_read` and `file_write`, which stay inside `root`.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "names_or_word")]
    pub enable: Option<Vec<String>>,
    /// The folder that file tools never lead out of; a relative one starts at the folder of the
    /// configuration file. Default: the current folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub root: Option<PathBuf>,
    /// What holds for a tool that no rule speaks of. Default: `activate`.
    #[serde(skip_serializing_if = "is_activate")]
    pub default: ActivationMode,
    /// Limits of single tools, over what they say themselves. Default: none.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub limits: BTreeMap<String, ToolLimitsSection>,
    /// The rules, in order; the first that matches a tool's name decides. Default: none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rule: Vec<ActivationRule>,
}

/// `[tools.limits.NAME]`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct ToolLimitsSection {
    /// How many calls may run at once. Default: what the tool says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_in_flight: Option<usize>,
    /// How often a call may begin. Default: what the tool says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<RateSection>,
}

impl ToolsSection {
    /// The rules about which tools are on.
    pub fn activation(&self) -> ActivationRules {
        ActivationRules { default: self.default, rules: self.rule.clone() }
    }

    /// The limits of single tools.
    pub(super) fn limits(&self) -> impl Iterator<Item = (String, ToolLimits)> {
        self.limits.iter().map(|(name, said)| {
            let rate = said.rate.map(|rate| rate.0);
            (name.clone(), ToolLimits { max_in_flight: said.max_in_flight, rate })
        })
    }
}

impl ToolLimitsSection {
    pub(super) fn of(limits: &ToolLimits) -> Self {
        Self { max_in_flight: limits.max_in_flight, rate: limits.rate.map(RateSection) }
    }
}

/// A word that stands alone may be written as such.
fn names_or_word<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<String>>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "expected a list of names, \"all\" or \"none\"")]
    enum Said {
        Names(Vec<String>),
        Word(String),
    }
    Ok(Some(match Said::deserialize(deserializer)? {
        Said::Names(names) => names,
        Said::Word(word) => vec![word],
    }))
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde asks for a reference
fn is_activate(mode: &ActivationMode) -> bool {
    *mode == ActivationMode::Activate
}
