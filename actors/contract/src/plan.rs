//! The order of a list: which calls may overlap.
//!
//! This file alone decides order. Callers see [`Batch`]es; the runner sees [`Step`]s, each with
//! what it waits for, so that plans finer than batches can come later without a change there.

use serde::{Deserialize, Serialize};

use crate::ParallelDecision;

/// The order of one list.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// The planned calls in runs that share a strategy, in call order.
    pub batches: Vec<Batch>,
    /// The planned calls, each with what it waits for, in call order.
    pub steps: Vec<Step>,
}

/// A run of adjacent calls that share a strategy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Batch {
    /// The strategy.
    pub kind: BatchKind,
    /// Positions of the calls in their list, ascending.
    pub calls: Vec<usize>,
}

/// The strategies of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BatchKind {
    /// One call at a time, in order.
    Sequential,
    /// All calls may overlap.
    Concurrent,
}

/// One planned call.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// The call's position in its list.
    pub call: usize,
    /// The step may start when this many of the plan's first steps have ended.
    pub waits_for: usize,
    /// Why the call may or may not overlap.
    pub decision: ParallelDecision,
}

/// Orders the calls of a list: adjacent calls that may overlap form one concurrent batch, adjacent
/// calls that may not form one sequential batch, and no batch starts before the one ahead has ended.
///
/// `calls` gives position and decision of each call that is to run, in call order. Linear in the calls.
pub fn plan(calls: impl IntoIterator<Item = (usize, ParallelDecision)>) -> Plan {
    let calls = calls.into_iter();
    let mut out = Plan { batches: Vec::new(), steps: Vec::with_capacity(calls.size_hint().0) };
    let mut batch_start = 0;
    for (number, (call, decision)) in calls.enumerate() {
        let kind = if decision.allowed { BatchKind::Concurrent } else { BatchKind::Sequential };
        match out.batches.last_mut() {
            Some(batch) if batch.kind == kind => batch.calls.push(call),
            _ => {
                batch_start = number;
                out.batches.push(Batch { kind, calls: vec![call] });
            }
        }
        let waits_for = if decision.allowed { batch_start } else { number };
        out.steps.push(Step { call, waits_for, decision });
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{
        BatchKind::{Concurrent, Sequential},
        *,
    };
    use crate::ParallelCategory;

    fn decisions(allowed: &[bool]) -> Vec<(usize, ParallelDecision)> {
        let decide = |&allowed: &bool| {
            if allowed {
                ParallelDecision::allow("yes")
            } else {
                ParallelDecision::refuse(ParallelCategory::StatefulTool, "no")
            }
        };
        allowed.iter().map(decide).enumerate().collect()
    }

    #[test]
    fn adjacent_calls_of_one_kind_share_a_batch() {
        let plan = plan(decisions(&[true, true, false, false, true]));
        let batches: Vec<_> = plan.batches.iter().map(|b| (b.kind, b.calls.as_slice())).collect();
        assert_eq!(batches, [(Concurrent, &[0, 1][..]), (Sequential, &[2, 3]), (Concurrent, &[4])]);
        let waits: Vec<_> = plan.steps.iter().map(|s| s.waits_for).collect();
        assert_eq!(waits, [0, 0, 2, 3, 4]);
    }

    #[test]
    fn an_empty_list_has_an_empty_plan() {
        assert_eq!(plan([]), Plan::default());
    }

    proptest! {
        #[test]
        fn order_is_kept_and_a_call_alone_overlaps_with_nothing(allowed in proptest::collection::vec(any::<bool>(), 0..60)) {
            let plan = plan(decisions(&allowed));
            let flat: Vec<usize> = plan.batches.iter().flat_map(|b| b.calls.clone()).collect();
            prop_assert_eq!(flat, (0..allowed.len()).collect::<Vec<_>>());
            for (number, step) in plan.steps.iter().enumerate() {
                prop_assert!(step.waits_for <= number);
                prop_assert!(allowed[number] || step.waits_for == number);
                // Whatever a step does not wait for may overlap with it, so all of them must allow it.
                prop_assert!(allowed[step.waits_for..number].iter().all(|&a| a));
            }
        }
    }
}
