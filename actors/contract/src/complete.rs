//! Whether an agent's loop goes on after a list.

use serde_json::{Map, Value};

use crate::ToolResult;

pub use crate::completion::Completion;

/// What an agent loop does after a list.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum NextStep {
    /// It shows the results to the model and goes on.
    Observe,
    /// It waits: calls need answers before the list is whole.
    Wait {
        /// How many.
        requests: usize,
    },
    /// It ends: a call said so.
    Complete {
        /// The position of the first call that said so.
        call: usize,
        /// The patches of all calls that said so, laid over each other in call order.
        patch: Map<String, Value>,
        /// The status that the first one gave.
        status: String,
    },
}

impl NextStep {
    /// Tells whether the loop goes on at once.
    pub fn goes_on(&self) -> bool {
        matches!(self, Self::Observe)
    }

    /// Lays the patch of an agent's end over its state, before the host ends its loop; gives the status with which it
    /// ended. `None`: the loop does not end, and the state stays as it is.
    ///
    /// A value of the patch takes the place of the one under the same key, whole; other keys stay.
    ///
    /// ```
    /// use toolyard_contract::{Completion, NextStep};
    ///
    /// let mut state = serde_json::Map::from_iter([("answer".to_owned(), 0.into()), ("user".to_owned(), "me".into())]);
    /// let patch = serde_json::Map::from_iter([("answer".to_owned(), 42.into())]);
    /// let step = NextStep::after(0, [(0, &Completion::new().patch(patch))]);
    /// assert_eq!(step.apply_patch(&mut state), Some("SUCCESS"));
    /// assert_eq!(serde_json::Value::Object(state), serde_json::json!({"answer": 42, "user": "me"}));
    /// ```
    pub fn apply_patch(&self, state: &mut Map<String, Value>) -> Option<&str> {
        let Self::Complete { patch, status, .. } = self else { return None };
        state.extend(patch.clone());
        Some(status)
    }

    /// Reads the next step from the results of a list of which `requests` calls wait for answers.
    pub fn of(requests: usize, results: &[ToolResult]) -> Self {
        let said = results
            .iter()
            .filter_map(|result| Some((result.index, result.detail.as_ref()?.complete.as_ref()?)));
        Self::after(requests, said)
    }

    /// Reads the next step from what the calls of a list said, in call order.
    pub fn after<'a>(
        requests: usize,
        completions: impl IntoIterator<Item = (usize, &'a Completion)>,
    ) -> Self {
        if requests > 0 {
            return Self::Wait { requests };
        }
        let mut completions = completions.into_iter();
        let Some((call, first)) = completions.next() else { return Self::Observe };
        let mut patch = first.patch.clone();
        patch.extend(completions.flat_map(|(_, completion)| completion.patch.clone()));
        Self::Complete { call, patch, status: first.status.clone() }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn map(value: &Value) -> Map<String, Value> {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn patches_are_laid_over_the_state_in_call_order_and_the_first_status_counts() {
        let first = Completion::new().patch(map(&json!({"a": {"x": 1}, "b": 1})));
        let second = Completion::new().patch(map(&json!({"b": 2}))).status("LATER");
        let mut state = map(&json!({"a": {"old": 0}, "kept": true}));
        let step = NextStep::after(0, [(3, &first), (5, &second)]);
        assert_eq!(step.apply_patch(&mut state), Some("SUCCESS"));
        assert_eq!(Value::Object(state), json!({"a": {"x": 1}, "b": 2, "kept": true}));
    }

    #[test]
    fn a_loop_that_goes_on_or_waits_leaves_the_state_as_it_is() {
        let before = map(&json!({"a": 1}));
        let said = Completion::new().patch(map(&json!({"a": 2})));
        for step in [NextStep::after(0, []), NextStep::after(1, [(0, &said)])] {
            let mut state = before.clone();
            assert_eq!(step.apply_patch(&mut state), None);
            assert_eq!(state, before);
        }
    }
}
