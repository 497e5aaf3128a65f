//! The engine's Python files.

use std::sync::Arc;

use toolyard_actors::python::{PythonConfig, PythonFile, PythonFiles, PythonReport};
#[cfg(feature = "docker")]
use toolyard_actors::sandbox::SandboxConfig;

use crate::{
    Engine, EngineBuilder,
    config::{PythonSection, WrittenConfig},
};

/// The Python files that an engine begins with.
#[derive(Default)]
pub(crate) struct PythonSetup {
    files: Vec<PythonFile>,
    config: Arc<PythonConfig>,
    section: PythonSection,
}

impl PythonSetup {
    /// Takes what a configuration says.
    pub(crate) fn take(&mut self, section: &PythonSection) {
        self.files.extend(section.python_files());
        self.config = Arc::new(section.python_config());
        let before = std::mem::replace(&mut self.section, section.clone());
        self.section.files.splice(..0, before.files);
    }

    /// Takes what a configuration says about containers, for workers that are to run in them.
    #[cfg(feature = "docker")]
    pub(crate) fn take_sandbox(&mut self, sandbox: &SandboxConfig) {
        if self.section.sandbox {
            Arc::make_mut(&mut self.config).sandbox = Some(Arc::new(sandbox.clone()));
        }
    }

    /// What imports them once the actors are there.
    pub(crate) fn files(self) -> EnginePython {
        let Self { files, config, section } = self;
        EnginePython { files: PythonFiles::new(files, config), section }
    }
}

impl EngineBuilder {
    /// Makes the functions of a Python file tools; repeated, those of several. What cannot be made a tool keeps
    /// nothing else out: [`Engine::python_report`] tells.
    #[must_use]
    pub fn python_file(mut self, file: PythonFile) -> Self {
        self.python.section.files.push(file.to_string());
        self.python.files.push(file);
        self
    }

    /// Sets how the workers of Python files run. What only this says is not written down by
    /// [`Engine::to_config`].
    #[must_use]
    pub fn python(mut self, config: PythonConfig) -> Self {
        self.python.config = Arc::new(config);
        self
    }
}

/// What an engine keeps about its Python files.
#[derive(Clone, Debug)]
pub(crate) struct EnginePython {
    pub(crate) files: PythonFiles,
    /// What its configuration said.
    pub(crate) section: PythonSection,
}

impl EnginePython {
    /// Adds the files that the engine began with to its written configuration.
    pub(crate) fn write_to(&self, written: &mut WrittenConfig) {
        written.config.python = self.section.clone();
        let report = self.files.report();
        written.left_out.retain(|tool| report.is_none_or(|report| !report.tools.contains(tool)));
    }
}

impl Engine {
    /// What became of the Python files that the engine was built with.
    pub fn python_report(&self) -> &PythonReport {
        static NONE: PythonReport = PythonReport::none();
        self.own().python.files.report().unwrap_or(&NONE)
    }

    /// Makes the functions of more Python files tools, for the lists to come. A file that cannot be imported, a
    /// function that cannot be a tool and a name that is taken are reported, and keep nothing else out.
    ///
    /// # Cancellation
    /// Dropping the future leaves out the files that were not imported yet.
    pub async fn add_python_file_tools(&self, files: Vec<PythonFile>) -> PythonReport {
        self.own().python.files.add(files).await
    }

    /// Reads those Python files again that have changed since they were read, in new processes, whose global
    /// variables are new too. Calls under way end in the old ones; a file that cannot be imported now keeps the
    /// tools that it had. The report is about the changed files alone.
    ///
    /// # Cancellation
    /// Dropping the future leaves the files that were not imported yet as they were.
    pub async fn reload_python_files(&self) -> PythonReport {
        self.own().python.files.reload().await
    }
}
