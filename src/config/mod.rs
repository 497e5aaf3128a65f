//! Configuration files: an engine's settings in `toolyard.toml`.

mod engine;
mod error;
#[cfg(feature = "mcp")]
mod mcp;
#[cfg(feature = "python")]
mod python;
#[cfg(feature = "docker")]
mod sandbox;
mod seconds;
mod settings;
#[cfg(test)]
mod tests;
mod tools;

use std::{fs, path::Path};

use serde::{Deserialize, Serialize};
use toolyard_actors::YardConfig;
use toolyard_contract::{
    ActivationController, ActivationRules, CustomTail, PermissionRules, SharedTool, ToolSet, name,
};

use crate::builtin::{BuiltinRegistry, file::FileRoot};

#[cfg(feature = "mcp")]
pub use self::mcp::{BackoffSection, HealthSection, IsolationSection, McpSection, McpServerSection};
#[cfg(feature = "python")]
pub use self::python::PythonSection;
#[cfg(feature = "docker")]
pub use self::sandbox::{MountSection, SandboxSection};
pub(crate) use self::settings::{Builtins, Settings};
pub use self::{
    engine::{AgentSection, EngineSection, RateSection, RetrySection},
    error::ConfigError,
    seconds::Seconds,
    settings::WrittenConfig,
    tools::{ToolLimitsSection, ToolsSection},
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
    /// The containers that code runs in.
    #[cfg(feature = "docker")]
    #[serde(skip_serializing_if = "SandboxSection::is_default")]
    pub sandbox: SandboxSection,
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
        if let (Some(root), Some(folder)) = (&mut config.tools.root, file.parent()) {
            *root = folder.join(&*root);
        }
        #[cfg(feature = "python")]
        config.python.start_at(file.parent().unwrap_or(Path::new("")));
        #[cfg(feature = "mcp")]
        {
            config.mcp.start_at(file.parent().unwrap_or(Path::new("")));
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
            #[cfg(feature = "python")]
            python: PythonSection::default(),
            #[cfg(feature = "mcp")]
            mcp: McpSection::default(),
            #[cfg(feature = "docker")]
            sandbox: SandboxSection::default(),
        }
    }

    /// The settings of the actors.
    pub(crate) fn apply(&self, config: &mut YardConfig) {
        self.engine.apply(config);
        config.limits.tools.extend(self.tools.limits());
        config.activation = ActivationController::new(self.tools.activation());
    }

    /// Makes the built-in tools that the configuration asks for, and gives them with the registry
    /// that knows their other names.
    pub(crate) fn builtins(
        &self,
        #[cfg(feature = "docker")] sandboxes: &crate::sandbox::SandboxPool,
    ) -> Result<(ToolSet, BuiltinRegistry), ConfigError> {
        let root = self.tools.root.as_deref().unwrap_or(Path::new("."));
        let root = FileRoot::open(root).map_err(|error| {
            ConfigError::new(format!("tools.root: {:?}: {error}", root.display().to_string()))
        })?;
        #[cfg_attr(not(feature = "docker"), allow(unused_mut))]
        let mut registry = BuiltinRegistry::shipped(&root);
        let by_default: Vec<String> = registry.names().map(str::to_owned).collect();
        #[cfg(feature = "docker")]
        registry.register_sandbox(sandboxes);
        let names = self.tools.enable.as_ref().unwrap_or(&by_default);
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let none: [SharedTool; 0] = [];
        let resolved = ToolSet::resolve(Some(&names), &none, &registry, CustomTail::Omit);
        if let Some(missing) = resolved.missing.first() {
            let known: Vec<_> = registry.names().collect();
            let nearest = name::nearest(missing, known.iter().copied());
            let hint = if nearest.is_empty() { known } else { nearest }.join(", ");
            return Err(ConfigError::new(format!(
                "tools.enable: no built-in tool is named {missing:?}; there is: {hint}"
            )));
        }
        if let Some((tool, reason)) = resolved.failed.first() {
            return Err(ConfigError::new(format!("tools.enable: {tool:?} cannot be made: {reason}")));
        }
        Ok((resolved.set, registry))
    }
}
