//! Configuration files: an engine's settings in `toolyard.toml`.

mod builtins;
mod engine;
mod error;
mod files;
#[cfg(feature = "http")]
mod http;
#[cfg(feature = "mcp")]
mod mcp;
#[cfg(feature = "mcp")]
mod mcp_login;
#[cfg(feature = "python")]
mod python;
#[cfg(feature = "python")]
mod python_repl;
#[cfg(feature = "docker")]
mod sandbox;
#[cfg(feature = "search")]
mod search;
mod seconds;
mod settings;
#[cfg(test)]
mod tests;
mod tools;
mod written;

#[cfg(any(feature = "mcp", feature = "python"))]
use std::path::PathBuf;
use std::{fs, path::Path};

use serde::{Deserialize, Serialize};
use toolyard_actors::YardConfig;
use toolyard_contract::{ActivationController, ActivationRules, PermissionRules};

#[cfg(feature = "http")]
pub use self::http::HttpSection;
#[cfg(feature = "docker")]
pub use self::sandbox::{MountSection, SandboxSection};
#[cfg(feature = "search")]
pub use self::search::{SearchEngine, SearchSection};
pub(crate) use self::settings::{Builtins, Settings};
pub use self::{
    engine::{AgentSection, EngineSection, RateSection, RetrySection},
    error::ConfigError,
    files::{FileReadSection, FileWriteSection},
    seconds::Seconds,
    tools::{ToolLimitsSection, ToolsSection},
    written::WrittenConfig,
};
#[cfg(feature = "mcp")]
pub use self::{
    mcp::{BackoffSection, HealthSection, IsolationSection, McpSection, McpServerSection},
    mcp_login::{IdentityProviderSection, LoginGrant, LoginSection},
};
#[cfg(feature = "python")]
pub use self::{
    python::{PythonSection, ReplPlace},
    python_repl::PythonReplSection,
};

/// The settings of an engine, as `toolyard.toml` has them. Every key may be absent.
///
/// ```
/// use toolyard::{Engine, config::Config};
///
/// let config = Config::parse(r#"
///     [engine]
///     timeout_s = 60
///
///     [tools]
///     enable = ["calculator"]
/// "#)?;
/// let engine = Engine::builder().config(&config)?.build()?;
/// assert_eq!(engine.specs()[0].name, "calculator");
/// let error = Config::parse("engine.timout_s = 1").unwrap_err();
/// assert!(error.to_string().contains(r#"unknown key "timout_s"; the nearest known one is "timeout_s""#));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Config {
    /// What may run at once, and for how long.
    pub engine: EngineSection,
    /// Which tools there are.
    pub tools: ToolsSection,
    /// What the tool `file_read` may read.
    #[serde(skip_serializing_if = "FileReadSection::is_default")]
    pub file_read: FileReadSection,
    /// What the tool `file_write` may write.
    #[serde(skip_serializing_if = "FileWriteSection::is_default")]
    pub file_write: FileWriteSection,
    /// What calls may do.
    #[serde(skip_serializing_if = "PermissionRules::is_empty")]
    pub permissions: PermissionRules,
    /// The Python files whose functions are tools.
    #[cfg(feature = "python")]
    #[serde(skip_serializing_if = "PythonSection::is_default")]
    pub python: PythonSection,
    /// The MCP servers.
    #[cfg(feature = "mcp")]
    #[serde(skip_serializing_if = "McpSection::is_default")]
    pub mcp: McpSection,
    /// How the tool `python_repl` runs code.
    #[cfg(feature = "python")]
    #[serde(skip_serializing_if = "PythonReplSection::is_default")]
    pub python_repl: PythonReplSection,
    /// How the tool `http` makes requests.
    #[cfg(feature = "http")]
    #[serde(skip_serializing_if = "HttpSection::is_default")]
    pub http: HttpSection,
    /// Which search engine the tool `web_search` asks.
    #[cfg(feature = "search")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub search: Option<SearchSection>,
    /// The containers that code runs in.
    #[cfg(feature = "docker")]
    #[serde(skip_serializing_if = "SandboxSection::is_default")]
    pub sandbox: SandboxSection,
}

/// The whole path of what starts at the folder of a configuration: no program is looked for in the current folder.
#[cfg(any(feature = "mcp", feature = "python"))]
pub(crate) fn whole(folder: &Path, path: impl AsRef<Path>) -> PathBuf {
    let path = folder.join(path);
    std::path::absolute(&path).unwrap_or(path)
}

impl Config {
    /// Reads a configuration from the text of a file.
    ///
    /// # Errors
    /// When it is not TOML, a key is unknown, or a value is not what its key takes.
    pub fn parse(text: &str) -> Result<Self, ConfigError> {
        toml::from_str(text).map_err(|error| ConfigError::parse(text, &error))
    }

    /// Reads a configuration file.
    ///
    /// # Errors
    /// As [`parse`](Self::parse), when the file cannot be read, and when an MCP server is not described in a way that
    /// can be used, such as by a variable that is not set.
    pub fn read(file: &Path) -> Result<Self, ConfigError> {
        let text = fs::read_to_string(file).map_err(|error| ConfigError::io(&error).in_file(file))?;
        let mut config = Self::parse(&text).map_err(|error| error.in_file(file))?;
        let folder = file.parent().unwrap_or(Path::new(""));
        if let Some(root) = &mut config.tools.root {
            *root = folder.join(&*root);
        }
        config.engine.start_at(file.parent().unwrap_or(Path::new("")));
        #[cfg(feature = "docker")]
        config.sandbox.start_at(file.parent().unwrap_or(Path::new("")));
        #[cfg(feature = "python")]
        config.python.start_at(folder);
        #[cfg(feature = "mcp")]
        {
            config.mcp.start_at(folder);
            config.mcp.servers(|name| std::env::var(name).ok()).map_err(|error| error.in_file(file))?;
        }
        Ok(config)
    }

    /// Writes the configuration as the text of a file, which reads back as the same.
    ///
    /// # Errors
    /// When a value has no form in TOML, such as a path that is not Unicode.
    pub fn to_toml(&self) -> Result<String, ConfigError> {
        toml::to_string_pretty(self).map_err(|error| ConfigError::new(error.to_string()))
    }

    /// The configuration of an engine with these settings.
    pub(crate) fn of(config: &YardConfig, activation: ActivationRules) -> Self {
        let limits = config.limits.tools.iter();
        Self {
            engine: EngineSection::of(config),
            tools: ToolsSection {
                default: activation.default,
                rule: activation.rules,
                limits: limits.map(|(name, limits)| (name.clone(), ToolLimitsSection::of(limits))).collect(),
                ..ToolsSection::default()
            },
            permissions: config
                .permissions
                .policy
                .as_ref()
                .and_then(|policy| policy.rules())
                .unwrap_or_default(),
            ..Self::default()
        }
    }

    /// The settings of the actors.
    pub(crate) fn apply(&self, config: &mut YardConfig) {
        self.engine.apply(config);
        config.limits.tools.extend(self.tools.limits());
        config.activation = ActivationController::new(self.tools.activation());
    }
}
