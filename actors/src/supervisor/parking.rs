//! The calls of one list that wait for somebody. Nothing is held for them.

use std::sync::Arc;

use serde_json::{Map, Value};
use toolyard_contract::{
    Arguments, Detail, InjectPolicy, Need, Outcome, ParkedCall, SuspendedCall, ToolCall, ToolResult,
    ToolSpec,
    arguments::{inject, without_values_of_the_runtime},
    name,
};

use super::{
    common::Common,
    gate::{Asking, Label, Scope},
};
use crate::{call_end::Finished, messages::ExecuteOptions, permission::Permissions};

/// The calls of one list that wait.
pub(crate) struct Parking {
    common: Arc<Common>,
    agent: Option<Arc<str>>,
    injected: Option<Arc<Map<String, Value>>>,
    inject_policy: InjectPolicy,
    /// The calls of the list go on after they waited: they have their tools' own names.
    resumed: bool,
    calls: Vec<ParkedCall>,
}

impl Parking {
    pub(super) fn new(common: &Arc<Common>, options: &ExecuteOptions) -> Self {
        Self {
            common: common.clone(),
            agent: options.agent.clone(),
            injected: options.injected.clone(),
            inject_policy: options.inject_policy,
            resumed: !options.resumed.is_empty(),
            calls: Vec::new(),
        }
    }

    /// Parks a call that must be approved.
    pub(super) fn park(&mut self, asking: Asking, labels: &[Label]) -> Finished {
        let Asking { position, entry, arguments, check, rule } = asking;
        let label = &labels[position as usize];
        let reason = format!("waits for approval of {check}");
        let error = format!("tool {:?}: {reason}", label.tool);
        let need = Need::Approval { action: check.action, resource: check.resource, rule };
        let policy = self.permissions().version();
        self.add(position as usize, label, entry.spec(), arguments, need, &policy, reason, None);
        Finished::without_output(Outcome::Suspended, error)
    }

    /// Parks the calls whose tools have asked for a value, names every request in its call's result,
    /// and gives the calls that wait, in call order.
    pub(super) fn finish(mut self, scope: &Scope, results: &mut [ToolResult]) -> Vec<ParkedCall> {
        for call in &self.calls {
            results[call.index].request = Some(call.call.request_id.clone());
        }
        let waits = |result: &&mut ToolResult| result.outcome == Outcome::Suspended;
        for result in results.iter_mut().filter(waits).filter(|result| result.request.is_none()) {
            self.park_asked(scope, result);
        }
        self.mark_states(scope);
        self.calls.sort_by_key(|call| call.index);
        self.calls
    }

    /// Says of calls whose tools keep state which one it is: at the end, when the list has committed
    /// all that it will.
    fn mark_states(&mut self, scope: &Scope) {
        for call in &mut self.calls {
            let entry = scope.get(&call.call.tool);
            let used = entry.and_then(|entry| entry.has_row(self.agent.as_ref()));
            call.state = used.map(|used| self.common.origin.mark(used));
        }
    }

    fn park_asked(&mut self, scope: &Scope, result: &mut ToolResult) {
        let kept = result.detail.as_mut().and_then(|detail| detail.kept.take());
        if result.detail.as_deref() == Some(&Detail::default()) {
            result.detail = None;
        }
        let name = &result.tool;
        let entry = if self.resumed { scope.exact(name) } else { scope.get(name) }.cloned();
        let given_back = result.output.take().and_then(|output| {
            let injected = self.injected.as_deref();
            without_values_of_the_runtime(
                output.to_text(),
                entry.as_deref()?.spec(),
                injected,
                self.inject_policy,
            )
        });
        let (Some(arguments), Some(entry)) = (given_back, entry) else {
            result.outcome = Outcome::Failed;
            result.error = Some(format!(
                "tool {:?}: asked for a value, but did not give its arguments back",
                result.tool
            ));
            return;
        };
        let reason = result.error.clone().unwrap_or_default();
        let label = Label { tool: result.tool.clone(), id: result.id.clone() };
        self.add(result.index, &label, entry.spec(), arguments, Need::Input, "", reason, kept);
        result.request = self.calls.last().map(|parked| parked.call.request_id.clone());
    }

    #[allow(clippy::too_many_arguments)] // the parts of one parked call
    fn add(
        &mut self,
        index: usize,
        label: &Label,
        spec: &ToolSpec,
        arguments: String,
        need: Need,
        policy: &str,
        reason: String,
        kept: Option<Value>,
    ) {
        let binding = self.permissions().bind(spec, policy, self.agent.as_deref());
        let executed = executed(&arguments, spec, self.injected.as_deref(), self.inject_policy);
        let request = binding.request_id(&need, &executed);
        let made = ToolCall {
            name: label.tool.clone(),
            arguments: Arguments::Json(arguments),
            id: label.id.clone(),
        };
        // An alias, or the name that a provider sees, may lead elsewhere when the call goes on.
        let tool = name::key(&spec.name).into_owned();
        let call = SuspendedCall { tool, ..SuspendedCall::new(&made, request) };
        self.calls.push(ParkedCall { index, call, need, reason, binding, kept, state: None, claimed: false });
    }

    fn permissions(&self) -> &Permissions {
        &self.common.permissions
    }
}

/// The arguments of a call that waits with the values that the runtime would fill in now: what an answer is bound
/// to. What cannot be filled in is refused by the gate.
pub(crate) fn executed(
    arguments: &str,
    spec: &ToolSpec,
    injected: Option<&Map<String, Value>>,
    policy: InjectPolicy,
) -> String {
    let filled_in = inject(arguments.to_owned(), spec, injected, policy);
    filled_in.map_or_else(|_| arguments.to_owned(), |injected| injected.text)
}
