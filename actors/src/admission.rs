//! Who may run now: permits of the engine, of a tool, of the blocking pool.

use std::{sync::Arc, time::Duration};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The engine's limits on what runs at once. Every wait for them has a deadline.
#[derive(Clone, Debug)]
pub struct Limits {
    /// How many calls may run at once in the engine. Default 16,384: a waiting call costs about
    /// 1 KB, so that the default stays under 20 MB.
    pub max_in_flight: usize,
    /// How many calls may occupy a thread of the blocking pool. Default 64: threads mostly wait.
    pub max_blocking: usize,
    /// How many lists may be under way. Default 10,000.
    pub max_lists: usize,
    /// How long a call or a list waits to be admitted. Default 30 s.
    pub admission_timeout: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_in_flight: 16_384,
            max_blocking: 64,
            max_lists: 10_000,
            admission_timeout: Duration::from_secs(30),
        }
    }
}

/// The permits behind [`Limits`], shared by all supervisors of an engine.
#[derive(Debug)]
pub(crate) struct Admission {
    pub(crate) limits: Limits,
    in_flight: Arc<Semaphore>,
    blocking: Arc<Semaphore>,
    pub(crate) lists: Arc<Semaphore>,
}

impl Admission {
    pub(crate) fn new(limits: Limits) -> Self {
        let semaphore = |permits: usize| Arc::new(Semaphore::new(permits.clamp(1, Semaphore::MAX_PERMITS)));
        Self {
            in_flight: semaphore(limits.max_in_flight),
            blocking: semaphore(limits.max_blocking),
            lists: semaphore(limits.max_lists),
            limits,
        }
    }

    /// The gates that a call of this kind passes, the narrowest first: whoever waits for a narrow
    /// gate must not hold a wide one.
    pub(crate) fn gates(&self, tool: Option<&Arc<Semaphore>>, blocking: bool) -> Gates {
        Gates {
            tool: tool.cloned(),
            blocking: blocking.then(|| self.blocking.clone()),
            engine: self.in_flight.clone(),
        }
    }
}

/// The gates of one kind of call.
#[derive(Clone, Debug)]
pub(crate) struct Gates {
    tool: Option<Arc<Semaphore>>,
    blocking: Option<Arc<Semaphore>>,
    engine: Arc<Semaphore>,
}

impl Gates {
    /// Takes up to `wanted` permits at once, as many as are free at every gate; `None` when none is.
    pub(crate) fn try_pass(&self, wanted: usize) -> Option<Permits> {
        let free = |gate: &Arc<Semaphore>| gate.available_permits();
        let count = self.gates().map(free).min().unwrap_or(0).min(wanted);
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        if count == 0 {
            return None;
        }
        let take = |gate: &Arc<Semaphore>| gate.clone().try_acquire_many_owned(count).ok();
        let tool = self.tool.as_ref().map(take);
        let blocking = self.blocking.as_ref().map(take);
        let engine = take(&self.engine)?;
        // Another supervisor may have been faster at one gate: give back what was had.
        match (tool, blocking) {
            (Some(None), _) | (_, Some(None)) => None,
            (tool, blocking) => Some(Permits {
                count,
                tool: tool.flatten(),
                blocking: blocking.flatten(),
                engine: Some(engine),
            }),
        }
    }

    /// Waits for one permit of every gate.
    ///
    /// # Cancellation
    /// Dropping the future gives back what was had.
    pub(crate) async fn pass(self) -> Permits {
        let tool = wait(self.tool).await;
        let blocking = wait(self.blocking).await;
        let engine = wait(Some(self.engine)).await;
        Permits { count: 1, tool, blocking, engine }
    }

    fn gates(&self) -> impl Iterator<Item = &Arc<Semaphore>> {
        self.tool.iter().chain(&self.blocking).chain(std::iter::once(&self.engine))
    }
}

async fn wait(gate: Option<Arc<Semaphore>>) -> Option<OwnedSemaphorePermit> {
    // The engine never closes its semaphores, so acquiring cannot fail.
    gate?.acquire_owned().await.ok()
}

/// The right of some calls to run; given back when dropped.
#[derive(Debug)]
pub(crate) struct Permits {
    count: u32,
    tool: Option<OwnedSemaphorePermit>,
    blocking: Option<OwnedSemaphorePermit>,
    engine: Option<OwnedSemaphorePermit>,
}

impl Permits {
    /// How many calls may run.
    pub(crate) fn count(&self) -> usize {
        self.count as usize
    }

    /// Splits off the right of one call.
    pub(crate) fn split_one(&mut self) -> Self {
        let split = |permit: &mut Option<OwnedSemaphorePermit>| permit.as_mut().and_then(|p| p.split(1));
        self.count = self.count.saturating_sub(1);
        Self {
            count: 1,
            tool: split(&mut self.tool),
            blocking: split(&mut self.blocking),
            engine: split(&mut self.engine),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permits_are_taken_at_every_gate_and_given_back() {
        let admission = Admission::new(Limits { max_in_flight: 3, ..Limits::default() });
        let tool = Arc::new(Semaphore::new(2));
        let gates = admission.gates(Some(&tool), false);
        let mut permits = gates.try_pass(5).unwrap();
        assert_eq!(permits.count(), 2);
        assert!(gates.try_pass(1).is_none());
        let one = permits.split_one();
        drop(permits);
        assert_eq!((tool.available_permits(), admission.in_flight.available_permits()), (1, 2));
        drop(one);
        assert_eq!((tool.available_permits(), admission.in_flight.available_permits()), (2, 3));
    }
}
