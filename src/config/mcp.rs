//! `[mcp.servers.NAME]`: MCP servers and how their connections are kept.

use std::{collections::BTreeMap, path::Path};

use serde::{Deserialize, Serialize};
use toolyard_actors::mcp::{
    Backoff, HealthCheck, HealthProbe, Isolation, LinkMode, McpLogLevel, McpRoot, McpServerConfig,
    ProtocolEra,
};

use super::{
    error::ConfigError,
    mcp_login::{BadKey, LoginSection},
    seconds::Seconds,
    whole,
};
use crate::InheritEnv;
use crate::mcp::description::LinkDescription;

/// The `[mcp]` part.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct McpSection {
    /// The servers. Default: none.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub servers: BTreeMap<String, McpServerSection>,
}

/// `[mcp.servers.NAME]`. A key that is absent has the default of [`McpServerConfig`]. In the texts of `command`, `args`,
/// `env`, `cwd`, `url` and `headers`, `${NAME}` stands for a variable of the environment, and `${NAME:-text}` for the
/// text where there is no such variable: so that no secret need stand in the file.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct McpServerSection {
    /// `stdio`, `http` or `sse`. Default: `stdio` with a `command`, `http` with a `url`.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The program of a server that is one: a name on `PATH`, or a path; a relative one starts at the folder of the
    /// configuration file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Its arguments. Default: none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// Variables set in its environment. Default: none.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Which variables of this process it sees: `"all"`, or names beside the short list of
    /// [`InheritEnv`](crate::InheritEnv). Default: the short list alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inherit_env: Option<InheritEnv>,
    /// The folder that it starts in; a relative one starts at the folder of the configuration file. Default: `/`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Where a server listens that is reached by HTTP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Headers of every request to it. Default: none.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// Leaves the server out. Default false.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub disabled: bool,
    /// `persistent`: one connection carries all calls; `per_call`: every call has one of its own. Default `persistent`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<LinkMode>,
    /// `auto`, `legacy` (up to 2025-11-25) or `modern` (from 2026-07-28). Default `auto`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub era: Option<ProtocolEra>,
    /// How long connecting may take, in seconds. Default 30.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connect_timeout_s: Option<Seconds>,
    /// How long a list, a prompt, a resource or a completion may take, in seconds. Default: as `connect_timeout_s`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_timeout_s: Option<Seconds>,
    /// How long one call may take, in seconds. Default: the engine's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_s: Option<Seconds>,
    /// How long calls under way may go on when the server is taken out, in seconds. Default 10.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drain_s: Option<Seconds>,
    /// The largest message that the server may send, in bytes. Default 67,108,864.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub largest_message_bytes: Option<usize>,
    /// Believes the server's hints. Default false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trust_hints: Option<bool>,
    /// How many connections of single calls may be open at once. Default 4.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub private_links: Option<usize>,
    /// How connecting is tried again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backoff: Option<BackoffSection>,
    /// Tells a server that is reached by streamable HTTP that its session has ended when the connection is closed.
    /// Default true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub terminate_on_close: Option<bool>,
    /// Gives each agent a connection of its own. Default: all share one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub isolation: Option<IsolationSection>,
    /// Asks the server now and then whether it is still there. Default: never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub health: Option<HealthSection>,
    /// The URIs of the places that the server may work in. Default: none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub roots: Vec<String>,
    /// From which gravity on the server is asked for its log: `debug`, `info`, `notice`, `warning`, `error`,
    /// `critical`, `alert` or `emergency`. Default: it is not asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log_level: Option<McpLogLevel>,
    /// How long a question of the server is held open for people to answer, in seconds. Default 3,600.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub question_timeout_s: Option<Seconds>,
    /// Sends a call again when its question is answered in another process, as `toolyard resume` does. Default false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeat_asked: Option<bool>,
    /// How the program logs in at a server that is reached by streamable HTTP. Default: not at all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub login: Option<LoginSection>,
}

/// `[mcp.servers.NAME.backoff]`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct BackoffSection {
    /// The longest pause before the second try, in seconds. Default 0.25.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_s: Option<Seconds>,
    /// The longest pause, in seconds. Default 30.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub longest_s: Option<Seconds>,
    /// How many failures in a row end the tries. Default 8.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tries: Option<u32>,
}

/// `[mcp.servers.NAME.isolation]`; it may be empty.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct IsolationSection {
    /// How many agents may have connections at the same time. Default 32.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub most: Option<usize>,
    /// How long a connection stays that its agent does not use, in seconds. Default 300.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_s: Option<Seconds>,
}

/// `[mcp.servers.NAME.health]`; it may be empty.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct HealthSection {
    /// How long the server is left alone after an answer, in seconds. Default 30.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub every_s: Option<Seconds>,
    /// How long it may take to answer, in seconds. Default 10.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub within_s: Option<Seconds>,
    /// `ping` or `list`. Default `ping`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<HealthProbe>,
}

impl McpSection {
    pub(super) fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Lets relative paths start at `folder`.
    pub(super) fn start_at(&mut self, folder: &Path) {
        let inside = |path: &String| whole(folder, path).to_string_lossy().into_owned();
        // What a variable begins may be absolute.
        let is_relative = |path: &&mut String| !path.starts_with("${");
        for server in self.servers.values_mut() {
            if let Some(folder) = server.cwd.as_mut().filter(is_relative) {
                *folder = inside(folder);
            }
            if let Some(command) = server.command.as_mut().filter(is_relative)
                && command.contains('/')
            {
                *command = inside(command);
            }
            server.login.iter_mut().for_each(|login| login.start_at(folder));
        }
    }

    /// The servers, but for those that are disabled, with variables filled in as `variable` knows them.
    ///
    /// # Errors
    /// When a server has neither command nor URL, a variable is not set, or a name cannot be a server's.
    pub fn servers(
        &self,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<BTreeMap<String, McpServerConfig>, ConfigError> {
        let enabled = self.servers.iter().filter(|(_, section)| !section.disabled);
        enabled.map(|(name, section)| Ok((name.clone(), section.config(name, &variable)?))).collect()
    }
}

impl McpServerSection {
    fn config(
        &self,
        name: &str,
        variable: &impl Fn(&str) -> Option<String>,
    ) -> Result<McpServerConfig, ConfigError> {
        toolyard_actors::mcp::check_name(name).map_err(|error| ConfigError::new(error.to_string()))?;
        let described = LinkDescription {
            kind: self.kind.clone(),
            command: self.command.clone(),
            args: self.args.clone(),
            env: self.env.clone(),
            inherit_env: self.inherit_env.clone(),
            folder: self.cwd.clone(),
            url: self.url.clone(),
            headers: self.headers.clone(),
        };
        let link = described.link(variable).map_err(|wrong| {
            let dot = if wrong.key.is_empty() { "" } else { "." };
            ConfigError::new(format!("mcp.servers.{name}{dot}{}: {}", wrong.key, wrong.reason))
        })?;
        let mut config = McpServerConfig::new(link);
        config.mode = self.mode.unwrap_or(config.mode);
        config.era = self.era.unwrap_or(config.era);
        config.connect_timeout = self.connect_timeout_s.map_or(config.connect_timeout, |seconds| seconds.0);
        config.read_timeout = self.read_timeout_s.map(|seconds| seconds.0);
        config.terminate_on_close = self.terminate_on_close.unwrap_or(config.terminate_on_close);
        config.timeout = self.timeout_s.map(|seconds| seconds.0);
        config.drain = self.drain_s.map_or(config.drain, |seconds| seconds.0);
        config.largest_message_bytes = self.largest_message_bytes.unwrap_or(config.largest_message_bytes);
        config.trust_hints = self.trust_hints.unwrap_or(config.trust_hints);
        config.private_links = self.private_links.unwrap_or(config.private_links);
        config.backoff = self.backoff.as_ref().map_or(config.backoff, BackoffSection::backoff);
        config.isolation = self.isolation.as_ref().map(IsolationSection::isolation);
        config.health = self.health.as_ref().map(HealthSection::check);
        config.roots = self.roots.iter().map(McpRoot::new).collect();
        config.log_level = self.log_level;
        config.question_timeout =
            self.question_timeout_s.map_or(config.question_timeout, |seconds| seconds.0);
        config.repeat_asked = self.repeat_asked.unwrap_or(config.repeat_asked);
        if let Some(section) = &self.login {
            let login = section.login(&config.link, variable);
            let wrong = |wrong: BadKey| ConfigError::new(format!("mcp.servers.{name}.{wrong}"));
            config.login = Some(login.map_err(wrong)?);
        }
        Ok(config)
    }
}

impl BackoffSection {
    fn backoff(&self) -> Backoff {
        let default = Backoff::default();
        Backoff {
            first: self.first_s.map_or(default.first, |seconds| seconds.0),
            longest: self.longest_s.map_or(default.longest, |seconds| seconds.0),
            tries: self.tries.unwrap_or(default.tries),
        }
    }
}

impl IsolationSection {
    fn isolation(&self) -> Isolation {
        let default = Isolation::default();
        let idle = self.idle_s.map_or(default.idle, |seconds| seconds.0);
        let most = self.most.unwrap_or(default.most);
        default.most(most).idle(idle)
    }
}

impl HealthSection {
    fn check(&self) -> HealthCheck {
        let default = HealthCheck::default();
        let every = self.every_s.map_or(default.every, |seconds| seconds.0);
        let within = self.within_s.map_or(default.within, |seconds| seconds.0);
        default.every(every).within(within).by(self.by.unwrap_or(default.by))
    }
}

/// Shows the names of variables and headers alone, and no arguments: any may hold secrets.
impl std::fmt::Debug for McpServerSection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("McpServerSection")
            .field("kind", &self.kind)
            .field("command", &self.command)
            .field("env", &self.env.keys())
            .field("headers", &self.headers.keys())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::config::Config;

    fn servers(text: &str) -> Result<BTreeMap<String, McpServerConfig>, String> {
        let variable = |name: &str| (name == "TOKEN").then(|| "hush".to_owned());
        let config = Config::parse(text).map_err(|error| error.to_string())?;
        config.mcp.servers(variable).map_err(|error| error.to_string())
    }

    const EVERY_KEY: &str = r#"
[mcp.servers.time]
type = "stdio"
command = "mcp-server-time"
args = ["--local-timezone", "${ZONE:-UTC}"]
env = { KEY = "${TOKEN}" }
inherit_env = ["OTHER"]
cwd = "/srv"
mode = "per_call"
era = "legacy"
connect_timeout_s = 5
read_timeout_s = 7
terminate_on_close = false
timeout_s = 60
drain_s = 0.5
largest_message_bytes = 1000
trust_hints = true
private_links = 2
backoff = { first_s = 1, longest_s = 2, tries = 3 }
isolation = { most = 7, idle_s = 8 }
health = { every_s = 9, within_s = 1, by = "list" }
roots = ["file:///srv"]
log_level = "warning"
question_timeout_s = 30
repeat_asked = true

[mcp.servers.web]
url = "http://127.0.0.1:1/mcp"
headers = { authorization = "Bearer ${TOKEN}" }

[mcp.servers.old]
type = "sse"
url = "http://127.0.0.1:1/sse"
isolation = {}

[mcp.servers.off]
disabled = true
"#;

    #[test]
    fn every_key_of_a_server_reaches_the_pool() {
        let servers = servers(EVERY_KEY).unwrap();
        assert_eq!(servers.keys().collect::<Vec<_>>(), ["old", "time", "web"]);
        let seconds = Duration::from_secs;
        let mut expected = McpServerConfig::stdio("mcp-server-time", ["--local-timezone", "UTC"])
            .env("KEY", "hush")
            .inherit_env(InheritEnv::names(["OTHER"]))
            .folder("/srv")
            .mode(LinkMode::PerCall)
            .connect_timeout(seconds(5))
            .read_timeout(seconds(7))
            .terminate_on_close(false)
            .timeout(seconds(60))
            .drain(Duration::from_millis(500))
            .largest_message_bytes(1000)
            .trust_hints(true)
            .backoff(Backoff { first: seconds(1), longest: seconds(2), tries: 3 })
            .isolation(Isolation::default().most(7).idle(seconds(8)))
            .health(HealthCheck::default().every(seconds(9)).within(seconds(1)).by(HealthProbe::List))
            .root(McpRoot::new("file:///srv"))
            .log_level(McpLogLevel::Warning)
            .question_timeout(seconds(30))
            .repeat_asked(true);
        expected.era = ProtocolEra::Legacy;
        expected.private_links = 2;
        assert_eq!(servers["time"], expected);
        let web = McpServerConfig::http("http://127.0.0.1:1/mcp").header("authorization", "Bearer hush");
        assert_eq!(servers["web"], web);
        let old = McpServerConfig::sse("http://127.0.0.1:1/sse").isolation(Isolation::default());
        assert_eq!(servers["old"], old);
    }

    #[test]
    fn what_is_wrong_with_a_server_is_named_by_its_key() {
        for (text, expected) in [
            ("", "mcp.servers.s: it needs a \"command\" or a \"url\""),
            ("command = \"${NOPE}\"", "mcp.servers.s.command: the environment variable \"NOPE\" is not set"),
            (
                "url = \"http://h\"\nheaders = { a = \"${NOPE}\" }",
                "mcp.servers.s.headers.a: the environment variable \"NOPE\" is not set",
            ),
            (
                "comand = \"x\"",
                "line 2, column 1: unknown key \"comand\"; the nearest known one is \"command\"",
            ),
            (
                "health = { evry_s = 1 }",
                "line 2, column 12: unknown key \"evry_s\"; the nearest known one is \"every_s\"",
            ),
            (
                "type = \"ssh\"",
                "mcp.servers.s: \"type\": \"ssh\" is not known; there is \"stdio\", \"http\" and \"sse\"",
            ),
        ] {
            assert_eq!(servers(&format!("[mcp.servers.s]\n{text}")).unwrap_err(), expected);
        }
    }

    #[test]
    fn a_section_reads_back_as_it_was_written_and_shows_no_secret() {
        let config = Config::parse(EVERY_KEY).unwrap();
        assert_eq!(Config::parse(&config.to_toml().unwrap()).unwrap(), config);
        let secret =
            Config::parse("[mcp.servers.s]\ncommand = \"c\"\nargs = [\"hush\"]\nenv = { K = \"hush\" }");
        assert!(!format!("{secret:?}").contains("hush"));
    }

    #[test]
    fn relative_paths_start_at_the_folder_of_the_file() {
        let mut section = Config::parse(
            "[mcp.servers.a]\ncommand = \"bin/x\"\ncwd = \"w\"\n[mcp.servers.b]\ncommand = \"x\"\ncwd = \"${HOME}\"",
        )
        .unwrap()
        .mcp;
        section.start_at(Path::new("/etc"));
        let paths = |name: &str| (section.servers[name].command.clone(), section.servers[name].cwd.clone());
        assert_eq!(paths("a"), (Some("/etc/bin/x".into()), Some("/etc/w".into())));
        assert_eq!(paths("b"), (Some("x".into()), Some("${HOME}".into())));
    }
}
