//! What a simulation comes to.

use std::{collections::BTreeMap, time::Duration};

use hdrhistogram::Histogram;
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::{
    scenario::{Pace, Scenario},
    world::WorldEnd,
};

/// What a simulation comes to.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Summary {
    /// The scenario's name.
    pub scenario: String,
    /// What all chance was drawn from.
    pub seed: u64,
    /// How fast time passed.
    pub time: Pace,
    /// How many agents there were.
    pub agents: u32,
    /// How many worlds they were dealt to.
    pub groups: u32,
    /// How many arbiters the worlds were dealt to.
    pub arbiters: usize,
    /// How many lists were run.
    pub lists: u64,
    /// How many lists were not taken, because too many were under way.
    pub overloaded: u64,
    /// How many calls were run.
    pub calls: u64,
    /// How they ended.
    pub outcomes: BTreeMap<&'static str, u64>,
    /// How long it took the machine, in seconds.
    pub elapsed_s: f64,
    /// Calls in a second of the machine's time.
    pub calls_per_s: f64,
    /// From a list's start to its last answer, in milliseconds of the scenario's time.
    pub list_ms: Quantiles,
    /// From a list's start to the start of a call's work.
    pub wait_ms: Quantiles,
    /// From the start of a call's work to its end.
    pub run_ms: Quantiles,
    /// How evenly the agents got on: Jain's index over the lists that each of them ended, from 1/agents (one had them
    /// all) to 1 (all had the same number).
    pub fairness: f64,
    /// How many rows of state there were at the end.
    pub rows: u64,
    /// The SHA-256 of all states at the end.
    pub states_sha256: String,
    /// The most memory that the process has had, in bytes; absent where the system does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peak_memory_bytes: Option<u64>,
}

/// How a quantity is spread.
#[derive(Clone, Copy, Debug, Serialize)]
#[non_exhaustive]
pub struct Quantiles {
    /// The mean.
    pub mean: f64,
    /// Half of all are at most this.
    pub p50: f64,
    /// 90 of 100 are at most this.
    pub p90: f64,
    /// 99 of 100 are at most this.
    pub p99: f64,
    /// 999 of 1,000 are at most this.
    pub p999: f64,
    /// The largest.
    pub max: f64,
}

impl Quantiles {
    /// Of microseconds, in milliseconds.
    fn of(histogram: &Histogram<u64>) -> Self {
        #[expect(clippy::cast_precision_loss, reason = "three digits are kept")]
        let ms = |micros: u64| micros as f64 / 1_000.0;
        let at = |quantile| ms(histogram.value_at_quantile(quantile));
        let mean = (histogram.mean()).round() / 1_000.0;
        Self { mean, p50: at(0.5), p90: at(0.9), p99: at(0.99), p999: at(0.999), max: ms(histogram.max()) }
    }
}

impl Summary {
    pub(super) fn of(scenario: &Scenario, arbiters: usize, elapsed: Duration, ends: Vec<WorldEnd>) -> Self {
        let mut counts = super::count::Counts::default();
        let (mut overloaded, mut rows, mut states, mut done) = (0, 0, Sha256::new(), Vec::new());
        for end in ends {
            counts.add(&end.counts);
            overloaded += end.overloaded;
            rows += end.rows;
            end.states.iter().for_each(|state| states.update(state));
            done.extend(end.done);
        }
        let calls = counts.outcomes.values().sum();
        let states: [u8; 32] = states.finalize().into();
        #[expect(clippy::cast_precision_loss, reason = "a rate needs no exact counts")]
        let calls_per_s = (calls as f64 / elapsed.as_secs_f64()).round();
        Self {
            scenario: scenario.name.clone(),
            seed: scenario.seed,
            time: scenario.time,
            agents: scenario.agents,
            groups: scenario.groups,
            arbiters,
            lists: counts.lists,
            overloaded,
            calls,
            elapsed_s: elapsed.as_secs_f64(),
            calls_per_s,
            list_ms: Quantiles::of(&counts.listed),
            wait_ms: Quantiles::of(&counts.waited),
            run_ms: Quantiles::of(&counts.ran),
            outcomes: counts.outcomes,
            fairness: jain(&done),
            rows,
            states_sha256: hex(&states),
            peak_memory_bytes: peak_memory(),
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    let digit = |half: u8| char::from_digit(half.into(), 16).unwrap_or('0');
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// Jain's fairness index: the square of the sum over n times the sum of the squares.
fn jain(shares: &[u32]) -> f64 {
    let sum: f64 = shares.iter().map(|&share| f64::from(share)).sum();
    let squares: f64 = shares.iter().map(|&share| f64::from(share).powi(2)).sum();
    #[expect(clippy::cast_precision_loss, reason = "there are at most 2^32 agents")]
    let agents = shares.len() as f64;
    if squares == 0.0 { 1.0 } else { sum.powi(2) / (agents * squares) }
}

/// The peak of resident memory, from Linux's `/proc`.
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.split_whitespace().next()?.parse::<u64>().ok()? * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fairness_is_one_among_equals_and_a_share_where_one_has_all() {
        let is = |shares: &[u32], expected: f64| (jain(shares) - expected).abs() < 1e-9;
        assert!(is(&[5, 5, 5, 5], 1.0));
        assert!(is(&[7, 0, 0, 0], 0.25));
        assert!(is(&[], 1.0) && is(&[0, 0], 1.0));
    }

    #[test]
    fn this_process_has_had_some_memory() {
        assert!(peak_memory().unwrap() > 1_000_000);
    }
}
