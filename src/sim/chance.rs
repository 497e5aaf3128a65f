//! Where chance comes from: the seed and what is drawn for, and nothing else. So it does not matter what else goes on
//! at the same time.

use rand_pcg::{
    Pcg64Mcg,
    rand_core::{Rng, SeedableRng},
};

/// What something is drawn for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Purpose {
    /// When the agent begins its first list.
    First,
    /// Which list it is, with which arguments, and how long the agent thinks afterwards.
    List { list: u32 },
    /// How a call goes.
    Call { list: u32, position: usize, attempt: u32 },
}

/// The chance of one agent for one purpose.
pub(super) fn chance(seed: u64, agent: u32, purpose: Purpose) -> Pcg64Mcg {
    let mut state = mix(seed, u64::from(agent));
    let parts = match purpose {
        Purpose::First => [0, 0, 0],
        Purpose::List { list } => [1, u64::from(list), 0],
        Purpose::Call { list, position, attempt } => {
            [2 + u64::from(attempt), u64::from(list), position as u64]
        }
    };
    for part in parts {
        state = mix(state, part);
    }
    Pcg64Mcg::seed_from_u64(state)
}

/// A whole number from `from` to `to`, both included.
pub(super) fn between(chance: &mut Pcg64Mcg, from: u64, to: u64) -> u64 {
    match (to - from).checked_add(1) {
        // The bias is below one in 2^32 for all spans that a scenario has.
        Some(span) => from + chance.next_u64() % span,
        None => chance.next_u64(),
    }
}

/// A number from 0 to below 1.
pub(super) fn share(chance: &mut Pcg64Mcg) -> f64 {
    f64::from(chance.next_u32()) / (f64::from(u32::MAX) + 1.0)
}

/// Stirs a part into a state (the finaliser of `splitmix64`).
fn mix(state: u64, part: u64) -> u64 {
    let mut mixed = (state ^ part.wrapping_mul(0x9e37_79b9_7f4a_7c15)).wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn everything_that_is_drawn_for_has_chances_of_its_own() {
        let mut first = HashSet::new();
        for agent in 0..20 {
            for list in 0..20 {
                let calls = (0..5).map(|position| Purpose::Call { list, position, attempt: 1 });
                let purposes = calls.chain([Purpose::List { list }]);
                first.extend(purposes.map(|purpose| chance(7, agent, purpose).next_u64()));
            }
        }
        assert_eq!(first.len(), 20 * 20 * 6);
        let again = |seed| chance(seed, 3, Purpose::First).next_u64();
        assert_eq!(again(1), again(1));
        assert_ne!(again(1), again(2));
    }

    #[test]
    fn numbers_between_two_reach_both_and_nothing_else() {
        let mut chance = chance(1, 1, Purpose::First);
        let drawn: HashSet<_> = (0..200).map(|_| between(&mut chance, 3, 6)).collect();
        assert_eq!(drawn, HashSet::from([3, 4, 5, 6]));
        assert_eq!(between(&mut chance, 9, 9), 9);
        between(&mut chance, 0, u64::MAX);
        assert!((0..1000).all(|_| (0.0..1.0).contains(&share(&mut chance))));
    }
}
