//! The `mcp.json` files of desktop clients and editors.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, MapAccess, Visitor},
};
use serde_json::{Value, value::RawValue};
use toolyard_actors::mcp::check_name;

use super::{McpLink, McpServerConfig, description::LinkDescription};
use crate::{InheritEnv, config::LoginSection};

/// Why a file of servers cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServersError {
    /// It is not JSON of the right shape.
    #[error("{}", without_values(.0))]
    Unreadable(serde_json::Error),
    /// A comment in it has no end.
    #[error("it cannot be read: {0}")]
    Comment(#[from] std::io::Error),
    /// It names no servers.
    #[error("it has no servers: they stand in \"mcpServers\", or in \"servers\"")]
    NoServers,
}

/// The servers of a file.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct ServersFile {
    /// Each server but those that are disabled. One whose description cannot be used has a
    /// [link](McpLink::Unusable) that says why, so that it keeps no other out.
    pub servers: BTreeMap<String, McpServerConfig>,
    /// What was passed over, in words for people.
    pub warnings: Vec<String>,
}

/// Reads servers as desktop clients and editors write them: under `mcpServers`, `servers` or `mcp.servers`, with comments,
/// commas before a closing bracket and a byte-order mark; an address as `url`, `httpUrl` or `serverUrl`; numbers and
/// booleans in `args`, `env` and `headers` as the texts that they are. Servers that are `disabled`, or not `enabled`, are
/// left out; keys that are not known are warned of.
///
/// `${NAME}` and `${env:NAME}` stand for the variable `NAME` as `variable` knows it, `${NAME:-text}` for the text where
/// there is no such variable, and `${userHome}` for `HOME`.
///
/// # Errors
/// When the text is not of this form at all. What is wrong with one server is said by its link alone. No error repeats a
/// value, which may be a secret.
pub fn read_servers(
    text: &str,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<ServersFile, ServersError> {
    let mut text = text.trim_start_matches('\u{feff}').to_owned();
    json_strip_comments::strip(&mut text)?;
    let whole: File<'_> = serde_json::from_str(&text).map_err(ServersError::Unreadable)?;
    let in_part = whole.mcp.and_then(|part| part.servers);
    let described = whole.mcp_servers.or(whole.servers).or(in_part).ok_or(ServersError::NoServers)?;
    let mut read = ServersFile::default();
    let mut seen = BTreeSet::new();
    for (server, description) in described.0 {
        if let Err(error) = check_name(&server) {
            read.warnings.push(format!("a server is left out: {error}"));
            continue;
        }
        let twice = !seen.insert(server.clone());
        let config = match Entry::read(description) {
            _ if twice => unusable("it is written twice: leave one of them out"),
            Err(reason) => unusable(&reason),
            Ok(entry) if entry.disabled => continue,
            Ok(entry) => {
                let unknown =
                    entry.unknown.iter().map(|key| format!("server {server:?}: the key {key:?} is not used"));
                read.warnings.extend(unknown);
                entry.config(&variable).unwrap_or_else(|reason| unusable(&reason))
            }
        };
        read.servers.insert(server, config);
    }
    Ok(read)
}

fn unusable(reason: &str) -> McpServerConfig {
    McpServerConfig::new(McpLink::Unusable { reason: format!("its description cannot be used: {reason}") })
}

#[derive(Deserialize)]
struct File<'a> {
    #[serde(borrow, rename = "mcpServers")]
    mcp_servers: Option<Pairs<'a>>,
    #[serde(borrow)]
    servers: Option<Pairs<'a>>,
    #[serde(borrow)]
    mcp: Option<Part<'a>>,
}

/// Where the settings of an editor have servers.
#[derive(Deserialize)]
struct Part<'a> {
    #[serde(borrow)]
    servers: Option<Pairs<'a>>,
}

/// An object as it stands, with keys that are there twice.
struct Pairs<'a>(Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Pairs<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;
        impl<'de> Visitor<'de> for Object {
            type Value = Pairs<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(Pairs(pairs))
            }
        }
        deserializer.deserialize_map(Object)
    }
}

/// One server.
#[derive(Default)]
struct Entry {
    link: LinkDescription,
    login: Option<Value>,
    disabled: bool,
    unknown: Vec<String>,
}

impl Entry {
    fn read(description: &RawValue) -> Result<Self, String> {
        let keys: Pairs<'_> =
            serde_json::from_str(description.get()).map_err(|_| "it must be an object".to_owned())?;
        let mut entry = Self::default();
        for (key, value) in keys.0 {
            let link = &mut entry.link;
            match key.as_str() {
                "type" | "transport" => link.kind = Some(text(&key, value)?),
                "command" => link.command = Some(text(&key, value)?),
                "args" => link.args = texts(&key, value)?,
                "env" => link.env = named_texts(&key, value)?,
                "inheritEnv" => {
                    let wanted = "\"all\" or a list of names";
                    link.inherit_env = Some(typed::<InheritEnv>(&key, value, wanted)?);
                }
                "cwd" => link.folder = Some(text(&key, value)?),
                "url" | "httpUrl" | "serverUrl" => link.url = Some(text(&key, value)?),
                "headers" => link.headers = named_texts(&key, value)?,
                "login" => entry.login = Some(typed(&key, value, "an object")?),
                "disabled" => entry.disabled |= typed::<bool>(&key, value, "true or false")?,
                "enabled" => entry.disabled |= !typed::<bool>(&key, value, "true or false")?,
                _ => entry.unknown.push(key),
            }
        }
        Ok(entry)
    }

    fn config(mut self, variable: &impl Fn(&str) -> Option<String>) -> Result<McpServerConfig, String> {
        let login = self.login.take();
        let mut config = McpServerConfig::new(self.link(variable)?);
        if let Some(login) = login {
            let login = LoginSection::from_camel_case(login)
                .map_err(|error| format!("\"login\": {}", keys_alone(&error)))?;
            let login = login.login(&config.link, variable).map_err(|wrong| wrong.to_string())?;
            config = config.login(login);
        }
        Ok(config)
    }

    fn link(self, variable: &impl Fn(&str) -> Option<String>) -> Result<McpLink, String> {
        self.link.link(variable).map_err(|wrong| match wrong.key.as_str() {
            "" => wrong.reason,
            key => format!("{key:?}: {}", wrong.reason),
        })
    }
}

/// What is wrong with a file, without the values in it.
fn without_values(error: &serde_json::Error) -> String {
    if error.is_data() {
        format!("a value is of the wrong kind at line {} column {}", error.line(), error.column())
    } else {
        error.to_string()
    }
}

/// What is wrong with an object, without the values in it.
fn keys_alone(error: &serde_json::Error) -> String {
    let said = error.to_string();
    let names_a_key =
        ["unknown field", "missing field", "duplicate field"].iter().any(|head| said.starts_with(head));
    if names_a_key { said } else { "a value in it is of the wrong kind".to_owned() }
}

fn typed<T: DeserializeOwned>(key: &str, value: &RawValue, wanted: &str) -> Result<T, String> {
    serde_json::from_str(value.get()).map_err(|_| format!("{key:?} must be {wanted}"))
}

/// A text; a number or a boolean as it is written.
fn text(key: &str, value: &RawValue) -> Result<String, String> {
    let written = value.get();
    match written.as_bytes().first() {
        Some(b'"') => typed(key, value, "a text"),
        Some(b'{' | b'[' | b'n') | None => Err(format!("{key:?} must be a text")),
        Some(_) => Ok(written.to_owned()),
    }
}

fn texts(key: &str, value: &RawValue) -> Result<Vec<String>, String> {
    let entries: Vec<&RawValue> =
        serde_json::from_str(value.get()).map_err(|_| format!("{key:?} must be a list of texts"))?;
    entries.into_iter().enumerate().map(|(place, entry)| text(&format!("{key}[{place}]"), entry)).collect()
}

fn named_texts(key: &str, value: &RawValue) -> Result<BTreeMap<String, String>, String> {
    let pairs: Pairs<'_> =
        serde_json::from_str(value.get()).map_err(|_| format!("{key:?} must be an object of texts"))?;
    let named =
        pairs.0.into_iter().map(|(name, value)| Ok((name.clone(), text(&format!("{key}.{name}"), value)?)));
    named.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<ServersFile, String> {
        let variable = |name: &str| (name == "HOME").then(|| "/home/me".to_owned());
        read_servers(text, variable).map_err(|error| error.to_string())
    }

    fn servers(text: &str) -> BTreeMap<String, McpServerConfig> {
        read(text).unwrap().servers
    }

    /// Why the description of one server cannot be used.
    fn reason(entry: &str) -> String {
        let mut servers =
            servers(&format!(r#"{{"mcpServers": {{"s": {entry}, "good": {{"command": "srv"}}}}}}"#));
        assert!(matches!(servers["good"].link, McpLink::Stdio { .. }));
        match servers.remove("s").unwrap().link {
            McpLink::Unusable { reason } => {
                reason.strip_prefix("its description cannot be used: ").expect(&reason).to_owned()
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn both_kinds_of_server_are_read_and_variables_filled_in() {
        let servers = servers(
            r#"{"mcpServers": {
                "files": {"command": "srv", "args": ["${HOME}/x", "${NONE:-d}"], "env": {"A": "${env:HOME}"}, "cwd": "/",
                          "inheritEnv": ["KEY"]},
                "web": {"type": "http", "url": "http://h/mcp", "headers": {"authorization": "Bearer ${userHome}"}},
                "off": {"command": "srv", "disabled": true, "autoApprove": []},
                "out": {"command": "srv", "enabled": false},
                "old": {"type": "sse", "url": "http://h/sse"}
            }, "other": 1}"#,
        );
        assert_eq!(servers.keys().collect::<Vec<_>>(), ["files", "old", "web"]);
        let McpLink::Stdio { command, args, env, inherit_env, folder } = &servers["files"].link else {
            panic!()
        };
        assert_eq!(*inherit_env, InheritEnv::names(["KEY"]));
        assert_eq!((command.to_str(), folder.as_deref().unwrap().to_str()), (Some("srv"), Some("/")));
        assert_eq!((args[0].as_str(), args[1].as_str(), env["A"].as_str()), ("/home/me/x", "d", "/home/me"));
        let McpLink::Http { url, headers } = &servers["web"].link else { panic!() };
        assert_eq!((url.as_str(), headers["authorization"].as_str()), ("http://h/mcp", "Bearer /home/me"));
    }

    #[test]
    fn files_are_read_as_clients_and_editors_write_them() {
        let read = read(
            "\u{feff}{ // servers of an editor
                /* all of them */ \"servers\": {
                    \"a\": {\"type\": \"streamable_http\", \"serverUrl\": \"http://h/a\",},
                    \"b\": {\"httpUrl\": \"http://h/b\", \"timeout\": 5, \"trust\": true},
                    \"c\": {\"command\": \"srv\", \"args\": [\"--port\", 8080, 1.50, true,],
                          \"env\": {\"N\": 1e3, \"B\": false, \"S\": \"// no comment\"}},
                },
            }",
        )
        .unwrap();
        for (name, address) in [("a", "http://h/a"), ("b", "http://h/b")] {
            let McpLink::Http { url, .. } = &read.servers[name].link else { panic!("{name}") };
            assert_eq!(url, address);
        }
        let McpLink::Stdio { args, env, .. } = &read.servers["c"].link else { panic!() };
        assert_eq!(*args, ["--port", "8080", "1.50", "true"]);
        assert_eq!(
            (env["N"].as_str(), env["B"].as_str(), env["S"].as_str()),
            ("1e3", "false", "// no comment")
        );
        assert_eq!(
            read.warnings,
            [r#"server "b": the key "timeout" is not used"#, r#"server "b": the key "trust" is not used"#]
        );
        assert_eq!(servers(r#"{"mcp": {"servers": {"s": {"command": "srv"}}}}"#).len(), 1);
    }

    #[test]
    fn what_is_wrong_with_one_server_is_its_own_matter_and_named() {
        assert_eq!(reason("{}"), "it needs a \"command\" or a \"url\"");
        assert_eq!(reason("5"), "it must be an object");
        assert_eq!(
            reason(r#"{"command": "${NOPE}"}"#),
            "\"command\": the environment variable \"NOPE\" is not set"
        );
        assert!(reason(r#"{"command": "${NOPE"}"#).contains("never closed"));
        assert!(reason(r#"{"command": "${input:key}"}"#).contains("\"${input:key}\" is not known here"));
        assert!(reason(r#"{"type": "ssh", "url": "http://h"}"#).contains("\"ssh\" is not known"));
        for arg in [".", "..", "./x", "../x"] {
            let error = reason(&format!(r#"{{"command": "srv", "args": ["-q", "{arg}"]}}"#));
            assert!(error.contains("is a relative path") && error.contains("set \"cwd\""), "{error}");
            let at = servers(&format!(
                r#"{{"mcpServers": {{"s": {{"command": "srv", "args": ["{arg}"], "cwd": "/"}}}}}}"#
            ));
            assert!(matches!(at["s"].link, McpLink::Stdio { .. }));
        }
        assert_eq!(
            reason(r#"{"command": "srv", "inheritEnv": "KEY"}"#),
            "\"inheritEnv\" must be \"all\" or a list of names"
        );
        assert_eq!(reason(r#"{"type": "sse"}"#), "\"type\": \"sse\" needs a \"url\"");
        assert_eq!(
            reason(r#"{"command": "a"}, "s": {"command": "b"}"#),
            "it is written twice: leave one of them out"
        );
        assert!(read("{").unwrap_err().contains("line 1 column 1"));
        assert!(read("{}").unwrap_err().contains("\"mcpServers\""));
        let error = read(r#"{"mcpServers": "hush"}"#).unwrap_err();
        assert_eq!(error, "a value is of the wrong kind at line 1 column 21");
        let named = read(r#"{"mcpServers": {"": {"command": "a"}, "good": {"command": "srv"}}}"#).unwrap();
        assert_eq!((named.servers.len(), named.warnings.len()), (1, 1));
    }

    #[test]
    fn no_error_repeats_a_value() {
        for entry in [
            r#"{"command": {"hush": "hush"}}"#,
            r#"{"command": "srv", "args": "hush"}"#,
            r#"{"command": "srv", "args": [["hush"]]}"#,
            r#"{"command": "srv", "env": {"A": ["hush"]}}"#,
            r#"{"command": "srv", "env": "hush"}"#,
            r#"{"url": "http://h", "headers": {"A": null, "B": "hush"}}"#,
            r#"{"command": "srv", "disabled": "hush"}"#,
            r#"{"url": "http://h", "login": "hush"}"#,
            r#"{"url": "http://h", "login": {"clientId": ["hush"]}}"#,
            r#"{"url": "http://h", "login": {"grant": "hush"}}"#,
        ] {
            let reason = reason(entry);
            assert!(!reason.contains("hush"), "{reason}");
        }
    }
}
