//! Which agents have lists under way, and which have had none for long.

use std::{sync::Arc, time::Duration};

use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use tokio::{sync::Notify, time::Instant};

/// The agents of one engine that have lists under way. One that has none takes memory only where agents are forgotten
/// by age.
#[derive(Debug)]
pub(crate) struct Activity {
    agents: Mutex<FxHashMap<Arc<str>, Agent>>,
    /// Whether it is remembered when an agent was seen last.
    remembers: bool,
    /// Wakes lists whose agent was being forgotten.
    forgotten: Notify,
}

#[derive(Debug, Default)]
struct Agent {
    lists: u32,
    last: Option<Instant>,
    /// Its lists wait until it has been forgotten.
    leaving: bool,
}

/// An agent has a list under way as long as this lives.
#[derive(Debug)]
pub(crate) struct InUse(Option<(Arc<Activity>, Arc<str>)>);

/// An agent is being forgotten as long as this lives, and its new lists wait.
pub(crate) struct Leaving {
    activity: Arc<Activity>,
    agent: Arc<str>,
}

impl Activity {
    pub(crate) fn new(remembers: bool) -> Self {
        Self { agents: Mutex::default(), remembers, forgotten: Notify::new() }
    }

    /// Notes that a list of an agent begins; `None` while the agent is being forgotten.
    pub(crate) fn enter(self: &Arc<Self>, agent: Option<&Arc<str>>) -> Option<InUse> {
        let Some(agent) = agent else { return Some(InUse(None)) };
        let mut agents = self.agents.lock();
        match agents.get_mut(agent) {
            Some(known) if known.leaving => return None,
            Some(known) => known.lists += 1,
            None => {
                agents.insert(agent.clone(), Agent { lists: 1, ..Agent::default() });
            }
        }
        Some(InUse(Some((self.clone(), agent.clone()))))
    }

    /// Notes that a list of an agent begins, once nobody forgets the agent any more.
    pub(crate) async fn entered(self: &Arc<Self>, agent: Option<&Arc<str>>) -> InUse {
        loop {
            let mut forgotten = std::pin::pin!(self.forgotten.notified());
            forgotten.as_mut().enable();
            if let Some(in_use) = self.enter(agent) {
                return in_use;
            }
            forgotten.await;
        }
    }

    /// Lets an agent be forgotten; `None` when it has lists under way, or somebody else is at it.
    pub(crate) fn leave(self: &Arc<Self>, agent: &str) -> Option<Leaving> {
        let mut agents = self.agents.lock();
        let agent: Arc<str> = match agents.get_key_value(agent) {
            Some((_, known)) if known.lists > 0 || known.leaving => return None,
            Some((agent, _)) => agent.clone(),
            None => agent.into(),
        };
        agents.entry(agent.clone()).or_default().leaving = true;
        Some(Leaving { activity: self.clone(), agent })
    }

    /// Notes that agents were seen, which have had no list yet: their rows were loaded.
    pub(crate) fn seen(&self, seen: impl IntoIterator<Item = Arc<str>>) {
        if !self.remembers {
            return;
        }
        let now = Instant::now();
        let mut agents = self.agents.lock();
        seen.into_iter().for_each(|agent| agents.entry(agent).or_default().last = Some(now));
    }

    /// The agents that have had no list under way for so long.
    pub(crate) fn idle_for(&self, age: Duration) -> Vec<Arc<str>> {
        let agents = self.agents.lock();
        let is_idle = |agent: &Agent| {
            agent.lists == 0 && !agent.leaving && agent.last.is_some_and(|last| last.elapsed() >= age)
        };
        agents.iter().filter(|(_, agent)| is_idle(agent)).map(|(id, _)| id.clone()).collect()
    }

    /// Tells whether idle agents are forgotten.
    pub(crate) fn remembers(&self) -> bool {
        self.remembers
    }

    /// How many agents take memory.
    pub(crate) fn len(&self) -> usize {
        self.agents.lock().len()
    }
}

impl Drop for InUse {
    fn drop(&mut self) {
        let Some((activity, agent)) = self.0.take() else { return };
        let mut agents = activity.agents.lock();
        let Some(known) = agents.get_mut(&agent) else { return };
        known.lists -= 1;
        if known.lists == 0 {
            if activity.remembers {
                known.last = Some(Instant::now());
            } else {
                agents.remove(&agent);
            }
        }
    }
}

impl Drop for Leaving {
    fn drop(&mut self) {
        let mut agents = self.activity.agents.lock();
        agents.remove(&self.agent);
        if agents.capacity() > 1_024 && agents.len() < agents.capacity() / 8 {
            let room = 2 * agents.len();
            agents.shrink_to(room);
        }
        drop(agents);
        self.activity.forgotten.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent(id: &str) -> Arc<str> {
        id.into()
    }

    #[test]
    fn an_agent_leaves_only_between_its_lists_and_takes_no_memory_after() {
        let activity = Arc::new(Activity::new(false));
        let a = agent("a");
        let (one, two) = (activity.enter(Some(&a)), activity.enter(Some(&a)));
        drop(one);
        assert!(activity.leave("a").is_none(), "one list is left");
        drop(two);
        assert_eq!(activity.len(), 0);
        let leaving = activity.leave("a").unwrap();
        assert!(activity.leave("a").is_none(), "one at a time");
        assert!(activity.enter(Some(&a)).is_none() && activity.enter(None).is_some());
        drop(leaving);
        assert!(activity.enter(Some(&a)).is_some());
        assert_eq!(activity.len(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn a_list_of_an_agent_that_leaves_waits_until_it_has_left() {
        let activity = Arc::new(Activity::new(false));
        let leaving = activity.leave("a").unwrap();
        let (waits, a) = (activity.clone(), agent("a"));
        let list = tokio::spawn(async move { waits.entered(Some(&a)).await });
        tokio::task::yield_now().await;
        assert!(!list.is_finished());
        drop(leaving);
        let in_use = list.await.unwrap();
        assert!(activity.leave("a").is_none());
        drop(in_use);
    }

    #[tokio::test(start_paused = true)]
    async fn who_has_had_no_list_for_long_is_idle_and_who_has_one_never_is() {
        let activity = Arc::new(Activity::new(true));
        let age = Duration::from_mins(1);
        let busy = activity.enter(Some(&agent("busy")));
        drop(activity.enter(Some(&agent("idle"))));
        activity.seen([agent("loaded")]);
        tokio::time::advance(age / 2).await;
        drop(activity.enter(Some(&agent("later"))));
        tokio::time::advance(age / 2).await;
        let mut idle = activity.idle_for(age);
        idle.sort();
        assert_eq!(idle, [agent("idle"), agent("loaded")]);
        drop(busy);
        tokio::time::advance(age).await;
        assert_eq!(activity.idle_for(age).len(), 4);
        activity.idle_for(age).iter().for_each(|agent| drop(activity.leave(agent).unwrap()));
        assert_eq!(activity.len(), 0);
    }
}
