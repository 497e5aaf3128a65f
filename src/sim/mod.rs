//! Simulations: many agents on an engine whose tools pretend.
//!
//! A [`Scenario`] says how many agents there are, when they call what, and how their calls go. All chance comes from
//! its seed, and virtual time stands still while there is something to do, so a simulation goes the same way each
//! time: same [log](Simulation::log), same states. Agents can be dealt to worlds that share nothing; worlds run at the
//! same time on several arbiters, and that changes nothing either.

use serde::Serialize;

mod book;
mod chance;
mod count;
mod delay;
mod host;
mod log;
mod progress;
mod run;
mod scenario;
mod summary;
mod template;
mod tools;
mod world;

pub use self::{
    delay::Delay,
    progress::SimHandle,
    run::{Outcome as SimOutcome, Simulation},
    scenario::{CallModel, ListModel, Pace, Scenario, ToolKind, ToolModel},
    summary::{Quantiles, Summary},
    template::Template,
};

/// Where a log departs from one that was written before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The line, counted from 1.
    pub line: u64,
    /// What was written before; absent behind its end.
    pub then: Option<String>,
    /// What happened this time; absent behind its end.
    pub now: Option<String>,
}

/// Why a simulation did not run to its end.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SimError {
    /// The scenario cannot be simulated.
    #[error("{0}")]
    Scenario(String),
    /// The engine went away.
    #[error("the engine: {0}")]
    Engine(String),
    /// A log cannot be written or read.
    #[error("{what}: {reason}")]
    Log {
        /// Which file.
        what: String,
        /// What is wrong with it.
        reason: String,
    },
}
