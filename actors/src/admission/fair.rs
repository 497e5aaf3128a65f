//! Turns: who of those who wait is next.

use std::{
    collections::{BTreeMap, HashMap},
    hash::Hash,
    num::NonZeroU32,
};

/// Items that wait, in one lane for each key; lanes take turns, and a lane gives as many items in
/// one turn as it has weight.
///
/// So an item at the head of its lane waits for at most the weight of every other lane that has
/// items, however many those are. Every operation costs the logarithm of what waits; a lane without
/// items takes no memory.
#[derive(Debug)]
pub(crate) struct FairQueue<K, T> {
    lanes: HashMap<K, Lane<T>>,
    /// Lanes by turn; the first is at its turn.
    turns: BTreeMap<u64, K>,
    next_turn: u64,
    next_ticket: u64,
}

#[derive(Debug)]
struct Lane<T> {
    items: BTreeMap<u64, T>,
    turn: u64,
    weight: NonZeroU32,
    /// How many more items the lane may give in this turn.
    credit: u32,
}

/// The place of an item, for taking it out again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ticket(u64);

impl<K, T> Default for FairQueue<K, T> {
    fn default() -> Self {
        Self { lanes: HashMap::new(), turns: BTreeMap::new(), next_turn: 0, next_ticket: 0 }
    }
}

impl<K: Clone + Eq + Hash, T> FairQueue<K, T> {
    /// Puts an item at the end of a lane. A weight that differs from the lane's counts from the
    /// lane's next turn.
    pub(crate) fn push(&mut self, key: K, weight: NonZeroU32, item: T) -> Ticket {
        let ticket = self.next_ticket;
        self.next_ticket += 1;
        let lane = self.lanes.entry(key.clone()).or_insert_with(|| {
            let turn = self.next_turn;
            self.next_turn += 1;
            self.turns.insert(turn, key);
            Lane { items: BTreeMap::new(), turn, weight, credit: weight.get() }
        });
        lane.weight = weight;
        lane.items.insert(ticket, item);
        Ticket(ticket)
    }

    /// Takes the next item.
    pub(crate) fn pop(&mut self) -> Option<T> {
        let (_, key) = self.turns.first_key_value()?;
        let key = key.clone();
        let lane = self.lanes.get_mut(&key)?;
        let (_, item) = lane.items.pop_first()?;
        lane.credit -= 1;
        if lane.items.is_empty() {
            self.drop_lane(&key);
        } else if lane.credit == 0 {
            self.turns.remove(&lane.turn);
            lane.turn = self.next_turn;
            lane.credit = lane.weight.get();
            self.next_turn += 1;
            self.turns.insert(lane.turn, key);
        }
        Some(item)
    }

    /// Takes an item out of its lane; `None` when it is not there any more.
    pub(crate) fn remove(&mut self, key: &K, ticket: Ticket) -> Option<T> {
        let lane = self.lanes.get_mut(key)?;
        let item = lane.items.remove(&ticket.0)?;
        if lane.items.is_empty() {
            self.drop_lane(key);
        }
        Some(item)
    }

    /// Tells whether nothing waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.lanes.is_empty()
    }

    fn drop_lane(&mut self, key: &K) {
        if let Some(lane) = self.lanes.remove(key) {
            self.turns.remove(&lane.turn);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weight(weight: u32) -> NonZeroU32 {
        NonZeroU32::new(weight).unwrap()
    }

    fn drain<T>(queue: &mut FairQueue<&'static str, T>) -> Vec<T> {
        std::iter::from_fn(|| queue.pop()).collect()
    }

    #[test]
    fn one_lane_is_first_in_first_out() {
        let mut queue = FairQueue::default();
        for item in 0..5 {
            queue.push("a", weight(1), item);
        }
        assert_eq!(drain(&mut queue), [0, 1, 2, 3, 4]);
        assert!(queue.is_empty());
    }

    #[test]
    fn lanes_take_turns_by_weight() {
        let mut queue = FairQueue::default();
        for item in 0..6 {
            queue.push("heavy", weight(2), format!("h{item}"));
        }
        for item in 0..3 {
            queue.push("light", weight(1), format!("l{item}"));
        }
        assert_eq!(drain(&mut queue), ["h0", "h1", "l0", "h2", "h3", "l1", "h4", "h5", "l2"]);
    }

    #[test]
    fn a_single_item_waits_for_one_turn_of_every_other_lane_however_long_they_are() {
        for heavy in [1, 4] {
            let mut queue = FairQueue::default();
            for item in 0..10_000 {
                queue.push("crowd", weight(heavy), item);
            }
            for _ in 0..100 {
                queue.pop();
            }
            queue.push("single", weight(1), -1);
            let waited = std::iter::from_fn(|| queue.pop()).position(|item| item == -1).unwrap();
            assert!(waited <= heavy as usize, "waited for {waited} at weight {heavy}");
        }
    }

    #[test]
    fn leaving_and_coming_back_wins_no_extra_turn() {
        let mut queue = FairQueue::default();
        let ticket = queue.push("a", weight(1), "a0");
        queue.push("b", weight(1), "b0");
        queue.push("b", weight(1), "b1");
        assert_eq!(queue.remove(&"a", ticket), Some("a0"));
        assert_eq!(queue.remove(&"a", ticket), None);
        queue.push("a", weight(1), "a1");
        assert_eq!(drain(&mut queue), ["b0", "a1", "b1"]);
    }

    #[test]
    fn what_has_left_takes_no_memory() {
        let mut queue = FairQueue::default();
        for key in 0..1_000 {
            let ticket = queue.push(key, weight(1), ());
            queue.remove(&key, ticket);
        }
        assert!(queue.is_empty() && queue.turns.is_empty());
    }

    #[test]
    fn a_new_weight_counts_from_the_next_turn() {
        let mut queue = FairQueue::default();
        for item in ["a0", "a1", "a2", "a3"] {
            queue.push("a", weight(1), item);
        }
        queue.push("b", weight(1), "b0");
        queue.push("b", weight(1), "b1");
        queue.push("a", weight(2), "a4");
        assert_eq!(drain(&mut queue), ["a0", "b0", "a1", "a2", "b1", "a3", "a4"]);
    }
}
