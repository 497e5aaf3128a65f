//! Sessions in containers.

use std::{collections::BTreeMap, time::Duration};

use base64::prelude::{BASE64_STANDARD, Engine as _};
use futures::future::BoxFuture;
use serde::de::DeserializeOwned;
use tokio::time::{Instant, timeout_at};
use toolyard_actors::moment;
use toolyard_actors::sandbox::{
    ExecResult, RunRequest, Sandbox, SandboxError, SandboxLease, SandboxPool, SandboxSession,
};

use super::{
    CELL, Captured, Ran, ReplBackend, ReplSession, RunEnd, SNAPSHOT, SessionSetup, Snapshot, Unavailable,
    answer::{CellAnswer, LoadAnswer},
};

const REMOTE: &str = include_str!("container.py");

/// Where calls without an agent have their container.
const NO_AGENT: &str = "(no agent)";

/// The name of the sessions' interpreter in an agent's container.
const INTERPRETER: &str = "python_repl";

/// The file that names travel in.
const SNAPSHOT_FILE: &str = "/tmp/.python_repl_names.json";

/// How much of a value's text the way back from an interpreter has room for, in bytes.
const MOST_VALUE: usize = 24_000;

/// How long it may take until code that was told to stop is stopped.
const STOP_WITHIN: Duration = Duration::from_secs(15);

/// Runs sessions in an agent's container, which its other sandbox calls share: what the code does stays in there.
#[derive(Clone, Debug)]
pub struct Container {
    pool: SandboxPool,
}

impl Container {
    /// Makes a backend over an engine's sandboxes.
    pub fn new(pool: SandboxPool) -> Self {
        Self { pool }
    }
}

impl ReplBackend for Container {
    fn open(
        &self,
        agent: Option<&str>,
        setup: SessionSetup,
    ) -> BoxFuture<'static, Result<Box<dyn ReplSession>, Unavailable>> {
        let pool = self.pool.clone();
        let agent = agent.unwrap_or(NO_AGENT).to_owned();
        Box::pin(async move {
            let unavailable = |error: SandboxError| Unavailable(error.to_string());
            let lease = pool.lease(Some(&agent)).await.map_err(unavailable)?;
            let interpreter = lease.session(INTERPRETER);
            // One that an earlier session has left.
            interpreter.close().await.map_err(unavailable)?;
            let begun = interpreter.run_request(quietly(beginning(&setup))).await.map_err(unavailable)?;
            if !begun.is_success() {
                return Err(Unavailable(format!(
                    "the container's Python does not work: {}",
                    begun.stderr_text()
                )));
            }
            let sandbox = Sandbox::clone(&lease);
            let session = ContainerSession { pool, agent, sandbox, interpreter, lease: Some(lease) };
            let session: Box<dyn ReplSession> = Box::new(session);
            Ok(session)
        })
    }
}

/// The code that a session begins with.
fn beginning(setup: &SessionSetup) -> String {
    let source = literal(&format!("{SNAPSHOT}\n{CELL}\n{REMOTE}"));
    let allowed = setup.allowed_modules.as_deref().map_or_else(|| "None".to_owned(), literal);
    // JSON's `true` and `null` are not Python's, so the values go as a text.
    let defined = literal(&serde_json::to_string(&*setup.globals).unwrap_or_default());
    format!(
        "__toolyard__ = {{}}\nexec({source}, __toolyard__)\n\
         __toolyard__ = __toolyard__['Remote'](globals(), {allowed}, {defined})"
    )
}

/// JSON of texts and lists of them is Python too.
fn literal<T: serde::Serialize + ?Sized>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

fn quietly(code: impl Into<Vec<u8>>) -> RunRequest {
    RunRequest::python(code).artifacts(false)
}

/// Reads what an interpreter gave as the value of a packed answer: base 64 in Python's quotes.
fn unpacked<T: DeserializeOwned>(result: &ExecResult) -> Option<T> {
    let packed = result.value.as_deref()?.strip_prefix('\'')?.strip_suffix('\'')?;
    serde_json::from_slice(&BASE64_STANDARD.decode(packed).ok()?).ok()
}

struct ContainerSession {
    pool: SandboxPool,
    agent: String,
    sandbox: Sandbox,
    interpreter: SandboxSession,
    /// Keeps the container from being given away while the session is at work.
    lease: Option<SandboxLease>,
}

impl ContainerSession {
    async fn told(&self, code: String, until: Instant) -> Option<ExecResult> {
        let request = quietly(code).timeout(until.saturating_duration_since(Instant::now()));
        let told = timeout_at(moment::after(until, STOP_WITHIN), self.interpreter.run_request(request)).await;
        told.ok()?.ok().filter(ExecResult::is_success)
    }
}

fn ran(result: &ExecResult, most_output: usize) -> Ran {
    let answer: Option<CellAnswer> = unpacked(result);
    let mut ran = Ran::default();
    // Which of the two was cut is not told; it is the one that is full.
    let captured = |kept: &[u8]| {
        let total = (!result.truncated || kept.len() < most_output).then_some(kept.len() as u64);
        Captured::new(kept, total, most_output)
    };
    ran.stdout = captured(&result.stdout);
    ran.stderr = captured(&result.stderr);
    ran.value = answer.as_ref().and_then(|answer| answer.value(most_output.min(MOST_VALUE)));
    ran.notes = answer.as_ref().map(CellAnswer::notes).unwrap_or_default();
    ran.end = match answer {
        _ if result.timed_out => RunEnd::TimedOut,
        _ if result.session_lost => RunEnd::Gone(how_it_ended(result)),
        Some(answer) => answer.end(),
        None => RunEnd::Gone("the code broke its session".to_owned()),
    };
    ran
}

fn how_it_ended(result: &ExecResult) -> String {
    match (result.exit_code, result.signal) {
        _ if result.oom => "the memory of its container ran out".to_owned(),
        (Some(code), _) => format!("the code ended its Python process (exit status {code})"),
        (None, Some(signal)) => format!("the code ended its Python process (signal {signal})"),
        (None, None) => "the code ended its Python process".to_owned(),
    }
}

impl ReplSession for ContainerSession {
    fn wake(&mut self) -> BoxFuture<'_, bool> {
        Box::pin(async move {
            let Ok(lease) = self.pool.lease(Some(&self.agent)).await else { return false };
            self.lease = Some(lease);
            // An agent has one container at a time: while the old one is up, it is this one.
            self.sandbox.is_up()
        })
    }

    fn rest(&mut self) {
        self.lease = None;
    }

    fn run<'a>(&'a mut self, code: &'a str, until: Instant, most_output: usize) -> BoxFuture<'a, Ran> {
        Box::pin(async move {
            let call = format!("__toolyard__.run({}, {})", literal(code), most_output.min(MOST_VALUE));
            let request = quietly(call)
                .timeout(until.saturating_duration_since(Instant::now()))
                .output_bytes(most_output);
            match timeout_at(moment::after(until, STOP_WITHIN), self.interpreter.run_request(request)).await {
                Ok(Ok(result)) => ran(&result, most_output),
                Ok(Err(error)) => Ran { end: RunEnd::Gone(error.to_string()), ..Ran::default() },
                Err(_) => Ran { end: RunEnd::TimedOut, ..Ran::default() },
            }
        })
    }

    fn save(&mut self, until: Instant, most_bytes: usize) -> BoxFuture<'_, Option<Snapshot>> {
        Box::pin(async move {
            let code = format!("__toolyard__.save({most_bytes}, {})", literal(SNAPSHOT_FILE));
            self.told(code, until).await?;
            let written = timeout_at(until, self.sandbox.get(SNAPSHOT_FILE)).await.ok()?.ok()?;
            serde_json::from_slice(&written).ok()
        })
    }

    fn load<'a>(
        &'a mut self,
        snapshot: &'a Snapshot,
        until: Instant,
    ) -> BoxFuture<'a, Option<BTreeMap<String, String>>> {
        Box::pin(async move {
            let written = serde_json::to_vec(snapshot).ok()?;
            timeout_at(until, self.sandbox.put(SNAPSHOT_FILE, &written)).await.ok()?.ok()?;
            let result = self.told(format!("__toolyard__.load({})", literal(SNAPSHOT_FILE)), until).await?;
            let answer: LoadAnswer = unpacked(&result)?;
            Some(answer.problems)
        })
    }

    fn end(self: Box<Self>) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            // A container that is gone has taken the interpreter along.
            let _ = self.interpreter.close().await;
        })
    }
}
