//! `[python_repl]`: how the tool `python_repl` runs code.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use toolyard_contract::{IntoTool, Tool};

use super::{ConfigError, PythonSection, ReplPlace, seconds::Seconds};
use crate::InheritEnv;
#[cfg(feature = "docker")]
use crate::builtin::python_repl::Container;
use crate::builtin::python_repl::{HostProcess, PythonReplConfig, PythonReplTool};
#[cfg(not(feature = "docker"))]
use crate::builtin::{NO_REPL, python_repl::NoBackend};
#[cfg(feature = "docker")]
use toolyard_actors::sandbox::SandboxPool;

/// The `[python_repl]` part; where code runs is `repl` in `[python]`. A key that is absent has the default of
/// [`PythonReplConfig`].
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct PythonReplSection {
    /// How long one call may take, in seconds; then its session is ended. Default 30.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_s: Option<Seconds>,
    /// How much of each kind of output a call gives, in bytes. Default 10,000.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_output_bytes: Option<usize>,
    /// The modules that code may import directly: a convenience for the model, no protection. Default: any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed_modules: Option<Vec<String>>,
    /// Names that are defined when a session begins, with their values. Default: none.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub globals: Map<String, Value>,
    /// How many sessions may be there at once. Default 16.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_sessions: Option<usize>,
    /// How much of a session's values is written down after each call, in bytes; 0 for nothing. Default 1,000,000.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_snapshot_bytes: Option<usize>,
    /// Address space of a session's process on this machine, in bytes. Default 2,147,483,648.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// Variables to set for sessions on this machine. Default: none.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Which variables of this process sessions on this machine see: `"all"`, or names beside the short list of
    /// [`InheritEnv`](crate::InheritEnv). Default: the short list alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inherit_env: Option<InheritEnv>,
    /// How many processes a session on this machine may have. Default 64.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_processes: Option<usize>,
}

impl PythonReplSection {
    pub(super) fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Checks what only people can have got wrong.
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        let begins = |c: char| c == '_' || c.is_alphabetic();
        let is_name = |name: &&String| {
            let mut rest = name.chars();
            rest.next().is_some_and(begins)
                && rest.all(|c| begins(c) || c.is_numeric())
                && !name.starts_with("__")
        };
        match self.globals.keys().find(|name| !is_name(name)) {
            None => Ok(()),
            Some(name) => Err(ConfigError::new(format!(
                "python_repl.globals: {name:?} cannot be defined: take a name that Python code can use, without \
                 two underscores in front"
            ))),
        }
    }

    /// Makes the tool.
    pub(super) fn tool(
        &self,
        python: &PythonSection,
        #[cfg(feature = "docker")] sandboxes: &SandboxPool,
    ) -> Arc<dyn Tool> {
        let config = self.config();
        match python.repl.unwrap_or(ReplPlace::Container) {
            ReplPlace::UnsafeHostProcess => {
                PythonReplTool::new(config, self.host(python.interpreter.as_ref())).into_tool()
            }
            #[cfg(feature = "docker")]
            ReplPlace::Container => {
                PythonReplTool::new(config, Container::new(sandboxes.clone())).into_tool()
            }
            #[cfg(not(feature = "docker"))]
            ReplPlace::Container => PythonReplTool::new(config, NoBackend(NO_REPL.to_owned())).into_tool(),
        }
    }

    fn config(&self) -> PythonReplConfig {
        let mut config = PythonReplConfig::default();
        config.timeout = self.timeout_s.map_or(config.timeout, |seconds| seconds.0);
        config.max_output_bytes = self.max_output_bytes.unwrap_or(config.max_output_bytes);
        config.allowed_modules = self.allowed_modules.as_deref().map(Arc::from);
        config.globals = Arc::new(self.globals.clone());
        config.max_sessions = self.max_sessions.unwrap_or(config.max_sessions);
        config.max_snapshot_bytes = self.max_snapshot_bytes.unwrap_or(config.max_snapshot_bytes);
        config
    }

    fn host(&self, interpreter: Option<&PathBuf>) -> HostProcess {
        let mut host = HostProcess::default();
        host.interpreter = interpreter.cloned().unwrap_or(host.interpreter);
        host.env = self.env.iter().map(|(name, value)| (name.into(), value.into())).collect();
        host.inherit_env = self.inherit_env.clone().unwrap_or(host.inherit_env);
        host.limits.memory_bytes = self.memory_bytes.or(host.limits.memory_bytes);
        host.max_processes = self.max_processes.unwrap_or(host.max_processes);
        host
    }
}

/// Shows the names of variables alone: their values may be secrets.
impl std::fmt::Debug for PythonReplSection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PythonReplSection")
            .field("env", &self.env.keys())
            .field("inherit_env", &self.inherit_env)
            .finish_non_exhaustive()
    }
}
