//! Finds tools that keep an arbiter from working: an async tool, or a quick function, that blocks or computes for long.
//!
//! An actor and the tasks that it drives say when their turn begins and when it ends, with two writes that nobody waits
//! for. One thread of the process looks every half second whether a turn goes on; calls do nothing for it.

use std::{
    sync::{Arc, Weak},
    thread,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use rustc_hash::FxHashSet;

use crate::pulse::Pulse;

/// How long a turn may take. A turn of a well-behaved tool takes microseconds; a process that waits for a processor
/// on a busy machine takes a fraction of this.
pub(crate) const LONGEST_TURN: Duration = Duration::from_secs(2);

const LOOK_EVERY: Duration = Duration::from_millis(500);

/// How many tools are warned of; their names may come from servers and lists.
const MOST_WARNINGS: usize = 1_000;

/// Hears the name of a tool each time it blocks an arbiter.
pub type OnBlocked = Arc<dyn Fn(&str) + Send + Sync>;

/// The actors of one engine that are looked after.
#[derive(Default)]
pub(crate) struct Watch(Mutex<Watched>);

#[derive(Default)]
struct Watched {
    turns: Vec<Turn>,
    listeners: Vec<OnBlocked>,
    warned: FxHashSet<String>,
}

/// The turn that an actor had when it was looked at last.
struct Turn {
    pulse: Weak<Pulse>,
    number: Option<u64>,
    since: Instant,
    told: bool,
}

impl Watch {
    /// Makes a watch that the thread looks after.
    pub(crate) fn new() -> Arc<Self> {
        let watch = Arc::new(Self::default());
        look_after(Arc::downgrade(&watch));
        watch
    }

    pub(crate) fn add(&self, pulse: &Arc<Pulse>) {
        let turn = Turn { pulse: Arc::downgrade(pulse), number: None, since: Instant::now(), told: false };
        self.0.lock().turns.push(turn);
    }

    pub(crate) fn listen(&self, listener: OnBlocked) {
        self.0.lock().listeners.push(listener);
    }

    /// Looks at all turns. Gives the tools that are warned of for the first time.
    fn look(&self, now: Instant) -> Vec<String> {
        let (mut blocked, mut warned) = (Vec::new(), Vec::new());
        let listeners = {
            let mut watched = self.0.lock();
            watched.turns.retain_mut(|turn| {
                let Some(pulse) = turn.pulse.upgrade() else { return false };
                let number = pulse.turn();
                if number != turn.number {
                    *turn = Turn { number, since: now, told: false, pulse: turn.pulse.clone() };
                } else if number.is_some()
                    && !turn.told
                    && now.saturating_duration_since(turn.since) >= LONGEST_TURN
                {
                    turn.told = true;
                    pulse.note_blocked();
                    blocked.push(pulse.tool().to_owned());
                }
                true
            });
            for tool in &blocked {
                if watched.warned.len() < MOST_WARNINGS && watched.warned.insert(tool.clone()) {
                    warned.push(tool.clone());
                }
            }
            if blocked.is_empty() { Vec::new() } else { watched.listeners.clone() }
        };
        for tool in &warned {
            tracing::warn!(
                tool,
                "a tool has kept its arbiter from all other work for {} s: give it `blocking` execution, or let it await",
                LONGEST_TURN.as_secs()
            );
        }
        for tool in &blocked {
            listeners.iter().for_each(|listener| listener(tool));
        }
        warned
    }
}

/// The watches of this process, and whether a thread looks after them.
static WATCHES: Mutex<(Vec<Weak<Watch>>, bool)> = Mutex::new((Vec::new(), false));

/// Gives a watch to the thread, which is started for the first and ends with the last.
fn look_after(watch: Weak<Watch>) {
    let mut watches = WATCHES.lock();
    watches.0.push(watch);
    if !watches.1 {
        // Without a thread nothing is noticed, and everything else works.
        watches.1 = thread::Builder::new().name("toolyard-watch".to_owned()).spawn(look_at_all).is_ok();
    }
}

fn look_at_all() {
    loop {
        thread::sleep(LOOK_EVERY);
        let watches = {
            let mut watches = WATCHES.lock();
            watches.0.retain(|watch| watch.strong_count() > 0);
            if watches.0.is_empty() {
                watches.1 = false;
                return;
            }
            watches.0.clone()
        };
        for watch in watches.iter().filter_map(Weak::upgrade) {
            watch.look(Instant::now());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_that_goes_on_is_counted_once_and_its_tool_warned_of_once() {
        let watch = Watch::default();
        let (slow, quick) = (Arc::new(Pulse::of("slow")), Arc::new(Pulse::of("quick")));
        watch.add(&slow);
        watch.add(&quick);
        let names = Arc::new(Mutex::new(Vec::new()));
        let noted = names.clone();
        watch.listen(Arc::new(move |tool| noted.lock().push(tool.to_owned())));
        let begun = Instant::now();
        slow.begin_turn();
        assert!(watch.look(begun).is_empty());
        for second in 1..5 {
            quick.begin_turn();
            quick.end_turn();
            let found = watch.look(begun + Duration::from_secs(second));
            assert_eq!(found.len(), usize::from(second == 2), "after {second} s");
        }
        assert_eq!((slow.blocked(), quick.blocked()), (1, 0));
        slow.end_turn();
        slow.begin_turn();
        for second in 10..13 {
            assert!(watch.look(begun + Duration::from_secs(second)).is_empty(), "it was warned of");
        }
        assert_eq!(slow.blocked(), 2);
        assert_eq!(*names.lock(), ["slow", "slow"]);
    }

    #[test]
    fn an_actor_that_waits_or_died_in_its_turn_blocks_nothing() {
        let watch = Watch::default();
        let pulse = Arc::new(Pulse::of("t"));
        watch.add(&pulse);
        let begun = Instant::now();
        pulse.begin_turn();
        drop(crate::pulse::DeathNote(pulse.clone()));
        for second in 0..9 {
            assert!(watch.look(begun + Duration::from_secs(second)).is_empty());
        }
        drop(pulse);
        assert!(watch.look(begun).is_empty());
        assert!(watch.0.lock().turns.is_empty(), "who is gone is forgotten");
    }
}
