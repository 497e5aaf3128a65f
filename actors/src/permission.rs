//! Asks the policy about calls, and remembers what people have answered.

use std::{
    fmt,
    hash::{BuildHasher, RandomState},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, OnceLock},
    time::Duration,
};

use futures::{FutureExt, future::BoxFuture};
use jiff::Timestamp;
use parking_lot::{Mutex, RwLock};
use rustc_hash::FxHashMap;
use tokio::time::timeout;
use toolyard_contract::{
    Binding, Judgement, Outcome, PermissionCheck, PermissionContext, PermissionDecision, PermissionPolicy,
    PermissionRule, Standing, Tool, ToolSpec, Verdict, arguments::without_filled, canonical::canonical,
    permission::CompiledRule,
};

use crate::{call_end::Finished, guard::call_host};

/// Who judges calls, and how long people and policies may take.
#[derive(Clone)]
#[non_exhaustive]
pub struct PermissionConfig {
    /// Judges every call. Default: none, everything is allowed.
    pub policy: Option<Arc<dyn PermissionPolicy>>,
    /// How long a policy that must wait may take; then the call is denied. Default 30 s, as for
    /// everything else that keeps a list from starting.
    pub decide_within: Duration,
    /// How long a request stays open. Default 24 h: somebody may have to come to work first.
    pub answer_within: Duration,
}

impl Default for PermissionConfig {
    fn default() -> Self {
        Self { policy: None, decide_within: Duration::from_secs(30), answer_within: Duration::from_hours(24) }
    }
}

impl fmt::Debug for PermissionConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PermissionConfig")
            .field("policy", &self.policy.as_ref().map(|policy| policy.version().into_owned()))
            .field("decide_within", &self.decide_within)
            .field("answer_within", &self.answer_within)
            .finish()
    }
}

/// The permissions of one engine.
pub(crate) struct Permissions {
    pub(crate) config: PermissionConfig,
    session: RwLock<Vec<SessionRule>>,
    /// Requests that were answered here, until they would have expired anyway: whoever kept a copy of
    /// a record cannot use it twice.
    spent: Mutex<FxHashMap<String, Timestamp>>,
    nonces: RandomState,
}

struct SessionRule {
    agent: Option<String>,
    rule: CompiledRule,
}

/// What was said to one call, or will be.
pub(crate) struct Judged {
    pub(crate) position: u32,
    pub(crate) check: PermissionCheck,
    pub(crate) decision: PermissionDecision,
    /// The model's own arguments, where the runtime has filled some in since.
    pub(crate) arguments: Option<String>,
    /// The parameters that it has filled in.
    pub(crate) filled: Vec<String>,
    pub(crate) waits: Option<BoxFuture<'static, PermissionDecision>>,
}

/// What the policy has let pass for one call.
pub(crate) struct Passed {
    pub(crate) check: PermissionCheck,
    /// The parameters that the runtime has filled in.
    filled: Vec<String>,
    /// The arguments, from the first look on: the work has taken the others.
    arguments: OnceLock<Box<str>>,
}

impl Permissions {
    pub(crate) fn new(config: PermissionConfig) -> Self {
        Self { config, session: RwLock::default(), spent: Mutex::default(), nonces: RandomState::new() }
    }

    /// The version of the policy; empty without one. When it panics, one that is never the same again: no approval holds
    /// then.
    pub(crate) fn version(&self) -> String {
        let Some(policy) = &self.config.policy else { return String::new() };
        let version =
            call_host("the permission policy, asked for its version,", || policy.version().into_owned());
        version.unwrap_or_else(|| format!("unknown-{:016x}", fastrand::u64(..)))
    }

    /// Asks about one call; `None` when there is nothing to judge. `filled` names the parameters that the
    /// runtime has filled in.
    pub(crate) fn judge(
        &self,
        tool: &dyn Tool,
        position: u32,
        arguments: &str,
        filled: Vec<String>,
        agent: Option<&str>,
        standing: Option<&Standing>,
    ) -> Result<Option<Judged>, Finished> {
        let ask_again = matches!(standing, Some(Standing::AskAgain));
        let approved = match standing {
            Some(Standing::Approved { check }) => check.as_ref(),
            _ => None,
        };
        if self.config.policy.is_none() && !ask_again && approved.is_none() {
            return Ok(None);
        }
        let context = PermissionContext { agent, effects: tool.spec().effects.said(), filled: &filled };
        let check = match checked(tool, arguments, &context)? {
            Some(check) => check,
            None if ask_again || approved.is_some() => whole_call(tool.spec(), arguments, &filled),
            None => return Ok(None),
        };
        if let Some(approved) = approved.filter(|approved| **approved != check) {
            let PermissionCheck { action, resource } = &check;
            let error = format!(
                "tool {:?}: not permitted: what the call names has changed since it was approved: {} of {:?} was \
                 approved, and this is {action} of {resource:?} now",
                tool.spec().name,
                approved.action,
                approved.resource
            );
            return Err(Finished::without_output(Outcome::Denied, error));
        }
        let (mut decision, waits) = self.decide(&check, &context);
        if waits.is_none() {
            decision = stand(decision, standing);
        }
        Ok(Some(Judged { position, check, decision, arguments: None, filled, waits }))
    }

    /// Asks about something more that a call under way does.
    pub(crate) async fn judge_more(
        &self,
        check: &PermissionCheck,
        agent: Option<&str>,
        effects: Option<&[String]>,
    ) -> PermissionDecision {
        let waits = {
            let (decision, waits) = self.decide(check, &PermissionContext { agent, effects, filled: &[] });
            match waits {
                Some(waits) => waits,
                None => return decision,
            }
        };
        waits.await
    }

    fn decide(
        &self,
        check: &PermissionCheck,
        context: &PermissionContext<'_>,
    ) -> (PermissionDecision, Option<BoxFuture<'static, PermissionDecision>>) {
        let Some(policy) = &self.config.policy else {
            return (PermissionDecision::new(Verdict::Allow, "no policy"), None);
        };
        let judgement = catch_unwind(AssertUnwindSafe(|| policy.judge(check, context)));
        let session = self.session_rule(check, context.agent);
        match judgement {
            Ok(Judgement::Now(decision)) => (with_session(decision, session), None),
            Ok(Judgement::Later(waits)) => {
                let unanswered = PermissionDecision::new(Verdict::Deny, "the policy did not answer in time");
                let within = self.config.decide_within;
                let waits = async move {
                    match timeout(within, AssertUnwindSafe(waits).catch_unwind()).await {
                        Ok(Ok(decision)) => with_session(decision, session),
                        Ok(Err(_)) => panicked(),
                        Err(_) => unanswered,
                    }
                };
                (PermissionDecision::new(Verdict::Deny, "not decided yet"), Some(waits.boxed()))
            }
            Err(_) => (panicked(), None),
        }
    }

    fn session_rule(&self, check: &PermissionCheck, agent: Option<&str>) -> Option<String> {
        let session = self.session.read();
        let mut rules = session.iter().filter(|session| session.agent.as_deref() == agent);
        rules
            .find(|session| session.rule.matches(check))
            .map(|found| format!("session: {}", found.rule.rule()))
    }

    /// Allows an action on a resource for one agent as long as the engine lives.
    pub(crate) fn allow_for_session(&self, agent: Option<&str>, check: &PermissionCheck) {
        // The pattern of a rule for exactly one call is well-formed.
        let Ok(rule) = PermissionRule::exactly(Verdict::Allow, check).compile() else { return };
        let mut session = self.session.write();
        if !session.iter().any(|known| known.agent.as_deref() == agent && known.rule.rule() == rule.rule()) {
            session.push(SessionRule { agent: agent.map(str::to_owned), rule });
        }
    }

    /// Forgets what people have approved for an agent's session; gives how much that was.
    pub(crate) fn forget(&self, agent: &str) -> usize {
        let mut session = self.session.write();
        let before = session.len();
        session.retain(|session| session.agent.as_deref() != Some(agent));
        let forgotten = before - session.len();
        if session.len() < session.capacity() / 4 {
            session.shrink_to_fit();
        }
        forgotten
    }

    /// How much people have approved for sessions.
    pub(crate) fn grants(&self) -> usize {
        self.session.read().len()
    }

    /// The rules that people have approved for an agent's session.
    pub(crate) fn session_rules(&self, agent: Option<&str>) -> Vec<PermissionRule> {
        let session = self.session.read();
        let mine = session.iter().filter(|session| session.agent.as_deref() == agent);
        mine.map(|session| session.rule.rule().clone()).collect()
    }

    /// What an answer to a new request will be bound to.
    pub(crate) fn bind(&self, spec: &ToolSpec, policy: &str, agent: Option<&str>) -> Binding {
        let now = Timestamp::now();
        let expires_at = now.checked_add(self.config.answer_within).unwrap_or(Timestamp::MAX);
        let nonce = format!("{:016x}{:x}", self.nonces.hash_one(now.as_nanosecond()), now.as_nanosecond());
        Binding::new(spec, policy, agent, nonce, expires_at)
    }

    /// Notes that a request has been answered; false when it was before.
    pub(crate) fn spend(&self, request: &str, expires_at: Timestamp) -> bool {
        const SWEEP_AT: usize = 1_024; // requests
        let mut spent = self.spent.lock();
        if spent.len() >= SWEEP_AT && spent.len().is_power_of_two() {
            let now = Timestamp::now();
            spent.retain(|_, expires_at| *expires_at > now);
        }
        spent.insert(request.to_owned(), expires_at).is_none()
    }

    pub(crate) fn is_spent(&self, request: &str) -> bool {
        self.spent.lock().contains_key(request)
    }

    /// Takes an answer back that led to nothing.
    pub(crate) fn unspend(&self, request: &str) {
        self.spent.lock().remove(request);
    }
}

impl Passed {
    pub(crate) fn new(judged: Judged) -> (u32, Self) {
        (judged.position, Self { check: judged.check, filled: judged.filled, arguments: OnceLock::new() })
    }

    /// Looks again, just before the call's work begins, whether it would do what was judged.
    ///
    /// # Errors
    /// The answer of the call, when it would do something else by now.
    pub(crate) fn still_holds(
        &self,
        tool: &dyn Tool,
        arguments: &str,
        agent: Option<&str>,
    ) -> Result<(), Finished> {
        self.arguments.get_or_init(|| arguments.into());
        let effects = tool.spec().effects.said();
        let context = PermissionContext { agent, effects, filled: &self.filled };
        match checked(tool, arguments, &context)? {
            Some(now) if now != self.check => {
                let failure = self.check.changed_to(&now.resource);
                let error = format!("tool {:?}: {}", tool.spec().name, failure.error);
                Err(Finished::without_output(failure.outcome, error))
            }
            _ => Ok(()),
        }
    }

    /// Looks once more, when the work has waited before it begins.
    ///
    /// # Errors
    /// As [`still_holds`](Self::still_holds).
    pub(crate) fn holds_after_a_wait(&self, tool: &dyn Tool, agent: Option<&str>) -> Result<(), Finished> {
        self.arguments.get().map_or(Ok(()), |arguments| self.still_holds(tool, arguments, agent))
    }
}

/// Asks a tool, whose code may panic, what a call does.
fn checked(
    tool: &dyn Tool,
    arguments: &str,
    context: &PermissionContext<'_>,
) -> Result<Option<PermissionCheck>, Finished> {
    let check = catch_unwind(AssertUnwindSafe(|| tool.permission_check(arguments, context)));
    check.map_err(|_| {
        let error = format!("tool {:?}: panicked while saying what the call does", tool.spec().name);
        Finished::without_output(Outcome::Panicked, error)
    })
}

impl Judged {
    /// Waits for the policy's answer.
    pub(crate) async fn decided(&mut self, standing: Option<&Standing>) {
        if let Some(waits) = self.waits.take() {
            self.decision = stand(waits.await, standing);
        }
    }
}

/// What an earlier answer makes of a decision.
fn stand(mut decision: PermissionDecision, standing: Option<&Standing>) -> PermissionDecision {
    match (standing, decision.verdict) {
        (Some(Standing::Approved { .. }), Verdict::Ask) => {
            decision.verdict = Verdict::Allow;
            decision.rule = format!("approved; {}", decision.rule);
        }
        (Some(Standing::AskAgain), Verdict::Allow) => {
            decision.verdict = Verdict::Ask;
            decision.rule = format!("asked again; {}", decision.rule);
        }
        _ => {}
    }
    decision
}

fn with_session(decision: PermissionDecision, session: Option<String>) -> PermissionDecision {
    match (decision.verdict, session) {
        (Verdict::Ask, Some(rule)) => PermissionDecision::new(Verdict::Allow, rule),
        _ => decision,
    }
}

fn panicked() -> PermissionDecision {
    PermissionDecision::new(Verdict::Deny, "the policy panicked")
}

fn whole_call(spec: &ToolSpec, arguments: &str, filled: &[String]) -> PermissionCheck {
    let shown = without_filled(arguments, filled);
    let resource = canonical(&shown).unwrap_or_else(|_| shown.into_owned());
    PermissionCheck { action: spec.name.clone(), resource }
}
