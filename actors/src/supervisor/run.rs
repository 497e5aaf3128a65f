//! One list under way: what its calls, their tools and its caller share.

use std::{sync::Arc, time::Duration};

use futures::future::BoxFuture;
use rustc_hash::FxHashMap;
use serde_json::{Map, Value, value::RawValue};
use tokio::{runtime::Handle, time::Instant};
use toolyard_contract::{
    CallHost, CallId, Failure, InjectPolicy, Outcome, PermissionCheck, RunId, Runner, Standing, SubmitError,
    SubmitOptions, Tool, ToolCall, ToolResult, ToolSpec, Verdict, result::micros,
};
use tracing::{Span, field::Empty};

use super::{
    ancestry::Ancestry,
    catalog::Entry,
    common::Common,
    control::RunControl,
    gate::{Label, Scope},
};
use crate::{
    admission::Admission,
    call_end::Finished,
    event::{CallInfo, EventKind, WaitsFor},
    mail::{Answers, Filed, Mail, ReadyCall},
    messages::ExecuteOptions,
    moment,
    permission::{Judged, Passed},
    unbegun::Unbegun,
};

/// Runs the lists that the calls of a list submit: whoever supervises the list.
pub(crate) trait RunsNested: Send + Sync {
    /// Runs a list inside the call at `position` of `run`.
    fn run_nested(
        self: Arc<Self>,
        run: Arc<Run>,
        position: usize,
        deadline: Option<std::time::Instant>,
        calls: Vec<ToolCall>,
        options: SubmitOptions,
    ) -> BoxFuture<'static, Result<Vec<ToolResult>, SubmitError>>;
}

/// One list under way.
pub(crate) struct Run {
    id: RunId,
    agent: Option<Arc<str>>,
    injected: Option<Arc<Map<String, Value>>>,
    inject_policy: InjectPolicy,
    node: Option<Arc<str>>,
    runner: Option<Arc<dyn Runner>>,
    timeout: Option<Duration>,
    deadline: Option<Instant>,
    patience: Duration,
    stop_on_failure: bool,
    began: Instant,
    labels: Vec<Label>,
    /// The values that calls go on with.
    inputs: FxHashMap<usize, Input>,
    /// What the policy has let pass; empty without one.
    passed: FxHashMap<u32, Passed>,
    mail: Mail,
    unbegun: Unbegun,
    control: RunControl,
    common: Arc<Common>,
    nested: Arc<dyn RunsNested>,
    scope: Scope,
    ancestry: Ancestry,
    span: Span,
}

impl Run {
    pub(crate) fn new(
        id: RunId,
        common: Arc<Common>,
        nested: Arc<dyn RunsNested>,
        options: &ExecuteOptions,
        scope: Scope,
        labels: Vec<Label>,
        control: RunControl,
    ) -> Self {
        let began = Instant::now();
        let agent = options.agent.clone();
        // A list inside a call is in that call's span already.
        let span = {
            let _caller = options.caller.as_ref().map(Span::enter);
            tracing::info_span!("list", run = id.0, calls = labels.len(), gen_ai.agent.id = agent.as_deref())
        };
        Self {
            id,
            agent,
            injected: options.injected.clone(),
            inject_policy: options.inject_policy,
            node: options.node.clone(),
            runner: options.runner.clone(),
            timeout: options.timeout.or(common.timeout),
            deadline: options.deadline.or(common.deadline).map(|deadline| moment::after(began, deadline)),
            patience: common.admissions[0].limits.admission_timeout,
            stop_on_failure: options.stop_on_failure,
            began,
            labels,
            inputs: inputs(options),
            passed: FxHashMap::default(),
            mail: Mail::default(),
            unbegun: Unbegun::default(),
            control,
            common,
            nested,
            scope,
            ancestry: options.ancestry.clone(),
            span,
        }
    }

    /// Keeps what the policy has said to the calls that may run.
    pub(super) fn passed(&mut self, judged: Vec<Judged>) {
        let passed = judged.into_iter().filter(|judged| judged.decision.verdict == Verdict::Allow);
        self.passed = passed.map(Passed::new).collect();
    }

    /// Looks whether a call that is about to begin still does what the policy has let pass.
    ///
    /// # Errors
    /// The answer of the call, when it does not.
    pub(crate) fn still_permitted(
        &self,
        tool: &dyn Tool,
        position: u32,
        arguments: &str,
    ) -> Result<(), Finished> {
        match self.passed.get(&position) {
            Some(passed) => passed.still_holds(tool, arguments, self.agent.as_deref()),
            None => Ok(()),
        }
    }

    /// Tells whether a call that has waited before its work begins would still do what was judged.
    ///
    /// # Errors
    /// The answer of the call, when it would not.
    pub(crate) fn permitted_after_a_wait(&self, tool: &dyn Tool, position: u32) -> Result<(), Finished> {
        match self.passed.get(&position) {
            Some(passed) => passed.holds_after_a_wait(tool, self.agent.as_deref()),
            None => Ok(()),
        }
    }

    pub(crate) fn id(&self) -> RunId {
        self.id
    }

    pub(crate) fn common(&self) -> &Arc<Common> {
        &self.common
    }

    /// The tools that the list sees.
    pub(crate) fn scope(&self) -> &Scope {
        &self.scope
    }

    /// The values of the runtime.
    pub(crate) fn injected(&self) -> Option<&Arc<Map<String, Value>>> {
        self.injected.as_ref()
    }

    pub(crate) fn inject_policy(&self) -> InjectPolicy {
        self.inject_policy
    }

    pub(crate) fn ancestry(&self) -> &Ancestry {
        &self.ancestry
    }

    pub(crate) fn depth(&self) -> usize {
        self.ancestry.depth
    }

    /// The behaviour-tree node that the list runs for.
    pub(super) fn node(&self) -> Option<&Arc<str>> {
        self.node.as_ref()
    }

    pub(crate) fn agent_id(&self) -> Option<&Arc<str>> {
        self.agent.as_ref()
    }

    pub(crate) fn began(&self) -> Instant {
        self.began
    }

    pub(crate) fn runner(&self) -> Option<&Arc<dyn Runner>> {
        self.runner.as_ref()
    }

    pub(crate) fn timeout(&self) -> Option<Duration> {
        self.timeout
    }

    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    pub(crate) fn control(&self) -> &RunControl {
        &self.control
    }

    /// How long a call may wait for something that is busy before it is not started.
    pub(crate) fn patience(&self) -> Duration {
        self.patience
    }

    /// The calls that wait for what their work needs.
    pub(crate) fn unbegun(&self) -> &Unbegun {
        &self.unbegun
    }

    /// The permits for lists as deep as this one.
    pub(crate) fn admission(&self) -> &Arc<Admission> {
        &self.common.admissions[self.ancestry.depth]
    }

    /// Where the answers lie until the list's driver takes them.
    pub(crate) fn mail(&self) -> &Mail {
        &self.mail
    }

    pub(crate) fn take_labels(&mut self) -> Vec<Label> {
        std::mem::take(&mut self.labels)
    }

    pub(crate) fn labels(&self) -> &[Label] {
        &self.labels
    }

    /// Files the answer of a call that ran on its own.
    pub(crate) fn answer(self: &Arc<Self>, spec: &ToolSpec, position: u32, finished: Finished) {
        self.stop_at_last_try(spec, position, &finished);
        if self.common.overflow.concerns(&finished) {
            return self.cut_and_file(position, finished);
        }
        self.mail.file(Filed::One(position, finished));
    }

    /// Gives calls that have not begun back to the list's driver.
    pub(crate) fn give_back(&self, entry: &Arc<Entry>, calls: Vec<ReadyCall>) {
        self.mail.file(Filed::Back(entry.clone(), calls));
    }

    /// Files the answers of calls that ended together.
    pub(crate) fn answer_many(self: &Arc<Self>, mut answers: Answers) {
        let is_huge = |(_, finished): &(u32, Finished)| self.common.overflow.concerns(finished);
        if answers.iter().any(is_huge) {
            let (huge, usual): (Answers, _) = answers.into_iter().partition(is_huge);
            answers = usual;
            huge.into_iter().for_each(|(position, finished)| self.cut_and_file(position, finished));
        }
        match answers.len() {
            0 => {}
            1 => answers.into_iter().for_each(|(position, finished)| {
                self.mail.file(Filed::One(position, finished));
            }),
            _ => self.mail.file(Filed::Many(answers.into_vec())),
        }
    }

    /// Files an answer once it has been cut, on a thread: its file may take a while.
    fn cut_and_file(self: &Arc<Self>, position: u32, finished: Finished) {
        let run = self.clone();
        let cut = move || {
            let finished = run.common.overflow.cut(&format!("{}-{position}", run.id), finished);
            run.mail.file(Filed::One(position, finished));
        };
        match Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn_blocking(cut)),
            Err(_) => cut(),
        }
    }

    /// Stops at a failure, unless the call may be tried again: then the list's driver sees to it.
    pub(crate) fn stop_at_last_try(&self, spec: &ToolSpec, position: u32, finished: &Finished) {
        if !self.common.retry.wants(spec, finished) {
            self.stop_at_failure(position, finished);
        }
    }

    /// Lets nothing behind a call begin when it has ended badly and the caller asked for that.
    pub(crate) fn stop_at_failure(&self, position: u32, finished: &Finished) {
        // A call that waits has not ended.
        let ended_badly = !finished.outcome.is_ok() && finished.outcome != Outcome::Suspended;
        if self.stop_on_failure && ended_badly {
            self.control.start_nothing_after(position);
        }
    }

    /// Why the call must not begin any more, if so.
    pub(crate) fn skip_reason(&self, position: u32, now: Instant) -> Option<&'static str> {
        if self.control.is_touched() {
            if self.control.is_cancelled() || self.control.call_is_cancelled(position) {
                return Some("cancelled before it began");
            }
            if position > self.control.last_to_start() {
                return Some("not begun, because a call before it did not end ok");
            }
        }
        self.deadline.filter(|deadline| *deadline <= now).map(|_| "not begun before the deadline of its list")
    }

    pub(crate) fn listens(&self) -> bool {
        self.common.observers.listens()
    }

    pub(crate) fn emit(&self, kind: EventKind) {
        self.common.observers.emit(self.id, kind);
    }

    /// Tells what calls wait for, to those who listen.
    pub(crate) fn tell_waiting(&self, positions: impl IntoIterator<Item = u32>, on: WaitsFor) {
        if self.listens() {
            let calls = positions.into_iter().map(|position| self.info(position));
            calls.for_each(|call| self.emit(EventKind::Waiting { call, on }));
        }
    }

    pub(crate) fn info(&self, position: u32) -> CallInfo {
        let Label { tool, id } = &self.labels[position as usize];
        let node = self.node.clone();
        CallInfo { index: position as usize, tool: tool.clone(), id: id.clone(), node }
    }

    /// The span of the list.
    pub(crate) fn span(&self) -> &Span {
        &self.span
    }

    /// Makes the span of a call that begins, with the names that OpenTelemetry has for the calls of
    /// models; arguments are never recorded.
    pub(crate) fn call_span(&self, position: u32, started: Instant) -> Span {
        let label = &self.labels[position as usize];
        tracing::debug_span!(
            parent: &self.span,
            "execute_tool",
            otel.name = %format_args!("execute_tool {}", label.tool),
            otel.status_code = Empty,
            error.type = Empty,
            gen_ai.operation.name = "execute_tool",
            gen_ai.tool.name = label.tool.as_str(),
            gen_ai.tool.call.id = label.id.as_text(),
            gen_ai.tool.type = "function",
            wait_us = micros(started.saturating_duration_since(self.began)),
            run_us = Empty,
            outcome = Empty,
        )
    }
}

/// A value with which a call goes on, and what its tool has kept.
struct Input {
    value: Box<RawValue>,
    kept: Option<Value>,
}

fn inputs(options: &ExecuteOptions) -> FxHashMap<usize, Input> {
    let inputs = options.resumed.iter().filter_map(|resumed| match &resumed.standing {
        Standing::Input { value, kept } => {
            Some((resumed.index, Input { value: value.clone(), kept: kept.clone() }))
        }
        _ => None,
    });
    inputs.collect()
}

impl CallHost for Run {
    fn agent(&self) -> Option<&str> {
        self.agent.as_deref()
    }

    fn call_id(&self, position: usize) -> Option<&CallId> {
        self.labels.get(position).map(|label| &label.id)
    }

    fn is_cancelled(&self, position: usize) -> bool {
        self.control.is_cancelled()
            || u32::try_from(position).is_ok_and(|position| self.control.call_is_cancelled(position))
    }

    fn input(&self, position: usize) -> Option<&RawValue> {
        self.inputs.get(&position).map(|input| &*input.value)
    }

    fn kept(&self, position: usize) -> Option<&Value> {
        self.inputs.get(&position)?.kept.as_ref()
    }

    fn work_waits(&self, position: usize) {
        self.unbegun.enter(position);
    }

    fn work_begins(&self, position: usize) -> BoxFuture<'static, Option<std::time::Instant>> {
        let ready = self.unbegun.ready(position);
        Box::pin(async move { ready?.await.ok().flatten() })
    }

    fn judged(&self, position: usize) -> Option<&PermissionCheck> {
        self.passed.get(&u32::try_from(position).ok()?).map(|passed| &passed.check)
    }

    fn permit(
        self: Arc<Self>,
        position: usize,
        check: PermissionCheck,
    ) -> BoxFuture<'static, Result<(), Failure>> {
        Box::pin(async move {
            let permissions = &self.common.permissions;
            if permissions.config.policy.is_none() || self.judged(position) == Some(&check) {
                return Ok(());
            }
            let entry = self.labels.get(position).and_then(|label| self.scope.get(&label.tool));
            let effects = entry.and_then(|entry| entry.spec().effects.said());
            let decision = permissions.judge_more(&check, self.agent.as_deref(), effects).await;
            let verdict = decision.verdict;
            let error = match verdict {
                Verdict::Allow => String::new(),
                Verdict::Deny => format!("not permitted: {check}"),
                Verdict::Ask => format!(
                    "not permitted: somebody would have to approve {check}, for which a call under way cannot wait"
                ),
            };
            if let Some(call) = u32::try_from(position).ok().filter(|_| CallHost::listens(&*self)) {
                let (call, version) = (self.info(call), permissions.version());
                self.emit(EventKind::Judged { call, check, decision, version });
            }
            if verdict == Verdict::Allow { Ok(()) } else { Err(Failure::denied(error)) }
        })
    }

    fn listens(&self) -> bool {
        self.common.observers.listens()
    }

    fn progress(&self, position: usize, payload: Value) {
        if let Ok(position) = u32::try_from(position) {
            self.emit(EventKind::Progress { call: self.info(position), payload });
        }
    }

    fn submit(
        self: Arc<Self>,
        position: usize,
        deadline: Option<std::time::Instant>,
        calls: Vec<ToolCall>,
        options: SubmitOptions,
    ) -> BoxFuture<'static, Result<Vec<ToolResult>, SubmitError>> {
        self.nested.clone().run_nested(self, position, deadline, calls, options)
    }
}
