//! What is simulated.

use std::{collections::BTreeSet, fs, path::Path, time::Duration};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{SimError, delay::Delay, template::Template};
use crate::config::{EngineSection, Seconds, ToolLimitsSection};

/// A simulation as a scenario file has it.
///
/// ```
/// use toolyard::sim::Scenario;
///
/// let scenario = Scenario::parse(r#"
///     name = "polite queue"
///     agents = 100
///     duration_s = 60
///     think = { exponential_ms = 2_000 }
///
///     [[tool]]
///     name = "search"
///     latency = { lognormal_ms = { median = 80, sigma = 0.5 } }
///     fails = 0.01
///     limits = { max_in_flight = 4 }
///
///     [[list]]
///     calls = [{ tool = "search", arguments = { query = "{pick tea coffee}" } }]
/// "#)?;
/// assert_eq!(scenario.agents, 100);
/// let error = Scenario::parse("agents = 1\nduration_s = 1\nthink = 5").unwrap_err();
/// assert!(error.to_string().contains("think"), "{error}");
/// # Ok::<(), toolyard::sim::SimError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Scenario {
    /// What it is called in the summary. Default: empty.
    #[serde(default)]
    pub name: String,
    /// What all chance is drawn from. Default 0.
    #[serde(default)]
    pub seed: u64,
    /// How many agents there are; they are named `agent-0` and so on.
    pub agents: u32,
    /// How many worlds the agents are dealt to. Worlds have tools and states of their own, and run at the same time
    /// when there are several arbiters. Default 1: all agents share everything.
    #[serde(default = "one")]
    pub groups: u32,
    /// How long agents begin new lists, in seconds of the scenario's time. Lists under way then are run to their end.
    pub duration_s: Seconds,
    /// How many lists one agent begins at most. Default: as many as there is time for.
    #[serde(default)]
    pub lists_per_agent: Option<u32>,
    /// How fast time passes. Default `virtual`.
    #[serde(default)]
    pub time: Pace,
    /// When an agent begins its first list. Default: like `think`.
    #[serde(default)]
    pub first: Option<Delay>,
    /// How long an agent thinks from the end of a list to the next.
    pub think: Delay,
    /// The engine's settings, as in `toolyard.toml`.
    #[serde(default)]
    pub engine: EngineSection,
    /// The tools.
    #[serde(default, rename = "tool")]
    pub tools: Vec<ToolModel>,
    /// The lists that agents choose from.
    #[serde(rename = "list")]
    pub lists: Vec<ListModel>,
}

/// How fast time passes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pace {
    /// As fast as the machine allows: when nothing is left to do at a moment, it is the next moment at which there is.
    #[default]
    Virtual,
    /// As fast as clocks go.
    Real,
}

/// A simulated tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct ToolModel {
    /// Its name.
    pub name: String,
    /// How many of its kind there are: `name_0` and so on. Default: one, with the bare name.
    #[serde(default)]
    pub copies: Option<u32>,
    /// What it does. Default `reply`.
    #[serde(default)]
    pub kind: ToolKind,
    /// Whether its calls may overlap. Default true.
    #[serde(default = "yes")]
    pub parallel_safe: bool,
    /// Whether a call may be tried again. Default false.
    #[serde(default)]
    pub idempotent: bool,
    /// How long a call takes. Default: no time.
    #[serde(default)]
    pub latency: Option<Delay>,
    /// The share of calls that fail, from 0 to 1. Default 0.
    #[serde(default)]
    pub fails: f64,
    /// The share of calls that never end. Default 0.
    #[serde(default)]
    pub hangs: f64,
    /// The share of calls that panic. Default 0.
    #[serde(default)]
    pub panics: f64,
    /// How long a call may take, in seconds. Default: the engine's.
    #[serde(default)]
    pub timeout_s: Option<Seconds>,
    /// Its limits, as in `toolyard.toml`.
    #[serde(default)]
    pub limits: ToolLimitsSection,
}

/// What a simulated tool does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolKind {
    /// Gives back its arguments.
    #[default]
    Reply,
    /// Counts the calls of each agent and adds up their `amount`.
    Tally,
    /// Keeps an order book that all agents share: `{"side": "buy" | "sell", "price", "quantity"}` matches what
    /// crosses and keeps the rest.
    Book,
}

/// A list that agents choose.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct ListModel {
    /// How often it is chosen, relative to the others. Default 1.
    #[serde(default = "one")]
    pub weight: u32,
    /// Its calls.
    pub calls: Vec<CallModel>,
}

/// A call with places to be filled in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct CallModel {
    /// The tool.
    pub tool: Template,
    /// The arguments; text in them may have places: `{agent}`, `{list}`, `{int FROM TO}`, `{pick A B …}`.
    #[serde(default)]
    pub arguments: Value,
}

fn one() -> u32 {
    1
}

fn yes() -> bool {
    true
}

impl Scenario {
    /// Reads a scenario.
    ///
    /// # Errors
    /// Names the key that is unknown or has a value that cannot be.
    pub fn parse(text: &str) -> Result<Self, SimError> {
        let scenario: Self = toml::from_str(text).map_err(|error| SimError::Scenario(error.to_string()))?;
        scenario.check().map_err(SimError::Scenario)?;
        Ok(scenario)
    }

    /// Reads a scenario file.
    ///
    /// # Errors
    /// As [`parse`](Self::parse), and when the file cannot be read; both name the file.
    pub fn load(file: &Path) -> Result<Self, SimError> {
        let named = |reason: String| SimError::Scenario(format!("{}: {reason}", file.display()));
        let text = fs::read_to_string(file).map_err(|error| named(error.to_string()))?;
        Self::parse(&text).map_err(|error| named(error.to_string()))
    }

    /// Checks what single keys cannot tell.
    pub(super) fn check(&self) -> Result<(), String> {
        if self.agents == 0 {
            return Err("`agents` must be at least 1".to_owned());
        }
        if self.groups == 0 || self.groups > self.agents {
            return Err(format!("`groups` must be from 1 to `agents` ({})", self.agents));
        }
        if self.lists.iter().all(|list| list.weight == 0) {
            return Err("`list` needs at least one list with a weight above 0".to_owned());
        }
        let mut names = BTreeSet::new();
        for tool in &self.tools {
            tool.check()?;
            for name in tool.names() {
                if !names.insert(name.clone()) {
                    return Err(format!("`tool`: two tools are named {name:?}"));
                }
            }
        }
        let calls = self.lists.iter().flat_map(|list| &list.calls);
        calls
            .map(CallModel::arguments)
            .find_map(Result::err)
            .map_or(Ok(()), |reason| Err(format!("`list.calls.arguments`: {reason}")))
    }

    pub(super) fn duration(&self) -> Duration {
        self.duration_s.0
    }
}

impl CallModel {
    pub(super) fn arguments(&self) -> Result<Template, String> {
        let text = if self.arguments.is_null() { "{}".to_owned() } else { self.arguments.to_string() };
        Template::of_json(&text)
    }
}

impl ToolModel {
    fn check(&self) -> Result<(), String> {
        let wrong = |key: &str, reason: &str| Err(format!("tool {:?}: `{key}` {reason}", self.name));
        for (key, share) in [("fails", self.fails), ("hangs", self.hangs), ("panics", self.panics)] {
            if !(0.0..=1.0).contains(&share) {
                return wrong(key, "must be from 0 to 1");
            }
        }
        if self.fails + self.hangs + self.panics > 1.0 {
            return wrong("fails", "`hangs` and `panics` may be 1 together at most");
        }
        if self.copies == Some(0) {
            return wrong("copies", "must be at least 1");
        }
        let waits = self.latency.is_some() || self.hangs > 0.0;
        if self.kind == ToolKind::Book && waits {
            return wrong(
                "kind",
                "`book` changes its book in place and takes no time: no `latency`, no `hangs`",
            );
        }
        Ok(())
    }

    /// The names of all copies.
    pub(super) fn names(&self) -> Vec<String> {
        match self.copies {
            None => vec![self.name.clone()],
            Some(copies) => (0..copies).map(|copy| format!("{}_{copy}", self.name)).collect(),
        }
    }
}
