use std::{fmt, sync::Arc, time::Duration};

use futures::{StreamExt, future::BoxFuture, stream::FuturesUnordered};
use serde::Deserialize;
use serde_json::json;
use tokio::time::timeout;
use toolyard_actors::moment;
use toolyard_contract::{
    Failure, IntoTool, Invocation, StateScope, StateWork, Stateful, StatefulTool, Tool, ToolReturn, ToolSpec,
};

use super::{
    PythonReplConfig, ReplBackend, ReplSession, RunEnd, SessionSetup, SessionState,
    reply::returned,
    sessions::{Found, Seat, Sessions},
};

/// How long a session may take to begin: the first container of an engine takes some seconds.
const OPEN_WITHIN: Duration = Duration::from_mins(1);

/// How long names may take to be written down or read: a hundred times what they should.
const SAVE_WITHIN: Duration = Duration::from_secs(5);

/// The tool `python_repl`: runs Python code in a session of its agent's, which goes on between calls.
///
/// A call gives what the code printed and the value of a last expression. An exception makes it `failed`; names that
/// were defined before stay. A call that takes too long ends its session, and the next one begins a new one and says so.
///
/// The state of an agent's row is a snapshot of its session after the last call that was `ok`, as far as values can be
/// pickled: a session goes on from there in another process when the engine's state is loaded, or when it was ended to
/// make room. Loading a snapshot runs code, as pickles do, where the session's code runs.
pub struct PythonReplTool {
    spec: ToolSpec,
    config: PythonReplConfig,
    backend: Arc<dyn ReplBackend>,
    sessions: Arc<Sessions>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    code: Option<String>,
    input: Option<String>,
}

impl Arguments {
    fn code(text: &str) -> Result<String, Failure> {
        let given: Self =
            serde_json::from_str(text).map_err(|error| Failure::bad_arguments(error.to_string()))?;
        let code = [given.code, given.input].into_iter().flatten().find(|code| !code.trim().is_empty());
        code.ok_or_else(|| Failure::bad_arguments("no code: give it in `code`"))
    }
}

impl PythonReplTool {
    /// Makes the tool over what runs its sessions.
    pub fn new(config: PythonReplConfig, backend: impl ReplBackend) -> Self {
        let modules = config.allowed_modules.as_ref().map_or_else(String::new, |modules| {
            format!(" Modules that may be imported: {}.", modules.join(", "))
        });
        let globals = match config.globals.keys().map(String::as_str).collect::<Vec<_>>() {
            none if none.is_empty() => String::new(),
            names => format!(" Names that are defined from the beginning: {}.", names.join(", ")),
        };
        let description = format!(
            "Runs Python code in a session that goes on between calls: names stay defined. Gives what it printed and \
             the value of a last expression.{modules}{globals}"
        );
        // Providers refuse `anyOf` at the top of a schema, so the call itself checks that there is code.
        let spec = ToolSpec::new("python_repl")
            .description(description)
            .input_schema(json!({
                "type": "object",
                "properties": {
                    "code": {"type": "string", "description": "The code; may have many lines."},
                    "input": {"type": "string", "description": "The same as `code`, which wins."},
                },
                "additionalProperties": false,
            }))
            .output_schema(json!({"type": "string"}))
            .permission_action("python.run")
            .plain_text_input("input");
        backend.prepare();
        Self { spec, config, backend: Arc::new(backend), sessions: Arc::default() }
    }

    /// Runs one call on a session and gives the row's next state.
    async fn run(&self, mut invocation: Invocation, state: SessionState) -> (ToolReturn, SessionState) {
        let code = match Arguments::code(&invocation.arguments) {
            Ok(code) => code,
            Err(failure) => return (Err(failure), state),
        };
        let host = invocation.context.host().clone();
        let opened = timeout(OPEN_WITHIN, self.open(host.agent(), &state));
        let (mut session, seat, news) = match invocation.context.before_work(opened).await {
            Ok(Ok(opened)) => opened,
            Ok(Err(failure)) => return (Err(failure), state),
            Err(_) => return (Err(Failure::not_started("no session could be started in time")), state),
        };
        let until = moment::from_now(self.config.timeout);
        let ran = session.run(&code, until, self.config.max_output_bytes).await;
        let returned = returned(&ran, news.as_deref(), self.config.timeout.as_secs_f64());
        let gone = match ran.end {
            RunEnd::TimedOut => Some("the last call ran out of time"),
            RunEnd::Gone(_) => Some("the last call ended its process"),
            RunEnd::Done | RunEnd::Raised { .. } | RunEnd::Exited(_) => None,
        };
        if let Some(reason) = gone {
            session.end().await;
            seat.gone(reason);
            return (returned, state);
        }
        if returned.is_err() {
            session.rest();
            seat.put_back(session, state.mark);
            return (returned, state);
        }
        let next = self.keep(session, seat).await;
        (returned, next)
    }

    /// Writes the names of a session down and puts it back.
    async fn keep(&self, mut session: Box<dyn ReplSession>, seat: Seat) -> SessionState {
        let mark = fastrand::u64(1..);
        if self.config.max_snapshot_bytes == 0 {
            session.rest();
            seat.put_back(session, mark);
            return SessionState { mark, snapshot: None };
        }
        let saved = session.save(moment::from_now(SAVE_WITHIN), self.config.max_snapshot_bytes).await;
        if saved.is_some() {
            session.rest();
            seat.put_back(session, mark);
        } else {
            session.end().await;
            seat.give_up();
        }
        SessionState { mark, snapshot: saved.map(Arc::new) }
    }

    /// Finds the session of an agent or starts one, and says what is new about it.
    async fn open(
        &self,
        agent: Option<&str>,
        state: &SessionState,
    ) -> Result<(Box<dyn ReplSession>, Seat, Option<String>), Failure> {
        let (found, ended, seat) = loop {
            let freed = self.sessions.freed();
            match self.sessions.take(agent, state.mark, self.config.max_sessions) {
                (Found::NoRoom, ..) => freed.await,
                taken => break taken,
            }
        };
        if let Some(ended) = ended {
            ended.end().await;
        }
        let news = match found {
            Found::Session(mut session) => {
                if session.wake().await {
                    return Ok((session, seat, None));
                }
                None
            }
            Found::Ended(reason) => {
                Some(format!("new session, because {reason}: names defined before are gone"))
            }
            Found::Nothing | Found::NoRoom => None,
        };
        let setup = SessionSetup {
            allowed_modules: self.config.allowed_modules.clone(),
            globals: self.config.globals.clone(),
        };
        let mut session = match self.backend.open(agent, setup).await {
            Ok(session) => session,
            Err(unavailable) => {
                seat.give_up();
                return Err(Failure::not_started(unavailable.to_string()));
            }
        };
        let (None, Some(snapshot)) = (&news, &state.snapshot) else {
            return Ok((session, seat, news));
        };
        let Some(problems) = session.load(snapshot, moment::from_now(SAVE_WITHIN)).await else {
            session.end().await;
            seat.give_up();
            return Err(Failure::not_started("the names of the session could not be loaded"));
        };
        let missing = snapshot.not_kept.iter().chain(&problems);
        let missing: Vec<_> = missing.map(|(name, reason)| format!("{name} ({reason})")).collect();
        let news = match missing.len() {
            0 => "session loaded".to_owned(),
            _ => format!("session loaded without: {}", missing.join(", ")),
        };
        Ok((session, seat, Some(news)))
    }
}

impl StatefulTool for PythonReplTool {
    type State = SessionState;

    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn scope(&self) -> StateScope {
        StateScope::Agent
    }

    fn state_type(&self) -> Option<&str> {
        Some("python_repl")
    }

    fn initial(&self, _: Option<&str>) -> SessionState {
        SessionState::default()
    }

    fn work(self: Arc<Self>, invocation: Invocation, state: SessionState) -> StateWork<SessionState> {
        StateWork::Waits(Box::pin(async move { self.run(invocation, state).await }))
    }

    fn forget(&self, agent: &str) -> BoxFuture<'static, ()> {
        let session = self.sessions.forget(agent);
        Box::pin(async move {
            if let Some(session) = session {
                session.end().await;
            }
        })
    }

    /// Ends the sessions. Where an agent's row stays, its next session goes on from there.
    fn release(&self) -> BoxFuture<'static, ()> {
        end_all(self.sessions.release())
    }

    fn retire(&self) -> BoxFuture<'static, ()> {
        end_all(self.sessions.close())
    }
}

fn end_all(sessions: Vec<Box<dyn ReplSession>>) -> BoxFuture<'static, ()> {
    let ending: FuturesUnordered<_> = sessions.into_iter().map(ReplSession::end).collect();
    Box::pin(ending.collect())
}

impl IntoTool for PythonReplTool {
    fn into_tool(self) -> Arc<dyn Tool> {
        Arc::new(Stateful::new(self))
    }
}

impl fmt::Debug for PythonReplTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PythonReplTool").field("config", &self.config).finish_non_exhaustive()
    }
}
