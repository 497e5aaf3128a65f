//! How files describe the way to a server.

use std::{collections::BTreeMap, path::PathBuf};

use super::McpLink;
use crate::InheritEnv;

/// The way to a server, before variables are filled in.
#[derive(Default)]
pub(crate) struct LinkDescription {
    pub(crate) kind: Option<String>,
    pub(crate) command: Option<String>,
    pub(crate) args: Vec<String>,
    pub(crate) env: BTreeMap<String, String>,
    pub(crate) inherit_env: Option<InheritEnv>,
    pub(crate) folder: Option<String>,
    pub(crate) url: Option<String>,
    pub(crate) headers: BTreeMap<String, String>,
}

/// What is wrong with a description.
#[derive(Debug)]
pub(crate) struct BadDescription {
    /// The key whose value is wrong; empty: the description as a whole.
    pub(crate) key: String,
    pub(crate) reason: String,
}

impl BadDescription {
    fn whole(reason: impl Into<String>) -> Self {
        Self { key: String::new(), reason: reason.into() }
    }
}

impl LinkDescription {
    /// Fills variables in, as `variable` knows them.
    pub(crate) fn link(self, variable: impl Fn(&str) -> Option<String>) -> Result<McpLink, BadDescription> {
        let filled = |key: &str, text: &str| {
            fill_in(text, &variable).map_err(|reason| BadDescription { key: key.to_owned(), reason })
        };
        let all = |key: &str, texts: BTreeMap<String, String>| -> Result<BTreeMap<_, _>, _> {
            let one = |(name, text): (String, String)| {
                let value = filled(&format!("{key}.{name}"), &text)?;
                Ok((name, value))
            };
            texts.into_iter().map(one).collect()
        };
        match (self.kind.as_deref(), self.command, self.url) {
            (None | Some("stdio"), Some(command), _) => {
                if self.folder.is_none()
                    && let Some(relative) = self.args.iter().find(|arg| is_relative_path(arg))
                {
                    let key = "args".to_owned();
                    let reason = format!(
                        "{relative:?} is a relative path, and a server does not start in the current folder: give the \
                         whole path, or set \"cwd\""
                    );
                    return Err(BadDescription { key, reason });
                }
                Ok(McpLink::Stdio {
                    command: filled("command", &command)?.into(),
                    args: self.args.iter().map(|text| filled("args", text)).collect::<Result<_, _>>()?,
                    env: all("env", self.env)?,
                    inherit_env: self.inherit_env.unwrap_or_default(),
                    folder: self
                        .folder
                        .map(|folder| filled("cwd", &folder).map(PathBuf::from))
                        .transpose()?,
                })
            }
            (
                None | Some("http" | "streamable-http" | "streamable_http" | "streamableHttp"),
                _,
                Some(url),
            ) => Ok(McpLink::Http { url: filled("url", &url)?, headers: all("headers", self.headers)? }),
            (Some("sse"), _, Some(url)) => {
                Ok(McpLink::Sse { url: filled("url", &url)?, headers: all("headers", self.headers)? })
            }
            (None, None, None) => Err(BadDescription::whole("it needs a \"command\" or a \"url\"")),
            (Some("stdio"), None, _) => Err(BadDescription::whole("\"type\": \"stdio\" needs a \"command\"")),
            (
                Some(kind @ ("http" | "streamable-http" | "streamable_http" | "streamableHttp" | "sse")),
                _,
                None,
            ) => Err(BadDescription::whole(format!("\"type\": {kind:?} needs a \"url\""))),
            (Some(other), ..) => Err(BadDescription::whole(format!(
                "\"type\": {other:?} is not known; there is \"stdio\", \"http\" and \"sse\""
            ))),
        }
    }
}

/// Whether an argument is clearly a path that starts at the current folder.
fn is_relative_path(arg: &str) -> bool {
    matches!(arg, "." | "..") || arg.starts_with("./") || arg.starts_with("../")
}

/// `${NAME}` and `${env:NAME}` stand for a variable, `${NAME:-text}` for the text where there is no such variable, and
/// `${userHome}` for `HOME`, as editors have it.
fn fill_in(text: &str, variable: &impl Fn(&str) -> Option<String>) -> Result<String, String> {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let (inside, tail) = after.split_once('}').ok_or("a \"${\" is never closed by \"}\"")?;
        let (name, otherwise) = match inside.split_once(":-") {
            Some((name, otherwise)) => (name, Some(otherwise.to_owned())),
            None => (inside, None),
        };
        let name = name.strip_prefix("env:").unwrap_or(name);
        if name.contains(':') {
            return Err(format!(
                "\"${{{name}}}\" is not known here: use \"${{NAME}}\", a variable of the environment"
            ));
        }
        let value = variable(if name == "userHome" { "HOME" } else { name }).or(otherwise);
        filled.push_str(before);
        filled.push_str(&value.ok_or_else(|| format!("the environment variable {name:?} is not set"))?);
        rest = tail;
    }
    filled.push_str(rest);
    Ok(filled)
}
