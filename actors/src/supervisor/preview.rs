//! A list that is judged and planned, and goes no further.

use toolyard_contract::Outcome;

use super::gate::Gated;
use crate::messages::{Permission, Preview, Problem};

impl Gated {
    /// Says what would become of the list.
    pub(super) fn preview(self, policy_version: String) -> Preview {
        let Self { labels, refused, asking, judged, runnable, plan } = self;
        let refused = refused.into_iter().map(|(position, finished)| Problem {
            index: position as usize,
            outcome: finished.outcome,
            error: finished.error.unwrap_or_default(),
        });
        let asking = asking.into_iter().map(|asking| Problem {
            index: asking.position as usize,
            outcome: Outcome::Suspended,
            error: format!("would wait for approval of {}", asking.check),
        });
        let mut problems: Vec<_> = refused.chain(asking).collect();
        problems.sort_by_key(|problem| problem.index);
        let permissions = judged.into_iter().map(|judged| Permission {
            index: judged.position as usize,
            check: judged.check,
            decision: judged.decision,
        });
        let permissions = permissions.collect();
        let tools = labels.into_iter().map(|label| label.tool.into_string()).collect();
        let effects = runnable.iter().map(|run| run.entry.spec().effects.clone()).collect();
        Preview { tools, effects, problems, plan, permissions, policy_version }
    }
}
