//! Simulations from their start to their summary.

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
    thread,
    time::Instant,
};

use actix::System;
use futures::{StreamExt, stream::FuturesUnordered};
use toolyard_contract::SharedTool;

use super::{
    Difference, SimError,
    host::HostTools,
    log::{LogStream, Merged},
    progress::SimHandle,
    scenario::{Pace, Scenario},
    summary::Summary,
    world::{World, WorldEnd},
};

/// A simulation that can be run.
///
/// ```
/// use toolyard::sim::{Scenario, Simulation};
///
/// let scenario = Scenario::parse(r#"
///     agents = 50
///     duration_s = 600
///     think = { exponential_ms = 5_000 }
///     tool = [{ name = "search", latency = { constant_ms = 20 }, fails = 0.1 }]
///     list = [{ calls = [{ tool = "search", arguments = { page = "{int 1 9}" } }] }]
/// "#)?;
/// let end = Simulation::new(scenario).run()?;
/// assert!(end.summary.outcomes["ok"] > end.summary.outcomes["failed"]);
/// assert!((19.9..20.1).contains(&end.summary.run_ms.p50));
/// # Ok::<(), toolyard::sim::SimError>(())
/// ```
#[must_use = "a simulation does nothing until it is run"]
pub struct Simulation {
    scenario: Arc<Scenario>,
    arbiters: usize,
    host: Option<HostTools>,
    log: Option<PathBuf>,
    replay: Option<PathBuf>,
    handle: SimHandle,
}

/// How a simulation ended.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Outcome {
    /// What it comes to.
    pub summary: Summary,
    /// Where it departed from the log that it was to repeat.
    pub difference: Option<Difference>,
    /// Why the log was not written, or not wholly, or could not be compared: the simulation ran all the same.
    pub unwritten: Option<SimError>,
}

impl Simulation {
    /// Makes a simulation of `scenario`, on one arbiter and without a log.
    pub fn new(scenario: Scenario) -> Self {
        Self {
            scenario: Arc::new(scenario),
            arbiters: 1,
            host: None,
            log: None,
            replay: None,
            handle: SimHandle::default(),
        }
    }

    /// Sets how many arbiters the worlds are dealt to. Default 1; more than there are worlds are of no use.
    pub fn arbiters(mut self, arbiters: usize) -> Self {
        self.arbiters = arbiters.max(1);
        self
    }

    /// Adds tools of the host to each world, which is named by its number. For a simulation that goes the same way
    /// each time they must take their time from tokio and their chance from their arguments.
    pub fn host_tools(mut self, tools: impl Fn(u32) -> Vec<SharedTool> + Send + Sync + 'static) -> Self {
        self.host = Some(Arc::new(tools));
        self
    }

    /// Writes all that happens to a file: an [`EventRecord`](crate::events::EventRecord) on each line, with a `group`
    /// where there are several worlds.
    pub fn log(mut self, file: impl Into<PathBuf>) -> Self {
        self.log = Some(file.into());
        self
    }

    /// Compares all that happens with the log of an earlier run.
    pub fn replay(mut self, file: impl Into<PathBuf>) -> Self {
        self.replay = Some(file.into());
        self
    }

    /// A handle to look at the simulation from other threads.
    pub fn handle(&self) -> SimHandle {
        self.handle.clone()
    }

    /// Runs the simulation; the calling thread waits.
    ///
    /// # Errors
    /// When the scenario's tools cannot be registered, or the simulation did not run to its end. That a log cannot be
    /// written or read is told beside the summary.
    pub fn run(self) -> Result<Outcome, SimError> {
        // It may have been changed since it was read.
        self.scenario.check().map_err(SimError::Scenario)?;
        let logged = self.log.is_some() || self.replay.is_some();
        let arbiters = self.arbiters.min(self.scenario.groups as usize);
        let streams: Vec<Option<Arc<LogStream>>> = (0..arbiters)
            .map(|_| logged.then(LogStream::new).transpose().map(|stream| stream.map(Arc::new)))
            .collect::<Result<_, _>>()
            .map_err(|error| log_error(&std::env::temp_dir(), &error))?;
        let began = Instant::now();
        let mut ends = self.run_worlds(&streams)?;
        let elapsed = began.elapsed();
        if let Some(error) = self.handle.0.failure() {
            return Err(error);
        }
        ends.sort_by_key(|(group, _)| *group);
        let ends = ends.into_iter().map(|(_, end)| end).collect();
        let summary = Summary::of(&self.scenario, arbiters, elapsed, ends);
        let merged = |file: &Path| {
            Merged::of(streams.iter().flatten().map(|stream| &**stream))
                .map_err(|error| log_error(file, &error))
        };
        let written = self
            .log
            .as_ref()
            .map_or(Ok(()), |file| merged(file)?.write(file).map_err(|error| log_error(file, &error)));
        let compared = self
            .replay
            .as_ref()
            .map_or(Ok(None), |file| merged(file)?.compare(file).map_err(|error| log_error(file, &error)));
        let (difference, unread) = compared.map_or_else(|error| (None, Some(error)), |found| (found, None));
        Ok(Outcome { summary, difference, unwritten: written.err().or(unread) })
    }

    /// Runs the worlds, each arbiter's on a thread of its own.
    fn run_worlds(&self, streams: &[Option<Arc<LogStream>>]) -> Result<Vec<(u32, WorldEnd)>, SimError> {
        let arbiters = streams.len();
        thread::scope(|scope| {
            let threads: Vec<_> = (0_u32..)
                .zip(streams)
                .map(|(arbiter, stream)| {
                    let groups = (arbiter..self.scenario.groups).step_by(arbiters);
                    scope.spawn(move || self.run_arbiter(groups, stream.as_ref()))
                })
                .collect();
            let mut ends = Vec::new();
            for thread in threads {
                ends.extend(thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?);
            }
            Ok(ends)
        })
    }

    /// Runs some worlds on the current thread.
    fn run_arbiter(
        &self,
        groups: impl Iterator<Item = u32>,
        log: Option<&Arc<LogStream>>,
    ) -> Result<Vec<(u32, WorldEnd)>, SimError> {
        let paused = self.scenario.time == Pace::Virtual;
        let runtime = move || {
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().start_paused(paused).build();
            runtime.expect("an operating system that gives threads and timers")
        };
        System::with_tokio_rt(runtime).block_on(async {
            let progress = &self.handle.0;
            let start = |group| {
                let world = World::start(&self.scenario, group, self.host.as_ref(), log.cloned(), progress);
                world.map(|world| (group, world))
            };
            // All of them before the first one runs: they share a clock.
            let worlds = groups.map(start).collect::<Result<Vec<_>, _>>()?;
            let running = worlds.into_iter().map(|(group, world)| async move { (group, world.run().await) });
            let ends: FuturesUnordered<_> = running.collect();
            ends.map(|(group, end)| Ok((group, end?))).collect::<Vec<_>>().await.into_iter().collect()
        })
    }
}

fn log_error(file: &Path, error: &std::io::Error) -> SimError {
    SimError::Log { what: file.display().to_string(), reason: error.to_string() }
}

impl fmt::Debug for Simulation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Simulation")
            .field("scenario", &self.scenario.name)
            .field("arbiters", &self.arbiters)
            .finish_non_exhaustive()
    }
}
