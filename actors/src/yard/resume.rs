//! Suspended lists that go on.

use std::time::Duration;

use jiff::Timestamp;
use toolyard_contract::{
    Answer, Answers, Arguments, Need, ParkedCall, PermissionRule, Refusal, Resumption, Standing,
    SuspendedList, ToolCall, ToolSpec,
};

use super::Yard;
use crate::{
    RunControl,
    messages::{EngineError, ExecuteCalls, ExecuteOptions, Report},
    supervisor::parking::executed,
};

/// Calls of a suspended list that answers have given free, and that have not begun.
#[derive(Debug)]
#[must_use = "claimed calls run only when the claim is run"]
pub struct Claim(Vec<Resumption>);

impl Yard {
    /// Takes answers to the requests of a suspended list: all of them, or none.
    ///
    /// Afterwards the record says what is claimed. Whoever keeps it on a disk makes it safe there
    /// before [`run_claim`](Self::run_claim): a claimed call whose process goes away is `lost`.
    ///
    /// # Errors
    /// Names the first answer that cannot be taken; then nothing has changed.
    pub fn claim(
        &self,
        list: &mut SuspendedList,
        answers: &Answers,
        options: &ExecuteOptions,
    ) -> Result<Claim, Refusal> {
        let permissions = &self.shared.common.permissions;
        let version = permissions.version();
        let check = |parked: &ParkedCall| {
            let id = &parked.call.request_id;
            if permissions.is_spent(id) {
                return Err(Refusal::Used(id.clone()));
            }
            let unchanged = match self.spec_of(&parked.binding.tool, options) {
                None => Err("its tool is not there any more"),
                Some(spec) => parked.check_unchanged(&spec, &version, &executed_now(parked, &spec, options)),
            };
            unchanged.map_err(|reason| Refusal::Changed { id: id.clone(), reason: reason.to_owned() })?;
            self.check_state(parked)
        };
        let before = list.clone();
        let mut resumed = list.claim(answers, Timestamp::now(), check)?;
        for (id, _) in answers.iter() {
            let Some(parked) = before.parked.iter().find(|parked| parked.call.request_id == id) else {
                continue;
            };
            if !permissions.spend(id, parked.binding.expires_at) {
                // Somebody else was quicker with a copy of the record.
                self.give_back(&before, answers, id);
                *list = before;
                return Err(Refusal::Used(id.to_owned()));
            }
        }
        for (id, answer) in answers.iter() {
            if matches!(answer, Answer::Deny(_)) {
                self.call_off(&before, id);
            }
            let parked = before.parked.iter().find(|parked| parked.call.request_id == id);
            let approved = parked.filter(|_| matches!(answer, Answer::ApproveForSession));
            if let Some(check) = approved.and_then(ParkedCall::approved) {
                permissions.allow_for_session(list.agent.as_deref(), &check);
            }
        }
        resumed.retain(|resumed| !self.renew_question(list, resumed, options));
        resumed.sort_by_key(|resumed| resumed.index);
        Ok(Claim(resumed))
    }

    /// Runs what was claimed, and gives the whole list as it stands then, in its original order.
    ///
    /// Calls that were not given free stay suspended; those whose requests no longer hold are asked
    /// about again. Nothing that has a result runs.
    ///
    /// # Errors
    /// When the engine does not take the list; then the claim is taken back.
    ///
    /// # Cancellation
    /// Dropping the future cancels what runs; the record still says that it was claimed.
    pub async fn run_claim(
        &self,
        list: &mut SuspendedList,
        Claim(resumed): Claim,
        mut options: ExecuteOptions,
        control: RunControl,
    ) -> Result<Report, EngineError> {
        let places: Vec<usize> = resumed.iter().map(|resumed| resumed.index).collect();
        let calls = places.iter().filter_map(|place| {
            let parked = list.parked.iter().find(|parked| parked.index == *place)?;
            let arguments = Arguments::Json(parked.call.arguments_text().to_owned());
            let mut call = ToolCall::new(parked.binding.tool.clone(), arguments);
            call.id = list.results[*place].id.clone();
            Some(Ok(call))
        });
        let calls = calls.collect();
        options.agent = list.agent.as_deref().map(Into::into);
        options.resumed = resumed
            .iter()
            .enumerate()
            .map(|(at, old)| Resumption { index: at, standing: old.standing.clone() })
            .collect();
        let report = match self.execute(ExecuteCalls { calls, options, control }).await {
            Ok(report) => report,
            Err(error) => {
                let claimed =
                    list.parked.iter().filter(|parked| parked.claimed && places.contains(&parked.index));
                claimed.for_each(|parked| self.shared.common.permissions.unspend(&parked.call.request_id));
                list.release(&resumed);
                return Err(error);
            }
        };
        let Report { run, mut results, mut batches, mut parked, elapsed } = report;
        for result in &mut results {
            result.index = places[result.index];
            result.tool.clone_from(&list.results[result.index].tool);
        }
        parked.iter_mut().for_each(|parked| parked.index = places[parked.index]);
        batches.iter_mut().flat_map(|batch| &mut batch.calls).for_each(|call| *call = places[*call]);
        list.settle(results, parked);
        list.batches.extend(batches);
        list.add_elapsed(elapsed);
        Ok(Report {
            run,
            results: list.results.clone(),
            batches: list.batches.clone(),
            parked: list.parked.clone(),
            elapsed: Duration::from_micros(list.elapsed_us),
        })
    }

    /// The rules that people have approved for the rest of an agent's session.
    pub fn session_rules(&self, agent: Option<&str>) -> Vec<PermissionRule> {
        self.shared.common.permissions.session_rules(agent)
    }

    /// Asks a tool's question again under a new id, when its request no longer holds: nothing needs to
    /// run for that. Tells whether it did.
    fn renew_question(
        &self,
        list: &mut SuspendedList,
        resumed: &Resumption,
        options: &ExecuteOptions,
    ) -> bool {
        let Some(parked) = list.parked.iter_mut().find(|parked| parked.index == resumed.index) else {
            return false;
        };
        let (Need::Input, Standing::AskAgain) = (&parked.need, &resumed.standing) else { return false };
        let Some(spec) = self.spec_of(&parked.binding.tool, options) else { return false };
        parked.binding = self.shared.common.permissions.bind(&spec, "", list.agent.as_deref());
        let id = parked.binding.request_id(&parked.need, &executed_now(parked, &spec, options));
        list.results[parked.index].request = Some(id.clone());
        list.used.push(std::mem::replace(&mut parked.call.request_id, id));
        true
    }

    /// Tells the tool of a denied call, if it waited for a value.
    fn call_off(&self, list: &SuspendedList, id: &str) {
        let Some(parked) = list.parked.iter().find(|parked| parked.call.request_id == id) else { return };
        if let (Some(kept), Some(entry)) = (&parked.kept, self.catalog().exact(&parked.binding.tool)) {
            entry.tool().call_off(kept);
        }
    }

    fn give_back(&self, list: &SuspendedList, answers: &Answers, until: &str) {
        let taken = answers.iter().map(|(id, _)| id).take_while(|id| *id != until);
        taken
            .filter(|id| list.parked.iter().any(|parked| parked.call.request_id == **id))
            .for_each(|id| self.shared.common.permissions.unspend(id));
    }

    /// What the tool of exactly this name says about itself.
    fn spec_of(&self, tool: &str, options: &ExecuteOptions) -> Option<ToolSpec> {
        let own = self.catalog().exact(tool).map(|entry| entry.spec().clone());
        own.or_else(|| {
            let guests = options.guests.iter().map(|guest| guest.spec());
            guests.into_iter().find(|spec| spec.name == tool).cloned()
        })
    }
}

fn executed_now(parked: &ParkedCall, spec: &ToolSpec, options: &ExecuteOptions) -> String {
    executed(parked.call.arguments_text(), spec, options.injected.as_deref(), options.inject_policy)
}
