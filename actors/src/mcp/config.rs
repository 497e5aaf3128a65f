//! How a server is reached, and how its connection is kept.

use std::{collections::BTreeMap, fmt, path::PathBuf, time::Duration};

use serde::{Deserialize, Serialize};
use tokio::io::DuplexStream;

use super::{
    health::HealthCheck, host::McpRoot, in_process::InProcess, isolation::Isolation, login::McpLogin,
    notice::McpLogLevel,
};
use crate::child::{ChildCommand, InheritEnv};
use crate::pause::{doubled, spread};

/// How a server is reached.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub enum McpLink {
    /// A program that speaks over its standard input and output.
    Stdio {
        /// The program: a whole path, or a name that is looked up on `PATH`. A relative path starts at `folder`.
        command: PathBuf,
        /// Its arguments.
        args: Vec<String>,
        /// Variables set in its environment.
        env: BTreeMap<String, String>,
        /// Which of this process's variables it sees besides.
        inherit_env: InheritEnv,
        /// The folder that it starts in; `None`: `/`, as for a service, because programs take code and configuration
        /// from where they start.
        folder: Option<PathBuf>,
    },
    /// Streamable HTTP.
    Http {
        /// Where it listens.
        url: String,
        /// Headers of every request.
        headers: BTreeMap<String, String>,
    },
    /// HTTP with server-sent events, as the protocol had it before streamable HTTP.
    Sse {
        /// Where it sends its events.
        url: String,
        /// Headers of every request.
        headers: BTreeMap<String, String>,
    },
    /// A server in this process.
    InProcess(InProcess),
    /// A server whose description cannot be used. It never connects: its status, and each call of a tool of it, says why.
    Unusable {
        /// Why, in words for people.
        reason: String,
    },
}

/// How connections to a server are used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LinkMode {
    /// One connection carries all calls. Opened when it is first needed and kept.
    #[default]
    Persistent,
    /// Every call has a connection of its own, closed after it.
    PerCall,
}

/// Which revision of the protocol is spoken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProtocolEra {
    /// 2026-07-28 where the server knows it, else what it does know.
    #[default]
    Auto,
    /// Up to 2025-11-25: with a handshake.
    Legacy,
    /// From 2026-07-28: without one.
    Modern,
}

/// How one server is reached and its connection kept. Built by chaining; every field has a default.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct McpServerConfig {
    /// How the server is reached.
    pub link: McpLink,
    /// How connections are used. Default: one carries all calls.
    pub mode: LinkMode,
    /// Which revision of the protocol is spoken. Default: the newest that both know.
    pub era: ProtocolEra,
    /// How long connecting may take, and how long a call waits for it. Default 30 s: programs that are installed at
    /// their first start take that long.
    pub connect_timeout: Duration,
    /// How long a list, a prompt, a resource or a completion may take, once there is a connection. Default: the connect
    /// timeout.
    pub read_timeout: Option<Duration>,
    /// How long one call may take. Default: the engine's.
    pub timeout: Option<Duration>,
    /// The largest message that the server may send, in bytes; a larger answer fails its call. Default 64 MiB: a
    /// picture of 20 MB fits twice, as text and as structured content.
    pub largest_message_bytes: usize,
    /// Believes the server's hints: read-only tools may overlap with any call, and idempotent ones may be sent again.
    /// Default: false, because a server can claim anything.
    pub trust_hints: bool,
    /// How many private connections may be open at once with [`LinkMode::PerCall`]. Default 4: each may be a process.
    pub private_links: usize,
    /// How connecting is tried again.
    pub backoff: Backoff,
    /// How long calls under way may go on when the server is removed, replaced or disconnected; then they are `lost`.
    /// Default 10 s: most calls are done by then, and whoever changes servers does not wait for long.
    pub drain: Duration,
    /// Tells a server that is reached by streamable HTTP that its session has ended when the connection is closed.
    /// Default: true, so that it keeps nothing for us. Other servers end, or see their connection end, in any case.
    pub terminate_on_close: bool,
    /// Gives each caller a connection of its own. Default `None`: all share one.
    pub isolation: Option<Isolation>,
    /// Asks the server now and then whether it is still there. Default `None`: never.
    pub health: Option<HealthCheck>,
    /// How to log in at a server that is reached by streamable HTTP. Default `None`: it refuses who does not show
    /// enough by the headers.
    pub login: Option<McpLogin>,
    /// The places that the server may work in, beside those that the [host](super::McpHost::roots) names. Default:
    /// none.
    pub roots: Vec<McpRoot>,
    /// From which gravity on the server is asked for its log, which arrives as
    /// [notices](super::McpPool::notices). Default `None`: it is not asked, and may send what it likes.
    pub log_level: Option<McpLogLevel>,
    /// How long a question of the server is held open for people to answer. After it, the server is told that it is
    /// cancelled. Without effect from 2026-07-28 on, where nothing is held. Default 1 h: people are not always there.
    pub question_timeout: Duration,
    /// Sends a call again, from its start, when its question is answered in another process than the one that it was
    /// asked in, and the server has a session: then the request that asked is gone. Default: false, because what the
    /// call had done before it asked would be done twice; then the call is `lost`, unless its tool is idempotent.
    pub repeat_asked: bool,
}

/// How connecting is tried again after a failure.
#[derive(Clone, Debug, PartialEq)]
pub struct Backoff {
    /// The longest pause before the second try; it doubles with each further one. Default 250 ms.
    pub first: Duration,
    /// The longest pause. Default 30 s.
    pub longest: Duration,
    /// How many failures in a row end the tries; the next call after the longest pause begins anew. A call to a server
    /// that is reached over HTTP waits for no pause after a try that failed within a second. Default 8.
    pub tries: u32,
}

impl Default for Backoff {
    fn default() -> Self {
        Self { first: Duration::from_millis(250), longest: Duration::from_secs(30), tries: 8 }
    }
}

impl Backoff {
    /// The pause after so many failures in a row: at random between half and all of the longest, so that many
    /// clients of one server do not come back at the same moment.
    pub(super) fn pause(&self, failures: u32) -> Duration {
        spread(doubled(self.first, self.longest, failures.saturating_sub(1)), fastrand::f64())
    }
}

impl McpServerConfig {
    /// A server that is a program.
    pub fn stdio<A: Into<String>>(command: impl Into<PathBuf>, args: impl IntoIterator<Item = A>) -> Self {
        Self::new(McpLink::Stdio {
            command: command.into(),
            args: args.into_iter().map(Into::into).collect(),
            env: BTreeMap::new(),
            inherit_env: InheritEnv::default(),
            folder: None,
        })
    }

    /// A server that is reached by streamable HTTP.
    pub fn http(url: impl Into<String>) -> Self {
        Self::new(McpLink::Http { url: url.into(), headers: BTreeMap::new() })
    }

    /// A server that is reached by HTTP with server-sent events.
    pub fn sse(url: impl Into<String>) -> Self {
        Self::new(McpLink::Sse { url: url.into(), headers: BTreeMap::new() })
    }

    /// A server in this process: `connect` gives the client's end of a pair of streams for each connection, and serves
    /// the other, one message a line.
    pub fn in_process(connect: impl Fn() -> DuplexStream + Send + Sync + 'static) -> Self {
        Self::new(McpLink::InProcess(InProcess::new(connect)))
    }

    /// Starts with a link and all defaults.
    pub fn new(link: McpLink) -> Self {
        Self {
            link,
            mode: LinkMode::default(),
            era: ProtocolEra::default(),
            connect_timeout: Duration::from_secs(30),
            read_timeout: None,
            timeout: None,
            largest_message_bytes: 64 << 20,
            trust_hints: false,
            private_links: 4,
            backoff: Backoff::default(),
            drain: Duration::from_secs(10),
            terminate_on_close: true,
            isolation: None,
            health: None,
            login: None,
            roots: Vec::new(),
            log_level: None,
            question_timeout: Duration::from_hours(1),
            repeat_asked: false,
        }
    }

    /// Sets one variable of a program's environment. Without effect on a server reached by HTTP.
    #[must_use]
    pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        if let McpLink::Stdio { env, .. } = &mut self.link {
            env.insert(name.into(), value.into());
        }
        self
    }

    /// Sets which of this process's variables a program sees. Default: the short list of [`InheritEnv`], which has no
    /// secrets. Without effect on a server reached by HTTP.
    #[must_use]
    pub fn inherit_env(mut self, inherit: InheritEnv) -> Self {
        if let McpLink::Stdio { inherit_env, .. } = &mut self.link {
            *inherit_env = inherit;
        }
        self
    }

    /// Sets the folder that a program starts in. Without effect on a server reached by HTTP.
    #[must_use]
    pub fn folder(mut self, start: impl Into<PathBuf>) -> Self {
        if let McpLink::Stdio { folder, .. } = &mut self.link {
            *folder = Some(start.into());
        }
        self
    }

    /// Sets one header of every request. Without effect on a server that is a program.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        if let McpLink::Http { headers, .. } | McpLink::Sse { headers, .. } = &mut self.link {
            headers.insert(name.into(), value.into());
        }
        self
    }

    /// Sets how connections are used.
    #[must_use]
    pub fn mode(mut self, mode: LinkMode) -> Self {
        self.mode = mode;
        self
    }

    /// Sets how long connecting may take.
    #[must_use]
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// Sets how long a list, a prompt, a resource or a completion may take.
    #[must_use]
    pub fn read_timeout(mut self, timeout: Duration) -> Self {
        self.read_timeout = Some(timeout);
        self
    }

    /// Sets whether a server is told that its session has ended.
    #[must_use]
    pub fn terminate_on_close(mut self, terminate: bool) -> Self {
        self.terminate_on_close = terminate;
        self
    }

    /// How long requests that do no work may take.
    pub(super) fn patience(&self) -> Duration {
        self.read_timeout.unwrap_or(self.connect_timeout)
    }

    /// Sets how long one call may take.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Sets the largest message that the server may send, in bytes.
    #[must_use]
    pub fn largest_message_bytes(mut self, bytes: usize) -> Self {
        self.largest_message_bytes = bytes;
        self
    }

    /// Sets whether the server's hints are believed.
    #[must_use]
    pub fn trust_hints(mut self, trust: bool) -> Self {
        self.trust_hints = trust;
        self
    }

    /// Sets how to log in.
    #[must_use]
    pub fn login(mut self, login: McpLogin) -> Self {
        self.login = Some(login);
        self
    }

    /// Adds a place that the server may work in.
    #[must_use]
    pub fn root(mut self, root: McpRoot) -> Self {
        self.roots.push(root);
        self
    }

    /// Sets from which gravity on the server's log is wanted.
    #[must_use]
    pub fn log_level(mut self, level: McpLogLevel) -> Self {
        self.log_level = Some(level);
        self
    }

    /// Sets how long a question of the server is held open.
    #[must_use]
    pub fn question_timeout(mut self, timeout: Duration) -> Self {
        self.question_timeout = timeout;
        self
    }

    /// Sets whether a call is sent again when its question is answered in another process.
    #[must_use]
    pub fn repeat_asked(mut self, repeat: bool) -> Self {
        self.repeat_asked = repeat;
        self
    }

    /// Sets how connecting is tried again.
    #[must_use]
    pub fn backoff(mut self, backoff: Backoff) -> Self {
        self.backoff = backoff;
        self
    }

    /// Sets how long calls under way may go on when the server is removed, replaced or disconnected.
    #[must_use]
    pub fn drain(mut self, drain: Duration) -> Self {
        self.drain = drain;
        self
    }

    /// Gives each caller a connection of its own.
    #[must_use]
    pub fn isolation(mut self, isolation: Isolation) -> Self {
        self.isolation = Some(isolation);
        self
    }

    /// Asks the server now and then whether it is still there.
    #[must_use]
    pub fn health(mut self, check: HealthCheck) -> Self {
        self.health = Some(check);
        self
    }
}

impl McpLink {
    /// How its program is started, where it has one.
    pub(super) fn command(&self) -> Option<ChildCommand> {
        let Self::Stdio { command, args, env, inherit_env, folder } = self else { return None };
        let start = ChildCommand::new(command).args(args).inherit_env(inherit_env.clone());
        let start = env.iter().fold(start, |start, (name, value)| start.env(name, value));
        Some(match folder {
            Some(folder) => start.folder(folder),
            None => start,
        })
    }
}

/// Shows the names of variables and headers alone: their values may be secrets.
impl fmt::Debug for McpLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stdio { command, env, folder, .. } => f
                .debug_struct("Stdio")
                .field("command", command)
                .field("env", &env.keys())
                .field("folder", folder)
                .finish_non_exhaustive(),
            Self::Http { headers, .. } => {
                f.debug_struct("Http").field("headers", &headers.keys()).finish_non_exhaustive()
            }
            Self::InProcess(server) => server.fmt(f),
            Self::Unusable { reason } => f.debug_struct("Unusable").field("reason", reason).finish(),
            Self::Sse { headers, .. } => {
                f.debug_struct("Sse").field("headers", &headers.keys()).finish_non_exhaustive()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_longest_and_are_spread() {
        let backoff = Backoff::default();
        for failures in 1..40 {
            let most = Duration::from_millis(250).saturating_mul(2_u32.saturating_pow(failures - 1));
            let most = most.min(backoff.longest);
            let pause = backoff.pause(failures);
            assert!(pause <= most && pause >= most / 2, "{failures}: {pause:?}");
        }
        let pauses: std::collections::BTreeSet<_> = (0..20).map(|_| backoff.pause(5)).collect();
        assert!(pauses.len() > 1);
    }

    #[test]
    fn debug_output_has_no_secrets() {
        let config = McpServerConfig::stdio("server", ["--token=hush"]).env("KEY", "hush");
        assert!(!format!("{config:?}").contains("hush"));
    }
}
