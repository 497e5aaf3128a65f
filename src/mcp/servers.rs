//! The `{"mcpServers": {…}}` files of desktop clients.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::{McpLink, McpServerConfig, description::LinkDescription};
use crate::{InheritEnv, config::LoginSection};

/// Why a file of servers cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServersError {
    /// It is not JSON of the right shape.
    #[error("{0}")]
    Unreadable(#[from] serde_json::Error),
    /// A server is not described in a way that can be used.
    #[error("server {server:?}: {reason}")]
    Server {
        /// The server.
        server: String,
        /// What is wrong and what to do.
        reason: String,
    },
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct File {
    mcp_servers: BTreeMap<String, Entry>,
}

/// One server. Clients write keys of their own beside these; they are passed over.
#[derive(Deserialize)]
struct Entry {
    #[serde(rename = "type")]
    kind: Option<String>,
    command: Option<String>,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    #[serde(rename = "inheritEnv")]
    inherit_env: Option<InheritEnv>,
    cwd: Option<String>,
    url: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    #[serde(default)]
    disabled: bool,
    login: Option<Value>,
}

/// Reads servers; those that are `disabled` are left out.
///
/// `${NAME}` stands for the variable `NAME` as `variable` knows it, `${NAME:-text}` for the text where there is no
/// such variable.
///
/// # Errors
/// When the text is not of this form, a server has neither command nor URL, or a variable is not set.
pub fn read_servers(
    text: &str,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<BTreeMap<String, McpServerConfig>, ServersError> {
    let file: File = serde_json::from_str(text)?;
    let enabled = file.mcp_servers.into_iter().filter(|(_, entry)| !entry.disabled);
    let configured = enabled.map(|(server, entry)| match entry.config(&variable) {
        Ok(config) => Ok((server, config)),
        Err(reason) => Err(ServersError::Server { server, reason }),
    });
    configured.collect()
}

impl Entry {
    fn config(mut self, variable: &impl Fn(&str) -> Option<String>) -> Result<McpServerConfig, String> {
        let login = self.login.take();
        let mut config = McpServerConfig::new(self.link(variable)?);
        if let Some(login) = login {
            let login =
                LoginSection::from_camel_case(login).map_err(|error| format!("\"login\": {error}"))?;
            let login = login.login(&config.link, variable).map_err(|wrong| wrong.to_string())?;
            config = config.login(login);
        }
        Ok(config)
    }

    fn link(self, variable: &impl Fn(&str) -> Option<String>) -> Result<McpLink, String> {
        let Self { kind, command, args, env, inherit_env, cwd: folder, url, headers, .. } = self;
        let described = LinkDescription { kind, command, args, env, inherit_env, folder, url, headers };
        described.link(variable).map_err(|wrong| match wrong.key.as_str() {
            "" => wrong.reason,
            key => format!("{key:?}: {}", wrong.reason),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<BTreeMap<String, McpServerConfig>, String> {
        let variable = |name: &str| (name == "HOME").then(|| "/home/me".to_owned());
        read_servers(text, variable).map_err(|error| error.to_string())
    }

    #[test]
    fn both_kinds_of_server_are_read_and_variables_filled_in() {
        let servers = read(
            r#"{"mcpServers": {
                "files": {"command": "srv", "args": ["${HOME}/x", "${NONE:-d}"], "env": {"A": "${HOME}"}, "cwd": "/",
                          "inheritEnv": ["KEY"]},
                "web": {"type": "http", "url": "http://h/mcp", "headers": {"authorization": "Bearer ${HOME}"}},
                "off": {"command": "srv", "disabled": true, "autoApprove": []},
                "old": {"type": "sse", "url": "http://h/sse"}
            }, "other": 1}"#,
        )
        .unwrap();
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
    fn what_is_wrong_is_named() {
        let one = |entry: &str| read(&format!(r#"{{"mcpServers": {{"s": {entry}}}}}"#)).unwrap_err();
        assert_eq!(one("{}"), "server \"s\": it needs a \"command\" or a \"url\"");
        assert!(one(r#"{"command": "${NOPE}"}"#).contains("variable \"NOPE\" is not set"));
        assert!(one(r#"{"command": "${NOPE"}"#).contains("never closed"));
        assert!(one(r#"{"type": "ssh", "url": "http://h"}"#).contains("\"ssh\" is not known"));
        for arg in [".", "..", "./x", "../x"] {
            let error = one(&format!(r#"{{"command": "srv", "args": ["-q", "{arg}"]}}"#));
            assert!(error.contains("is a relative path") && error.contains("set \"cwd\""), "{error}");
            assert!(
                read(&format!(
                    r#"{{"mcpServers": {{"s": {{"command": "srv", "args": ["{arg}"], "cwd": "/"}}}}}}"#
                ))
                .is_ok()
            );
        }
        assert!(
            one(r#"{"command": "srv", "inheritEnv": "KEY"}"#).contains("expected \"all\" or a list of names")
        );
        assert_eq!(one(r#"{"type": "sse"}"#), "server \"s\": \"type\": \"sse\" needs a \"url\"");
        assert!(read("{").unwrap_err().contains("line 1 column 1"));
    }
}
