//! Whatever is asked and answered, in whatever order: every call is answered once, nothing unapproved
//! runs, nothing runs twice.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use serde_json::value::RawValue;
use toolyard::{
    Answer, Answers, Engine, Failure, Outcome, PermissionRule, PermissionRules, RulePolicy, SuspendedList,
    Verdict,
};

use super::{Counts, ids, nth, resume, run, spec};
use crate::engine::tools::{field, tool};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Say {
    Approve,
    Deny,
    Nothing,
}

fn verdict() -> impl Strategy<Value = Verdict> {
    prop_oneof![Just(Verdict::Allow), Just(Verdict::Ask), Just(Verdict::Deny)]
}

/// The tools `t0` to `t3` count; `t3` asks for a value first.
fn engine(verdicts: [Verdict; 4], counts: &Counts) -> Engine {
    let rule = verdicts.iter().enumerate();
    let rule = rule.map(|(n, verdict)| PermissionRule::new(*verdict, format!("t{n}"), "*")).collect();
    let policy = RulePolicy::new(PermissionRules { default: Verdict::Deny, rule }).unwrap();
    let counted = counts.clone();
    let asking = tool(spec("t3"), move |invocation| {
        let counts = counted.clone();
        async move {
            if invocation.context.input().is_none() {
                return Err(Failure::needs_input(invocation.arguments, "what?"));
            }
            *counts.0.lock().entry(field(&invocation, "n").as_i64().unwrap()).or_default() += 1;
            Ok("told".into())
        }
    });
    let tools = ["t0", "t1", "t2"].map(|name| counts.tool(name));
    Engine::builder().tools(tools).tool(asking).permissions(policy).build().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]
    #[test]
    fn every_call_is_answered_once_and_nothing_unapproved_or_twice_runs(
        verdicts in [verdict(), verdict(), verdict(), verdict()],
        tools in proptest::collection::vec(0..4_usize, 0..12),
        says in proptest::collection::vec(prop_oneof![Just(Say::Approve), Just(Say::Deny), Just(Say::Nothing)], 0..40),
        order in any::<u64>(),
    ) {
        let counts = Counts::default();
        let mut current = engine(verdicts, &counts);
        let calls: Vec<_> = tools.iter().enumerate().map(|(n, tool)| nth(&format!("t{tool}"), n)).collect();
        let (first, mut list) = run(&current, calls);
        prop_assert_eq!(first.results.len(), tools.len());

        let mut approved = BTreeSet::new();
        let mut denied = BTreeSet::new();
        let mut settled: BTreeMap<usize, Outcome> = BTreeMap::new();
        let mut says = says.into_iter();
        let mut rounds = 0;
        while !list.parked.is_empty() {
            rounds += 1;
            let mut answers = Answers::new();
            let open = ids(&list);
            let turn = usize::try_from(order % 7).unwrap() + rounds;
            for at in (0..open.len()).map(|at| (at + turn) % open.len()) {
                let (parked, id) = (&list.parked[at], open[at].clone());
                let is_question = parked.need == toolyard::Need::Input;
                match says.next().unwrap_or(Say::Deny) {
                    Say::Nothing => {}
                    Say::Deny => {
                        denied.insert(parked.index);
                        answers = answers.deny(id);
                    }
                    Say::Approve if is_question => {
                        answers = answers.with(id, Answer::Input(RawValue::from_string("1".into()).unwrap()));
                    }
                    Say::Approve => {
                        approved.insert(parked.index);
                        answers = answers.approve(id);
                    }
                }
            }
            if rounds % 2 == 0 {
                // Half of the time it goes on in another engine.
                current = engine(verdicts, &counts);
                list = SuspendedList::from_json(&list.to_json()).unwrap();
            }
            let report = resume(&current, &mut list, &answers).unwrap();
            for result in report.results {
                if result.outcome != Outcome::Suspended {
                    let before = settled.insert(result.index, result.outcome);
                    prop_assert!(before.is_none_or(|before| before == result.outcome), "settled once");
                }
            }
        }

        let ran: BTreeSet<_> = counts.ran_once().into_iter().map(|n| usize::try_from(n).unwrap()).collect();
        prop_assert_eq!(list.results.len(), tools.len());
        for (n, tool) in tools.iter().enumerate() {
            let may_run = match verdicts[*tool] {
                Verdict::Allow => true,
                Verdict::Ask => approved.contains(&n),
                Verdict::Deny => false,
            };
            let expected = if may_run && !denied.contains(&n) { Outcome::Ok } else { Outcome::Denied };
            prop_assert_eq!((list.results[n].index, list.results[n].outcome), (n, expected));
            prop_assert_eq!(ran.contains(&n), expected == Outcome::Ok);
        }
    }
}
