//! `[engine]`: what may run at once, and for how long.

use std::{
    collections::BTreeMap,
    num::NonZeroU32,
    path::{Path, PathBuf},
    time::Duration,
};

use serde::{Deserialize, Serialize};
use toolyard_actors::{AgentLimits, Limits, RetryPolicy, YardConfig};
use toolyard_contract::Rate;

use super::seconds::Seconds;

/// The `[engine]` part. A key that is absent has the engine's default.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct EngineSection {
    /// How long one call may take, in seconds from the start of its work. 0: no limit. Default 300.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_s: Option<Seconds>,
    /// How long a whole list may take, in seconds. 0 and default: no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline_s: Option<Seconds>,
    /// How many calls may run at once. Default 16,384: a call that waits costs about 1 KB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_in_flight: Option<usize>,
    /// How many calls may occupy a thread of the blocking pool. Default 64: threads mostly wait.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_blocking: Option<usize>,
    /// How many lists may be under way. Default 10,000.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_lists: Option<usize>,
    /// How long a call or a list waits to be admitted, in seconds. Default 30.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub admission_timeout_s: Option<Seconds>,
    /// How many threads with a mailbox loop there are. Default 1: more pay only when tools compute.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arbiters: Option<usize>,
    /// How deep lists may be nested that tools submit themselves. Default 4.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub child_depth: Option<usize>,
    /// How long a text of a result may be, in bytes, before it is cut; the whole is then in a file
    /// that `detail.full` names. Default 1,000,000.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_result_bytes: Option<usize>,
    /// The folder of these files; a relative one starts at the folder of the configuration. Default: for the program
    /// `toolyard/results` in the state directory, for an engine in Rust a temporary one that goes with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overflow_dir: Option<PathBuf>,
    /// How old these files may be when an engine starts, in seconds. Default 604,800: 7 days.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overflow_max_age_s: Option<Seconds>,
    /// How many bytes these files may take together when an engine starts. Default 1,073,741,824.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overflow_max_bytes: Option<u64>,
    /// Forgets agents that have had no list under way for so many seconds: their rows, sessions and what was approved for
    /// them. 0 and default: never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forget_idle_agents_s: Option<Seconds>,
    /// When calls of idempotent tools are tried again. Default: never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry: Option<RetrySection>,
    /// What each agent may take that has no limits of its own. Default: no limit but the engine's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentSection>,
    /// What agents with these ids may take. Default: none has limits of its own.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub agents: BTreeMap<String, AgentSection>,
}

/// `[engine.retry]`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct RetrySection {
    /// How often a call is tried in all. Default 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempts: Option<u32>,
    /// The longest pause before the second try, in seconds; it doubles with each. Default 0.2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_delay_s: Option<Seconds>,
    /// The longest pause of all, in seconds. Default 10.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_delay_s: Option<Seconds>,
}

/// `[engine.agent]` and `[engine.agents.ID]`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct AgentSection {
    /// How many of its calls may be under way. Default: no limit but the engine's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_in_flight: Option<usize>,
    /// How often a call of it may be admitted. Default: no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<RateSection>,
    /// How many calls it gets in one turn where several agents wait. Default 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<NonZeroU32>,
}

/// `{ calls = 10, per_s = 1 }`: at most so many calls in so many seconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "RawRate", into = "RawRate")]
pub struct RateSection(pub Rate);

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRate {
    calls: u32,
    per_s: Seconds,
}

impl TryFrom<RawRate> for RateSection {
    type Error = &'static str;

    fn try_from(RawRate { calls, per_s }: RawRate) -> Result<Self, Self::Error> {
        Rate::new(calls, per_s.0).map(Self).ok_or("a rate needs at least one call in more than no time")
    }
}

impl From<RateSection> for RawRate {
    fn from(RateSection(rate): RateSection) -> Self {
        Self { calls: rate.calls.get(), per_s: Seconds(rate.per) }
    }
}

impl EngineSection {
    /// Lets relative paths start at `folder`.
    pub(super) fn start_at(&mut self, folder: &Path) {
        if let Some(kept) = &mut self.overflow_dir {
            *kept = folder.join(&*kept);
        }
    }

    /// Changes the settings that the file names.
    pub(super) fn apply(&self, config: &mut YardConfig) {
        let limit = |seconds: Seconds| (seconds.0 > Duration::ZERO).then_some(seconds.0);
        config.timeout = self.timeout_s.map_or(config.timeout, limit);
        config.deadline = self.deadline_s.map_or(config.deadline, limit);
        config.forget_idle_agents = self.forget_idle_agents_s.map_or(config.forget_idle_agents, limit);
        set(&mut config.arbiters, self.arbiters);
        set(&mut config.child_depth, self.child_depth);
        set(&mut config.max_result_bytes, self.max_result_bytes);
        config.overflow.folder = self.overflow_dir.clone().or(config.overflow.folder.take());
        set(&mut config.overflow.max_age, self.overflow_max_age_s.map(|seconds| seconds.0));
        set(&mut config.overflow.max_bytes, self.overflow_max_bytes);
        let limits = &mut config.limits;
        set(&mut limits.max_in_flight, self.max_in_flight);
        set(&mut limits.max_blocking, self.max_blocking);
        set(&mut limits.max_lists, self.max_lists);
        set(&mut limits.admission_timeout, self.admission_timeout_s.map(|seconds| seconds.0));
        if let Some(retry) = &self.retry {
            set(&mut config.retry.attempts, retry.attempts);
            set(&mut config.retry.first_delay, retry.first_delay_s.map(|seconds| seconds.0));
            set(&mut config.retry.max_delay, retry.max_delay_s.map(|seconds| seconds.0));
        }
        if let Some(agent) = &self.agent {
            limits.agent = agent.limits();
        }
        let agents = self.agents.iter().map(|(id, agent)| (id.clone(), agent.limits()));
        limits.agents.extend(agents);
    }

    /// Writes down the settings that differ from the defaults.
    pub(super) fn of(config: &YardConfig) -> Self {
        let default = YardConfig::default();
        let seconds = |limit: Option<Duration>| Seconds(limit.unwrap_or_default());
        let Limits { max_in_flight, max_blocking, max_lists, admission_timeout, agent, agents, .. } =
            &config.limits;
        Self {
            timeout_s: changed(&config.timeout, &default.timeout).map(|&limit| seconds(limit)),
            deadline_s: changed(&config.deadline, &default.deadline).map(|&limit| seconds(limit)),
            forget_idle_agents_s: changed(&config.forget_idle_agents, &default.forget_idle_agents)
                .map(|&limit| seconds(limit)),
            max_in_flight: changed(max_in_flight, &default.limits.max_in_flight).copied(),
            max_blocking: changed(max_blocking, &default.limits.max_blocking).copied(),
            max_lists: changed(max_lists, &default.limits.max_lists).copied(),
            admission_timeout_s: changed(admission_timeout, &default.limits.admission_timeout)
                .copied()
                .map(Seconds),
            arbiters: changed(&config.arbiters, &default.arbiters).copied(),
            child_depth: changed(&config.child_depth, &default.child_depth).copied(),
            max_result_bytes: changed(&config.max_result_bytes, &default.max_result_bytes).copied(),
            overflow_dir: config.overflow.folder.clone(),
            overflow_max_age_s: changed(&config.overflow.max_age, &default.overflow.max_age)
                .copied()
                .map(Seconds),
            overflow_max_bytes: changed(&config.overflow.max_bytes, &default.overflow.max_bytes).copied(),
            retry: changed(&config.retry, &default.retry).map(RetrySection::of),
            agent: changed(agent, &default.limits.agent).map(AgentSection::of),
            agents: agents.iter().map(|(id, limits)| (id.clone(), AgentSection::of(limits))).collect(),
        }
    }
}

impl RetrySection {
    fn of(policy: &RetryPolicy) -> Self {
        Self {
            attempts: Some(policy.attempts),
            first_delay_s: Some(Seconds(policy.first_delay)),
            max_delay_s: Some(Seconds(policy.max_delay)),
        }
    }
}

impl AgentSection {
    fn limits(&self) -> AgentLimits {
        AgentLimits {
            max_in_flight: self.max_in_flight,
            rate: self.rate.map(|rate| rate.0),
            weight: self.weight.unwrap_or(NonZeroU32::MIN),
        }
    }

    fn of(limits: &AgentLimits) -> Self {
        Self {
            max_in_flight: limits.max_in_flight,
            rate: limits.rate.map(RateSection),
            weight: changed(&limits.weight, &NonZeroU32::MIN).copied(),
        }
    }
}

fn set<T>(setting: &mut T, said: Option<T>) {
    if let Some(value) = said {
        *setting = value;
    }
}

/// The value, where it is not the default.
fn changed<'a, T: PartialEq>(value: &'a T, default: &T) -> Option<&'a T> {
    (value != default).then_some(value)
}
