//! The Python files that an engine begins with, from its configuration and back.

use std::sync::Arc;

use toolyard_actors::python::{PythonConfig, PythonFile, PythonFiles};
#[cfg(feature = "docker")]
use toolyard_actors::sandbox::SandboxConfig;

use crate::config::{PythonSection, WrittenConfig};

/// The Python files that an engine begins with.
#[derive(Default)]
pub(crate) struct PythonSetup {
    pub(super) files: Vec<PythonFile>,
    pub(super) config: Arc<PythonConfig>,
    pub(super) section: PythonSection,
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
