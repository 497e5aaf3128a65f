//! `[python]`: files whose functions are tools, and how their workers run.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use toolyard_actors::{
    child::ResourceLimits,
    python::{NanPolicy, PythonConfig, PythonFile},
};

use super::seconds::Seconds;

/// The `[python]` part. A key that is absent has the default of [`PythonConfig`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct PythonSection {
    /// The files, each as `FILE[:CLASS][:GLOB,!GLOB]`; a relative one starts at the folder of the configuration
    /// file. Default: none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// The interpreter: a name on `PATH`, or a path; a relative one starts at the folder of the configuration file.
    /// Default `python3`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interpreter: Option<PathBuf>,
    /// Functions that may overlap with any other call. Default: those that say so in their file.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub parallel_safe: Vec<String>,
    /// Parameters that a model may neither see nor set. Default: none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub exclude_parameters: Vec<String>,
    /// Whether a tool's description has the long text of its docstring too. Default true. A function says otherwise by
    /// its attribute `long_description`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub long_descriptions: Option<bool>,
    /// Whether a model may give `*args`, as a list. Default true. A function says otherwise by its attribute `varargs`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub varargs: Option<bool>,
    /// Whether a model may give `**kwargs`, as an object. Default true. A function says otherwise by its attribute
    /// `varkwargs`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub varkwargs: Option<bool>,
    /// Whether workers inherit the environment. Default true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inherit_env: Option<bool>,
    /// Variables to set for workers. Default: none.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// How many processes serve one file. Default 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processes: Option<usize>,
    /// How many parallel-safe sync functions run at once in one process. Default 8.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threads: Option<usize>,
    /// How many async functions run at once in one process. Default 256.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tasks: Option<usize>,
    /// How long an import may take, in seconds. Default 60.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load_timeout_s: Option<Seconds>,
    /// How long a cancelled async function may go on, in seconds. Default 2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cancel_grace_s: Option<Seconds>,
    /// What becomes of NaN and infinities: `null`, `text` or `fail`. Default `null`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nan: Option<NanPolicy>,
    /// The longest result, in bytes. Default 67,108,864.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub largest_result_bytes: Option<usize>,
    /// Whether the workers run in containers, as `[sandbox]` says; the folder of each file is there to be read. Default
    /// false.
    #[cfg(feature = "docker")]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub sandbox: bool,
    /// Address space of one process, in bytes. Default: no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// Where the tool `python_repl` runs code. Where this is set, the tool is among those that an engine has by default.
    /// Default `container`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repl: Option<ReplPlace>,
}

/// Where the tool `python_repl` runs code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ReplPlace {
    /// In a container.
    Container,
    /// In a process of this machine, without any protection.
    UnsafeHostProcess,
}

impl PythonSection {
    pub(super) fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Lets relative paths start at `folder`.
    pub(super) fn start_at(&mut self, folder: &Path) {
        for file in &mut self.files {
            *file = folder.join(&*file).to_string_lossy().into_owned();
        }
        if let Some(interpreter) = &mut self.interpreter
            && interpreter.components().count() > 1
        {
            *interpreter = folder.join(&*interpreter);
        }
    }

    /// The files.
    pub(crate) fn python_files(&self) -> impl Iterator<Item = PythonFile> {
        self.files.iter().map(|file| PythonFile::parse(file))
    }

    /// How their workers run.
    pub(crate) fn python_config(&self) -> PythonConfig {
        let mut config = PythonConfig::default();
        let default = config.clone();
        config.interpreter = self.interpreter.clone().unwrap_or(default.interpreter);
        config.parallel_safe.clone_from(&self.parallel_safe);
        config.exclude_parameters.clone_from(&self.exclude_parameters);
        config.long_descriptions = self.long_descriptions.unwrap_or(default.long_descriptions);
        config.varargs = self.varargs.unwrap_or(default.varargs);
        config.varkwargs = self.varkwargs.unwrap_or(default.varkwargs);
        config.inherit_env = self.inherit_env.unwrap_or(default.inherit_env);
        config.env = self.env.iter().map(|(name, value)| (name.into(), value.into())).collect();
        config.processes = self.processes.unwrap_or(default.processes);
        config.threads = self.threads.unwrap_or(default.threads);
        config.tasks = self.tasks.unwrap_or(default.tasks);
        config.load_timeout = self.load_timeout_s.map_or(default.load_timeout, |seconds| seconds.0);
        config.cancel_grace = self.cancel_grace_s.map_or(default.cancel_grace, |seconds| seconds.0);
        config.nan = self.nan.unwrap_or(default.nan);
        config.largest_result_bytes = self.largest_result_bytes.unwrap_or(default.largest_result_bytes);
        config.limits = ResourceLimits { memory_bytes: self.memory_bytes, ..default.limits };
        config
    }
}
