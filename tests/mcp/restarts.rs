//! Servers on the official SDKs that are restarted between calls and while calls are under way.

use std::{fs, os::unix::fs::PermissionsExt, path::PathBuf, process::Command, time::Duration};

use serde_json::{Value, json};
use tempfile::TempDir;
use toolyard::{
    Engine, ExecuteOptions, Outcome, ToolCall, ToolResult,
    mcp::{Backoff, McpServerConfig, McpState, ProtocolEra},
};

use super::{
    engine_with, eventually, is_alive,
    listening::{Listening, SDK_SERVER, free_port},
    output, run, server, status, tools, within,
};
use crate::{
    processes::{assert_gone, mark, signal},
    venv,
};

/// A server on the TypeScript SDK.
pub(super) const TYPESCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/mcp/sdk_server.mjs");

/// What a server is made with.
#[derive(Clone, Copy, PartialEq)]
enum Sdk {
    Python(&'static str),
    TypeScript,
    /// `server-everything`, which writes no calls down.
    Everything,
}

/// How a server is reached.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    Stdio,
    Http,
    /// Streamable HTTP with sessions, at a server that would do without them too.
    HttpWithSessions,
    Sse,
}

impl Way {
    fn name(self) -> &'static str {
        match self {
            Self::Stdio => "stdio",
            Self::Http => "http",
            Self::HttpWithSessions => "sessions",
            Self::Sse => "sse",
        }
    }
}

/// One server and what became of the calls to it.
struct Place {
    sdk: Sdk,
    way: Way,
    port: u16,
    folder: TempDir,
    listening: Option<Listening>,
    calls: Vec<(String, Outcome)>,
}

impl Place {
    fn new(sdk: Sdk, way: Way) -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { sdk, way, port: free_port(), folder, listening: None, calls: Vec::new() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The file that a program is started by: while it is away, there is no server.
    fn program(&self) -> PathBuf {
        self.path("program")
    }

    /// How it is started, to listen or to be spoken to over its pipes.
    fn command(&self) -> Command {
        let transport = match self.way {
            Way::Stdio => None,
            Way::Http | Way::HttpWithSessions => Some("streamable-http"),
            Way::Sse => Some("sse"),
        };
        let mut command = match self.sdk {
            Sdk::Python(environment) => {
                let mut command = Command::new(venv::python(environment));
                command.arg(SDK_SERVER);
                command
            }
            Sdk::TypeScript => {
                let mut command = Command::new("node");
                command.arg(TYPESCRIPT).arg(venv::npm_modules("mcp"));
                command
            }
            Sdk::Everything => {
                let mut command = Command::new(venv::npm("mcp-server-everything"));
                command.arg(
                    transport.map_or("stdio", |name| if name == "sse" { name } else { "streamableHttp" }),
                );
                command.env("PORT", self.port.to_string());
                command
            }
        };
        if let (Some(transport), Sdk::Python(_) | Sdk::TypeScript) = (transport, self.sdk) {
            command.arg(self.port.to_string()).arg(transport);
        }
        command.env("NOTES", self.path("notes")).env("EXTRA", self.path("extra"));
        command
    }

    fn config(&self, mark: &str) -> McpServerConfig {
        let url = |path: &str| format!("http://127.0.0.1:{}/{path}", self.port);
        match self.way {
            Way::Stdio => {
                let command = self.command();
                let words = std::iter::once(command.get_program()).chain(command.get_args());
                let words: Vec<_> = words.map(|word| format!("'{}'", word.display())).collect();
                fs::write(self.program(), format!("#!/bin/sh\nexec {}\n", words.join(" "))).unwrap();
                fs::set_permissions(self.program(), fs::Permissions::from_mode(0o700)).unwrap();
                let config = McpServerConfig::stdio(self.program(), Vec::<String>::new()).env("MARK", mark);
                command.get_envs().fold(config, |config, (name, value)| {
                    config.env(name.display().to_string(), value.unwrap().display().to_string())
                })
            }
            Way::Http => McpServerConfig::http(url("mcp")),
            Way::HttpWithSessions => {
                let mut config = McpServerConfig::http(url("mcp"));
                config.era = ProtocolEra::Legacy;
                config
            }
            Way::Sse => McpServerConfig::sse(url("sse")),
        }
    }

    /// Starts a server that listens; the engine starts programs itself.
    async fn start(&mut self) {
        if self.way == Way::Stdio {
            let _ = fs::rename(self.path("away"), self.program());
        } else {
            self.listening = Some(Listening::of(self.command(), self.port).await);
        }
    }

    /// Ends the server by a signal. A program does not come back before it is started; it is seen that it is gone.
    async fn end(&mut self, engine: &Engine, name: &str) {
        if self.way == Way::Stdio {
            fs::rename(self.program(), self.path("away")).unwrap();
            let (before, there) = self.seen(engine);
            let pid = there.expect("the process of a server that runs");
            signal(name, u32::try_from(pid).unwrap());
            eventually("the program is gone", || !is_alive(&pid.to_string())).await;
            eventually("its end is seen", || self.seen(engine) != (before, there)).await;
        } else {
            let listening = self.listening.take().expect("a server that runs");
            if name == "TERM" { listening.terminate().await } else { drop(listening) }
        }
    }

    /// The connection and the process that the engine has.
    fn seen(&self, engine: &Engine) -> (u64, Option<i32>) {
        let status = status(engine).remove(self.way.name()).unwrap();
        (status.generation, status.pid)
    }

    fn notes(&self) -> Vec<String> {
        let notes = fs::read_to_string(self.path("notes")).unwrap_or_default();
        notes.lines().map(str::to_owned).collect()
    }

    /// The call of a tool that answers at once, or of one that never does.
    fn call(&self, number: &str, answers: bool) -> (String, Value) {
        let never = self.path("never");
        let (tool, arguments) = match (self.sdk, answers) {
            (Sdk::Everything, true) => ("echo", json!({"message": number})),
            (Sdk::Everything, false) => {
                ("trigger-long-running-operation", json!({"duration": 600, "steps": 1}))
            }
            (_, true) => ("note", json!({"text": number})),
            (_, false) => ("hold", json!({"text": number, "file": never})),
        };
        (format!("{}_{tool}", self.way.name()), arguments)
    }

    fn next_number(&self) -> String {
        self.calls.len().to_string()
    }

    fn file(&mut self, number: String, result: &ToolResult) {
        self.calls.push((number, result.outcome));
    }

    /// Makes a call that must be answered.
    async fn is_answered(&mut self, engine: &Engine, when: &str) {
        let (result, number) = self.make_call(engine).await;
        assert_eq!(result.outcome, Outcome::Ok, "{}, {when}: {result:?}", self.way.name());
        let answer = result.output.unwrap();
        let answer = answer.to_text();
        assert!(answer.ends_with(&number), "the answer to another call: {answer}");
    }

    /// Makes a call that must not have begun, for a reason that it says.
    async fn is_not_started(&mut self, engine: &Engine) {
        let (result, _) = self.make_call(engine).await;
        assert_eq!(result.outcome, Outcome::NotStarted, "{}: {result:?}", self.way.name());
        let reason = match self.way {
            Way::Stdio => "was found",
            _ => "no connection to its address can be made",
        };
        assert!(result.error.as_ref().unwrap().contains(reason), "{result:?}");
    }

    async fn make_call(&mut self, engine: &Engine) -> (ToolResult, String) {
        let number = self.next_number();
        let (tool, arguments) = self.call(&number, true);
        let result = within("a call ends", run(engine, &tool, arguments)).await;
        self.file(number.clone(), &result);
        (result, number)
    }

    /// Ends the server while calls are under way that are not answered, and starts it again before or after they end.
    async fn end_during(&mut self, engine: &Engine, name: &str, calls: usize, comes_back: bool) {
        let numbers: Vec<_> = (0..calls).map(|call| (self.calls.len() + call).to_string()).collect();
        let running: Vec<_> = numbers
            .iter()
            .map(|number| {
                let (tool, arguments) = self.call(number, false);
                let call = vec![ToolCall::new(tool, arguments.into())];
                let list = engine.submit(call, ExecuteOptions::new());
                tokio::spawn(async move { list.await })
            })
            .collect();
        if self.sdk == Sdk::Everything {
            eventually("the calls are sent", || status(engine)[self.way.name()].in_flight == calls).await;
        } else {
            let all = || numbers.iter().all(|number| self.notes().contains(number));
            eventually("the calls run", all).await;
        }
        self.end(engine, name).await;
        if comes_back {
            self.start().await;
        }
        for (running, number) in running.into_iter().zip(numbers) {
            let report = within("a call whose server has ended ends", running).await.unwrap();
            let result = report.unwrap().results.remove(0);
            let truthful = match self.sdk {
                Sdk::Everything => matches!(result.outcome, Outcome::Lost | Outcome::NotStarted),
                _ => result.outcome == Outcome::Lost,
            };
            assert!(truthful, "{}: {result:?}", self.way.name());
            self.file(number, &result);
        }
    }

    /// Tells whether it serves each request by itself, so that nobody sees that it was started anew.
    fn is_stateless(&self) -> bool {
        self.way == Way::Http && matches!(self.sdk, Sdk::Python("mcp2" | "fastmcp"))
    }

    /// Gives it one more tool from its next start on.
    fn adds(&self, tool: &str) {
        let before = fs::read_to_string(self.path("extra")).unwrap_or_default();
        fs::write(self.path("extra"), format!("{before}{tool}\n")).unwrap();
    }

    /// Waits until the tools of now are known.
    async fn is_listed(&self, engine: &Engine, tool: &str) {
        if self.sdk == Sdk::Everything {
            return;
        }
        let tool = format!("{}_{tool}", self.way.name());
        eventually("the list follows", || tools(engine).contains(&tool)).await;
        let result = run(engine, &tool, json!({})).await;
        assert!(result.is_ok(), "{result:?}");
    }

    /// Holds what became of the calls against what the server has written down.
    fn assert_truthful(&self) {
        if self.sdk == Sdk::Everything {
            return;
        }
        let notes = self.notes();
        for (number, outcome) in &self.calls {
            let times = notes.iter().filter(|note| *note == number).count();
            let expected = usize::from(matches!(outcome, Outcome::Ok | Outcome::Lost));
            assert_eq!(times, expected, "{}: call {number}, {outcome:?}", self.way.name());
        }
    }
}

async fn is_called_again(sdk: Sdk, way: Way) {
    let mark = mark();
    let mut place = Place::new(sdk, way);
    place.start().await;
    let engine = engine_with([(way.name(), place.config(&mark))]).await;
    place.is_answered(&engine, "at first").await;

    // Between calls, at once.
    place.end(&engine, "KILL").await;
    place.adds("first");
    place.start().await;
    place.is_answered(&engine, "killed between calls").await;
    if !place.is_stateless() {
        place.is_listed(&engine, "first").await;
    }

    // During calls.
    place.adds("second");
    place.end_during(&engine, "KILL", 20, true).await;
    place.is_answered(&engine, "killed during calls").await;
    place.is_listed(&engine, "second").await;

    // During a call, and then there is none for a while. A call whose events the reference server keeps is asked for
    // again for half a minute meanwhile.
    place.end_during(&engine, "TERM", usize::from(sdk != Sdk::Everything), false).await;
    for _ in 0..3 {
        place.is_not_started(&engine).await;
    }
    place.start().await;
    place.is_answered(&engine, "away for a while").await;
    place.assert_truthful();
    engine.shutdown(Duration::ZERO).await;
    assert_gone(&mark);
}

macro_rules! are_called_again_after_restarts {
    ($($server:ident: $sdk:expr, $way:ident;)*) => {$(
        #[tokio::test]
        async fn $server() {
            is_called_again($sdk, Way::$way).await;
        }
    )*};
}

mod servers_are_called_again_after_restarts {
    use super::{Sdk, Way, is_called_again};

    are_called_again_after_restarts! {
        on_the_first_python_sdk_over_pipes: Sdk::Python("mcp1"), Stdio;
        on_the_first_python_sdk_over_http: Sdk::Python("mcp1"), Http;
        on_the_first_python_sdk_over_events: Sdk::Python("mcp1"), Sse;
        on_the_second_python_sdk_over_pipes: Sdk::Python("mcp2"), Stdio;
        on_the_second_python_sdk_over_http: Sdk::Python("mcp2"), Http;
        on_the_second_python_sdk_over_http_with_sessions: Sdk::Python("mcp2"), HttpWithSessions;
        on_the_second_python_sdk_over_events: Sdk::Python("mcp2"), Sse;
        on_fastmcp_over_pipes: Sdk::Python("fastmcp"), Stdio;
        on_fastmcp_over_http: Sdk::Python("fastmcp"), Http;
        on_fastmcp_over_events: Sdk::Python("fastmcp"), Sse;
        on_the_typescript_sdk_over_pipes: Sdk::TypeScript, Stdio;
        on_the_typescript_sdk_over_http: Sdk::TypeScript, Http;
        on_the_typescript_sdk_over_events: Sdk::TypeScript, Sse;
        the_reference_one_over_pipes: Sdk::Everything, Stdio;
        the_reference_one_over_http: Sdk::Everything, Http;
        the_reference_one_over_events: Sdk::Everything, Sse;
    }
}

#[tokio::test]
async fn a_server_that_was_away_for_long_is_called_as_soon_as_it_is_back() {
    for (transport, path) in [("streamable-http", "mcp"), ("sse", "sse")] {
        let port = free_port();
        let url = format!("http://127.0.0.1:{port}/{path}");
        let config = if path == "sse" { McpServerConfig::sse(url) } else { McpServerConfig::http(url) };
        let given_up = Backoff { first: Duration::ZERO, longest: Duration::from_hours(1), tries: 0 };
        let engine = engine_with([("s", config.backoff(given_up))]).await;
        eventually("it is given up", || status(&engine)["s"].state == McpState::Failed).await;
        let server = Listening::start("mcp1", port, transport).await;
        engine.mcp().connect(Some("s")).await.unwrap();
        eventually("its list", || !tools(&engine).is_empty()).await;
        assert_eq!(output(&engine, "s_add", json!({"a": 2})).await, 3);

        drop(server);
        assert!(!run(&engine, "s_add", json!({"a": 2})).await.is_ok());
        eventually("it is given up again", || status(&engine)["s"].state == McpState::Failed).await;
        let _server = Listening::start("mcp1", port, transport).await;
        assert_eq!(output(&engine, "s_add", json!({"a": 2})).await, 3);
        engine.shutdown(Duration::ZERO).await;
    }
}

#[tokio::test]
async fn a_program_that_answers_and_is_killed_is_started_again_however_often() {
    let few = Backoff { first: Duration::from_millis(1), longest: Duration::from_hours(1), tries: 2 };
    let engine = engine_with([("s", server([]).backoff(few))]).await;
    for _ in 0..6 {
        let pid = output(&engine, "s_pid", json!({})).await;
        assert_eq!(run(&engine, "s_crash", json!({})).await.outcome, Outcome::Lost);
        assert_ne!(output(&engine, "s_pid", json!({})).await, pid);
    }
    engine.shutdown(Duration::ZERO).await;
}
