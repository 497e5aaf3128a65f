//! What can be said of a simulation.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

#[derive(Args, Debug)]
pub(crate) struct SimOptions {
    /// What is simulated
    pub(crate) scenario: PathBuf,
    /// What all chance is drawn from [default: the scenario's]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// How fast time passes [default: the scenario's]
    #[arg(long, value_enum)]
    pub(crate) time: Option<PaceOption>,
    /// How many agents there are [default: the scenario's]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) agents: Option<u32>,
    /// How many arbiters the scenario's groups are dealt to
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) arbiters: usize,
    /// Writes what happens to FILE, an event on each line
    #[arg(long, value_name = "FILE")]
    pub(crate) events: Option<PathBuf>,
    /// Compares what happens with the events of an earlier run; a difference makes the exit status 1
    #[arg(long, value_name = "FILE")]
    pub(crate) replay: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum PaceOption {
    Virtual,
    Real,
}
