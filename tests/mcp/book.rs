//! What became of each of many calls, and whether that is true.

use std::{
    collections::{BTreeMap, HashMap},
    path::Path,
    sync::atomic::{AtomicU8, AtomicUsize, Ordering},
};

use toolyard::Outcome;

/// Numbers that are the same in each run.
pub(super) struct Chance(pub(super) u64);

impl Chance {
    pub(super) fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % most
    }
}

/// What can become of a call to a server that comes and goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Filed {
    Lost = 1,
    Ok,
    NotRun,
}

impl Filed {
    const ALL: [Self; 3] = [Self::Lost, Self::Ok, Self::NotRun];
}

/// What became of each call, by its number.
pub(super) struct Book {
    outcomes: Vec<AtomicU8>,
    next: AtomicUsize,
}

impl Book {
    /// For at most so many calls.
    pub(super) fn new(most: usize) -> Self {
        Self { outcomes: (0..most).map(|_| AtomicU8::new(0)).collect(), next: AtomicUsize::new(0) }
    }

    /// The number of a call that is made now; `None` when there are enough.
    pub(super) fn begin(&self) -> Option<usize> {
        let number = self.next.fetch_add(1, Ordering::SeqCst);
        (number < self.outcomes.len()).then_some(number)
    }

    /// How many calls have been made.
    pub(super) fn calls(&self) -> usize {
        self.next.load(Ordering::SeqCst).min(self.outcomes.len())
    }

    /// Files what became of a call that gives its number back.
    pub(super) fn file(&self, number: usize, outcome: Outcome, answer: Option<&str>) -> Filed {
        let filed = match outcome {
            Outcome::Ok => {
                assert_eq!(answer, Some(&*number.to_string()), "the answer to another call");
                Filed::Ok
            }
            Outcome::NotStarted | Outcome::UnknownTool => Filed::NotRun,
            Outcome::Lost => Filed::Lost,
            other => panic!("call {number} is {other:?}: {answer:?}"),
        };
        let before = self.outcomes[number].swap(filed as u8, Ordering::SeqCst);
        assert_eq!(before, 0, "one outcome for each call");
        filed
    }

    /// How many calls ended how.
    pub(super) fn counts(&self) -> BTreeMap<Filed, usize> {
        let count = |filed: Filed| {
            let is_so = |outcome: &&AtomicU8| outcome.load(Ordering::SeqCst) == filed as u8;
            (filed, self.outcomes.iter().filter(is_so).count())
        };
        Filed::ALL.into_iter().map(count).collect()
    }

    /// Holds it against what the servers have written down: each call that is `ok` ran once, each that is lost at most
    /// once, and no other ran.
    pub(super) fn assert_truthful(&self, notes: &Path) {
        let mut runs = HashMap::<usize, usize>::new();
        for line in std::fs::read_to_string(notes).unwrap().lines() {
            *runs.entry(line.parse().unwrap()).or_default() += 1;
        }
        assert!(runs.keys().all(|number| *number < self.calls()), "nobody made such a call");
        assert_eq!(self.counts().values().sum::<usize>(), self.calls(), "every call has an outcome");
        for number in 0..self.calls() {
            let times = runs.get(&number).copied().unwrap_or_default();
            let outcome = self.outcomes[number].load(Ordering::SeqCst);
            let truthful = match outcome {
                outcome if outcome == Filed::Ok as u8 => times == 1,
                outcome if outcome == Filed::Lost as u8 => times <= 1,
                _ => times == 0,
            };
            assert!(truthful, "call {number} ran {times} times: {outcome}");
        }
    }
}

/// What a process uses.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Use {
    /// Resident memory, in KiB.
    pub(super) memory: u64,
    pub(super) descriptors: usize,
    pub(super) threads: usize,
}

impl Use {
    /// Of a process, or of this one: `self`.
    pub(super) fn of(process: &str) -> Self {
        let count = |what: &str| std::fs::read_dir(format!("/proc/{process}/{what}")).unwrap().count();
        let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        let memory = line.trim().trim_end_matches(" kB").parse().unwrap();
        Self { memory, descriptors: count("fd"), threads: count("task") }
    }
}
