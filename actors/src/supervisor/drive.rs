//! Drives one list from its plan to its report.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use futures::{StreamExt, future::BoxFuture, stream::FuturesUnordered};
use smallvec::SmallVec;
use tokio::{
    task::yield_now,
    time::{Instant, sleep_until},
};
use toolyard_contract::{Batch, Outcome, Step, ToolResult};

use super::{
    again::Retries,
    catalog::Entry,
    gate::{Label, Runnable},
    parking::Parking,
    route::Ways,
    run::Run,
    waiting::{Admitted, Waiting},
};
use crate::{
    admission::{Admission, AgentPass, turnstile::Permit},
    call_end::Finished,
    event::{EventKind, WaitsFor},
    mail::{Filed, ReadyCall},
    messages::Report,
    moment,
    restart::Readiness,
};

/// How many calls one message to a tool's actor carries at most, so that a long list does not keep
/// an arbiter from everything else.
const CHUNK: usize = 256;

/// How long a stopped call may take to say so before it counts as lost.
const GRACE: Duration = Duration::from_secs(5);

/// One list on its way.
pub(crate) struct Driver {
    pub(super) run: Arc<Run>,
    ways: Ways,
    admission: Arc<Admission>,
    pub(super) batches: Vec<Batch>,
    pub(super) steps: Vec<Step>,
    /// Those of the steps from `next` on.
    runnable: std::vec::IntoIter<Runnable>,
    /// By position.
    pub(super) answers: Vec<Option<Finished>>,
    pub(super) unanswered: usize,
    /// The first step that has not been put into a group.
    next: usize,
    /// How many of the first steps have ended.
    ended: usize,
    groups: SmallVec<[Waiting; 1]>,
    retries: Retries,
    admitting: Admitting,
    /// When the list was told to stop: nothing begins any more.
    stopped: Option<Instant>,
    /// Taken when the list ends.
    parking: Option<Parking>,
    _list_permit: Permit,
    /// Dropped after whoever waits, so that it finds its agent idle.
    agent: AgentPass,
}

/// Made when it is first needed: most lists need none.
type Admitting = Option<FuturesUnordered<BoxFuture<'static, (usize, Admitted)>>>;

impl Driver {
    #[allow(clippy::too_many_arguments)] // what one list consists of
    pub(super) fn new(
        run: Arc<Run>,
        ways: Ways,
        admission: Arc<Admission>,
        agent: AgentPass,
        plan: toolyard_contract::Plan,
        runnable: Vec<Runnable>,
        list_permit: Permit,
        parking: Parking,
    ) -> Box<Self> {
        let items = run.labels().len();
        Box::new(Self {
            retries: Retries::new(run.common().retry, run.id()),
            run,
            ways,
            admission,
            batches: plan.batches,
            steps: plan.steps,
            runnable: runnable.into_iter(),
            answers: std::iter::repeat_with(|| None).take(items).collect(),
            unanswered: items,
            next: 0,
            ended: 0,
            groups: SmallVec::new(),
            admitting: None,
            stopped: None,
            parking: Some(parking),
            _list_permit: list_permit,
            agent,
        })
    }

    /// Runs what is left of the list.
    pub(crate) async fn drive(mut self: Box<Self>) -> Report {
        let run = self.run.clone();
        // What does not wait ends when its actors have had their turn; waiting for it would cost more.
        if self.admitting.is_none() && run.mail().is_empty() {
            yield_now().await;
        }
        while self.unanswered > 0 {
            let filed = run.mail().take();
            if filed.is_empty() {
                self.wait(&run).await;
            }
            filed.into_iter().for_each(|filed| self.take(filed));
            self.start();
        }
        drop(run);
        self.report()
    }

    /// Waits until there is something to do, and does it; answers are only waited for.
    async fn wait(&mut self, run: &Run) {
        let wake_at = match self.stopped {
            Some(stopped) => Some(moment::after(stopped, GRACE)),
            None => run.deadline(),
        };
        tokio::select! {
            biased;
            () = run.mail().filled() => {}
            Some((group, admitted)) = next(&mut self.admitting) => self.admitted(group, admitted),
            Some((entry, call)) = self.retries.next(), if self.retries.any_pauses() => {
                self.groups.push(Waiting::new(entry, [call].into()));
                self.send(self.groups.len() - 1);
            }
            () = run.control().changed() => self.obey(),
            () = run.common().shutdown.cancelled(), if self.stopped.is_none() => run.control().cancel(),
            () = sleep_until(wake_at.unwrap_or_else(Instant::now)), if wake_at.is_some() => self.late(),
        }
    }

    /// Hands every step that may start to its tool, as far as there are permits.
    pub(super) fn start(&mut self) {
        if self.run.control().is_touched() {
            self.obey();
        }
        while self.ended < self.steps.len() && self.answers[self.steps[self.ended].call].is_some() {
            self.ended += 1;
        }
        let first = self.next;
        while self.next < self.steps.len() && self.steps[self.next].waits_for <= self.ended {
            self.next += 1;
        }
        if first == self.next {
            return;
        }
        if self.admitting.as_ref().is_none_or(FuturesUnordered::is_empty) {
            self.groups.clear();
        }
        let old = self.groups.len();
        for (step, Runnable { entry, arguments }) in (first..self.next).zip(&mut self.runnable) {
            let call = self.steps[step].call;
            if self.answers[call].is_some() {
                continue; // cancelled before its turn
            }
            let Ok(position) = u32::try_from(call) else { continue };
            self.retries.keep(&entry, position, &arguments);
            let call = ReadyCall { position, arguments, attempt: 1 };
            // Lists mostly use few tools, so looking from the end beats a map.
            let (earlier, new) = self.groups.split_at_mut(old);
            let group = new.iter_mut().rev().find(|group| Arc::ptr_eq(&group.entry, &entry));
            match group.or_else(|| earlier.iter_mut().find(|group| group.keeps_order(&entry))) {
                Some(group) => group.calls.push_back(call),
                None => self.groups.push(Waiting::new(entry, [call].into())),
            }
        }
        for group in old..self.groups.len() {
            self.send(group);
        }
    }

    /// Sends the calls of a group as long as permits are free, then queues for more.
    fn send(&mut self, index: usize) {
        let Waiting { entry, calls, told, until } = &mut self.groups[index];
        // The rules may have changed since the list was judged.
        if !entry.is_active(&self.run.common().activation) {
            let (calls, error) = (std::mem::take(calls), entry.inactive());
            self.refuse(calls, &Finished::without_output(Outcome::Inactive, error));
            return;
        }
        let Some(route) = self.ways.of(entry) else {
            return self.not_started(index, "nothing is there to run it", Duration::ZERO);
        };
        let gates = &entry.gates()[self.run.depth()];
        let row = entry.row_key(self.run.agent_id());
        let row = row.as_ref().map(|row| (&self.run.common().keys, row));
        let way = self.admission.way(&self.agent, gates, entry.is_blocking(), row);
        // Of calls on one row that block, or that a rate counts, those behind the first would only come back.
        let chunk = if row.is_some() && (entry.is_blocking() || way.has_rate()) { 1 } else { CHUNK };
        while !calls.is_empty() {
            let most = match route.readiness(self.run.agent_id().map(AsRef::as_ref)) {
                Readiness::Ready => chunk,
                Readiness::Probe => 1,
                Readiness::Wait(until) => {
                    told.tell(&self.run, calls, WaitsFor::Actor);
                    self.admitting.get_or_insert_default().push(Box::pin(async move {
                        sleep_until(until).await;
                        (index, Admitted::AskAgain)
                    }));
                    return;
                }
                Readiness::Broken(until) => return self.fail_fast(index, until),
            };
            let Some(permits) = way.try_pass(calls.len().min(most)) else {
                if self.run.listens() {
                    told.tell(&self.run, calls, way.shut_on());
                }
                let patience = self.admission.limits.admission_timeout;
                let until = *until.get_or_insert_with(|| moment::from_now(patience));
                let passing = way.pass(until, patience);
                self.admitting.get_or_insert_default().push(Box::pin(async move {
                    (index, passing.await.map_or_else(Admitted::Refused, Admitted::Passed))
                }));
                return;
            };
            if permits.has_row() && self.run.mail().has_back(entry) {
                drop(permits); // seldom: what came back from the row's last turn is before these
                self.take_what_came_back();
                return self.send(index);
            }
            *until = None;
            route.send(&self.run, entry, calls, permits);
        }
    }

    /// Answers the calls of a group whose tool is broken.
    fn fail_fast(&mut self, index: usize, until: Instant) {
        let retry_after = until.saturating_duration_since(Instant::now());
        self.not_started(index, "its actor has died too often; try again later", retry_after);
    }

    fn not_started(&mut self, index: usize, reason: &str, retry_after: Duration) {
        let group = &mut self.groups[index];
        let error = format!("tool {:?}: not started, because {reason}", group.entry.spec().name);
        let calls = std::mem::take(&mut group.calls);
        let mut finished = Finished::without_output(Outcome::NotStarted, error);
        finished.detail.get_or_insert_default().retry_after_ms =
            Some(u64::try_from(retry_after.as_millis()).unwrap_or(u64::MAX));
        self.refuse(calls, &finished);
    }

    /// Goes on with a group that had to wait.
    fn admitted(&mut self, index: usize, admitted: Admitted) {
        match admitted {
            Admitted::AskAgain => self.send(index),
            Admitted::Refused(refusal) => self.not_started(index, &refusal.reason(), refusal.retry_after),
            Admitted::Passed(mut permits) => {
                if permits.has_row() {
                    self.take_what_came_back();
                }
                let Waiting { entry, calls, until, .. } = &mut self.groups[index];
                *until = None;
                // An actor may have died meanwhile, or the tool was switched off; then the permit
                // goes back.
                let agent = self.run.agent_id().map(AsRef::as_ref);
                let route = self.ways.of(entry).map(|route| (route, route.readiness(agent)));
                let ready = route.filter(|(_, now)| matches!(now, Readiness::Ready | Readiness::Probe));
                if let Some((route, readiness)) = ready
                    && !calls.is_empty()
                    && entry.is_active(&self.run.common().activation)
                {
                    if permits.has_row() && readiness == Readiness::Ready && !entry.is_blocking() {
                        // Calls that end at once have the row together: one by one would cost a way each.
                        let gates = &entry.gates()[self.run.depth()];
                        let way = self.admission.way(&self.agent, gates, false, None);
                        way.widen(&mut permits, calls.len().min(CHUNK) - 1);
                    }
                    route.send(&self.run, entry, calls, permits);
                } else {
                    drop(permits);
                }
                self.send(index);
            }
        }
    }

    /// Answers calls that will not begin.
    fn refuse(&mut self, calls: impl IntoIterator<Item = ReadyCall>, finished: &Finished) {
        for call in calls {
            self.settle_unbegun(call.position, finished.clone());
        }
    }

    fn take(&mut self, filed: Filed) {
        match filed {
            Filed::One(position, finished) => self.tried(position, finished),
            Filed::Many(many) => {
                many.into_iter().for_each(|(position, finished)| self.tried(position, finished));
            }
            Filed::Back(entry, calls) => self.take_back(entry, calls),
        }
    }

    fn take_what_came_back(&mut self) {
        let letters = self.run.mail().take_back();
        letters.into_iter().for_each(|filed| self.take(filed));
    }

    /// Takes calls back that have not begun, because the row that they work on is taken.
    fn take_back(&mut self, entry: Arc<Entry>, calls: Vec<ReadyCall>) {
        let now = Instant::now();
        let mut left = VecDeque::with_capacity(calls.len());
        for call in calls {
            if self.answers[call.position as usize].is_some() {
                continue; // given up meanwhile
            }
            match self.run.skip_reason(call.position, now) {
                Some(reason) => self.skip(call.position, reason),
                None => left.push_back(call),
            }
        }
        if left.is_empty() {
            return;
        }
        let group = self.groups.iter().position(|group| group.keeps_order(&entry));
        let same = || self.groups.iter().position(|group| Arc::ptr_eq(&group.entry, &entry));
        if let Some(index) = group.or_else(same) {
            let group = &mut self.groups[index];
            let waits = !group.calls.is_empty();
            left.append(&mut group.calls);
            group.calls = left;
            if !waits {
                self.send(index);
            }
            return;
        }
        self.groups.push(Waiting::new(entry, left));
        self.send(self.groups.len() - 1);
    }

    /// Takes the end of a try, which mostly is the answer of the call.
    fn tried(&mut self, position: u32, finished: Finished) {
        let goes_on = self.stopped.is_none() && position <= self.run.control().last_to_start();
        if let Some(finished) = self.retries.ended(position, finished, goes_on) {
            self.settle(position, finished);
        } else {
            self.run.tell_waiting([position], WaitsFor::Retry);
        }
    }

    /// Takes the answer of a call that will not begin; one that was tried before has its answer
    /// from then.
    fn settle_unbegun(&mut self, position: u32, finished: Finished) {
        let finished = self.retries.give_up(position).unwrap_or(finished);
        self.settle(position, finished);
    }

    /// Takes the answer of a call; the first one counts.
    pub(super) fn settle(&mut self, position: u32, finished: Finished) {
        let Some(slot) = self.answers.get_mut(position as usize).filter(|slot| slot.is_none()) else {
            return;
        };
        self.run.stop_at_failure(position, &finished);
        let finished = slot.insert(finished);
        self.unanswered -= 1;
        // Filed first: those who listen run code of the host.
        if self.run.listens() {
            let call = self.run.info(position);
            let Finished { outcome, waited, elapsed, .. } = *finished;
            let error = finished.error.clone();
            self.run.emit(EventKind::Finished { call, outcome, error, waited, elapsed });
        }
    }

    /// Carries out what the caller's hand did.
    fn obey(&mut self) {
        if self.run.control().is_cancelled() {
            self.stop("cancelled before it began");
            return;
        }
        let last = self.run.control().last_to_start();
        if last < u32::MAX {
            self.skip_behind(last, "not begun, because a call before it did not end ok");
        }
        for position in self.run.control().cancelled_calls() {
            let begun_or_done = self.answers[position as usize].is_some() || !self.has_not_begun(position);
            if !begun_or_done {
                self.skip(position, "cancelled before it began");
            }
        }
    }

    /// The deadline of the list, or the grace after a stop, has passed.
    fn late(&mut self) {
        if self.stopped.is_none() {
            self.stop("not begun before the deadline of its list");
            return;
        }
        for position in 0..self.answers.len() {
            let Ok(position) = u32::try_from(position) else { return };
            let error = "was told to stop and did not answer";
            self.settle(position, Finished::without_output(Outcome::Lost, error).still_running());
        }
    }

    /// Lets nothing more begin. What runs is stopped by its own guard.
    fn stop(&mut self, reason: &str) {
        if self.stopped.is_none() {
            self.stopped = Some(Instant::now());
            self.skip_all(reason, |_| true);
        }
    }

    /// Skips what has not begun behind a position.
    fn skip_behind(&mut self, last: u32, reason: &str) {
        self.skip_all(reason, |position| position > last);
    }

    /// Skips the calls that have not begun and are meant. Steps are in call order, so those that are
    /// meant are the last ones.
    fn skip_all(&mut self, reason: &str, is_meant: impl Fn(u32) -> bool) {
        let mut unbegun = Vec::new();
        for group in &mut self.groups {
            let (meant, kept) =
                std::mem::take(&mut group.calls).into_iter().partition(|call| is_meant(call.position));
            group.calls = kept;
            unbegun.extend(VecDeque::<ReadyCall>::into_iter(meant).map(|call| call.position));
        }
        let is_kept = |step: &Step| u32::try_from(step.call).is_ok_and(|position| !is_meant(position));
        let cut = self.next + self.steps[self.next..].partition_point(is_kept);
        unbegun.extend(self.steps.drain(cut..).filter_map(|step| u32::try_from(step.call).ok()));
        unbegun.extend(self.retries.pausing().filter(|position| is_meant(*position)));
        for position in unbegun {
            self.skip(position, reason);
        }
    }

    fn skip(&mut self, position: u32, reason: &str) {
        for group in &mut self.groups {
            group.calls.retain(|call| call.position != position);
        }
        let tool = &self.run.labels()[position as usize].tool;
        let skipped = Finished::without_output(Outcome::Skipped, format!("tool {tool:?}: {reason}"));
        self.settle_unbegun(position, skipped);
    }

    /// Tells whether a call is still in this driver's hands.
    fn has_not_begun(&self, position: u32) -> bool {
        self.groups.iter().any(|group| group.calls.iter().any(|call| call.position == position))
            || self.steps[self.next..].iter().any(|step| step.call == position as usize)
            || self.retries.pauses(position)
    }

    fn report(mut self: Box<Self>) -> Report {
        let (batches, answers) = (std::mem::take(&mut self.batches), std::mem::take(&mut self.answers));
        let parking = self.parking.take();
        let mut run = self.run.clone();
        drop(self);
        let (id, elapsed) = (run.id(), run.began().elapsed());
        if run.listens() {
            run.emit(EventKind::ListFinished { elapsed });
        }
        // Whoever still holds the run (a thread that could not be stopped) keeps its own labels.
        let labels = match Arc::get_mut(&mut run) {
            Some(run) => run.take_labels(),
            None => run.labels().to_vec(),
        };
        let mut results = Vec::with_capacity(answers.len());
        let all = labels.into_iter().zip(answers).enumerate();
        results.extend(all.filter_map(|(index, (label, answer))| Some(result(index, label, answer?))));
        let parked = parking.map_or_else(Vec::new, |parking| parking.finish(run.scope(), &mut results));
        Report { run: id, results, batches, parked, elapsed }
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        if self.unanswered > 0 {
            self.run.control().cancel(); // nobody waits for the answers any more
        }
    }
}

/// Waits for the next group that got permits, or did not; `None` when nobody waits.
async fn next(admitting: &mut Admitting) -> Option<(usize, Admitted)> {
    admitting.as_mut()?.next().await
}

fn result(index: usize, label: Label, finished: Finished) -> ToolResult {
    let Label { tool, id } = label;
    let Finished { outcome, output, error, detail, elapsed, .. } = finished;
    ToolResult { index, id, tool, outcome, output, error, detail, request: None, elapsed }
}
