//! Rows as they were at one moment, handed out while calls go on.

use compact_str::CompactString;
use hashbrown::HashMap;

/// The keys of a shard's rows at one moment, to be handed out in order.
#[derive(Debug, Default)]
pub struct RowKeys {
    pub(super) engine: bool,
    /// Descending once they are sorted, so that the next one is the last.
    pub(super) agents: Vec<CompactString>,
}

impl RowKeys {
    /// Puts them in order. Not done where they are collected, as nobody is served meanwhile.
    pub fn sort(&mut self) {
        self.agents.sort_unstable_by(|a, b| b.cmp(a));
    }

    /// How many are left.
    pub fn len(&self) -> usize {
        usize::from(self.engine) + self.agents.len()
    }

    /// Tells whether none is left.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// What a shard keeps for one who hands out its rows as they were: the old states of rows that have changed since.
pub(super) struct Cut<S> {
    pub(super) id: u64,
    engine: Option<S>,
    agents: HashMap<CompactString, S, rustc_hash::FxBuildHasher>,
    /// What was handed out already, of which nothing need be kept.
    past_engine: bool,
    past: Option<CompactString>,
}

impl<S: Clone> Cut<S> {
    pub(super) fn new(id: u64) -> Self {
        Self { id, engine: None, agents: HashMap::default(), past_engine: false, past: None }
    }

    /// Takes note of the state of a row that is about to change. Only the first one counts; that of a row that is
    /// newer than the cut is kept for nothing.
    pub(super) fn keep(&mut self, agent: Option<&str>, state: &S) {
        match agent {
            None if !self.past_engine => {
                self.engine.get_or_insert_with(|| state.clone());
            }
            None => {}
            Some(agent) if self.past.as_deref().is_some_and(|past| agent <= past) => {}
            Some(agent) => {
                self.agents.entry(agent.into()).or_insert_with(|| state.clone());
            }
        }
    }

    /// Gives the state that a row had, if it has changed since; from now on it may change.
    pub(super) fn pass(&mut self, agent: Option<&CompactString>) -> Option<S> {
        match agent {
            None => {
                self.past_engine = true;
                self.engine.take()
            }
            Some(agent) => {
                self.past = Some(agent.clone());
                self.agents.remove(agent)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, sync::Arc};

    use proptest::prelude::*;
    use serde_json::json;

    use crate::{
        Invocation, RowKey, RowValue, Shard, StateScope, StateWork, Stateful, StatefulTool, Tool, ToolSpec,
    };

    /// Adds what it is given.
    struct Adder(ToolSpec);

    impl StatefulTool for Adder {
        type State = i64;

        fn spec(&self) -> &ToolSpec {
            &self.0
        }

        fn scope(&self) -> StateScope {
            StateScope::Agent
        }

        fn initial(&self, _: Option<&str>) -> i64 {
            0
        }

        fn work(self: Arc<Self>, invocation: Invocation, state: i64) -> StateWork<i64> {
            let sum = state + invocation.arguments.parse::<i64>().unwrap();
            StateWork::Done(Ok(json!(sum).into()), sum)
        }
    }

    fn shard() -> Box<dyn Shard> {
        Stateful::new(Adder(ToolSpec::new("add"))).state().unwrap().shard
    }

    #[derive(Clone, Debug)]
    enum Step {
        Add(u8, i64),
        Put(u8, i64),
        Remove(u8),
        Clear,
        /// Another shard takes the place of this one.
        Adopt(Vec<(u8, i64)>),
        Begin,
        /// Hands out some rows of the cut with this number, counted from the oldest that is open.
        Read(usize),
    }

    fn step() -> impl Strategy<Value = Step> {
        let key = 0..8_u8;
        prop_oneof![
            8 => (key.clone(), 1..100_i64).prop_map(|(key, by)| Step::Add(key, by)),
            3 => (key.clone(), 0..100_i64).prop_map(|(key, state)| Step::Put(key, state)),
            3 => key.clone().prop_map(Step::Remove),
            1 => Just(Step::Clear),
            1 => proptest::collection::vec((key, 0..100_i64), 0..6).prop_map(Step::Adopt),
            2 => Just(Step::Begin),
            4 => (0..3_usize).prop_map(Step::Read),
        ]
    }

    /// Key 0 is the engine's row.
    fn key(number: u8) -> RowKey {
        if number == 0 { RowKey::Engine } else { RowKey::Agent(format!("agent-{number}").into()) }
    }

    fn row(number: u8, state: i64) -> RowValue {
        let agent = key(number).agent().map(Into::into);
        RowValue { agent, state: serde_json::value::to_raw_value(&state).unwrap() }
    }

    type Model = BTreeMap<RowKey, i64>;

    fn seen(rows: &[RowValue]) -> Vec<(RowKey, i64)> {
        rows.iter().map(|row| (row.key(), row.state.get().parse().unwrap())).collect()
    }

    proptest! {
        #[test]
        fn a_cut_is_what_the_rows_were_whatever_happens_while_it_is_read(
            steps in proptest::collection::vec(step(), 0..80),
        ) {
            let (mut shard, mut model) = (shard(), Model::new());
            let mut open = Vec::new();
            let mut next = 0;
            for step in steps.into_iter().chain((0..40).map(|_| Step::Read(0))) {
                match step {
                    Step::Add(number, by) => {
                        shard.begin(&key(number), Invocation::detached(by.to_string()));
                        *model.entry(key(number)).or_default() += by;
                    }
                    Step::Put(number, state) => {
                        shard.put(&row(number, state)).unwrap();
                        model.insert(key(number), state);
                    }
                    Step::Remove(number) => {
                        prop_assert_eq!(shard.remove(&key(number)), model.remove(&key(number)).is_some());
                    }
                    Step::Clear => {
                        shard.clear();
                        model.clear();
                    }
                    Step::Adopt(rows) => {
                        let mut other = self::shard();
                        rows.iter().for_each(|(number, state)| other.put(&row(*number, *state)).unwrap());
                        drop(shard.adopt(other));
                        model = rows.into_iter().map(|(number, state)| (key(number), state)).collect();
                    }
                    Step::Begin => {
                        let mut keys = shard.begin_cut(next);
                        keys.sort();
                        open.push((next, keys, model.clone(), Vec::new()));
                        next += 1;
                    }
                    Step::Read(at) if at < open.len() => {
                        let (id, keys, _, read) = &mut open[at];
                        read.extend(seen(&shard.read_cut(*id, keys, 2, usize::MAX).unwrap()));
                        if keys.is_empty() {
                            let (id, _, then, read) = open.remove(at);
                            shard.end_cut(id);
                            prop_assert_eq!(read, then.into_iter().collect::<Vec<_>>());
                        }
                    }
                    Step::Read(_) => {}
                }
                prop_assert_eq!(shard.len(), model.len());
            }
        }
    }
}
