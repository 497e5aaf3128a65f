//! The engine's Python files.

use std::sync::Arc;

use toolyard_actors::{
    Yard,
    python::{PythonConfig, PythonFile, PythonReport},
};

use crate::{Engine, EngineBuilder};

/// The Python files that an engine begins with.
#[derive(Default)]
pub(crate) struct PythonSetup {
    files: Vec<PythonFile>,
    config: Arc<PythonConfig>,
}

impl PythonSetup {
    /// What imports them once the actors are there.
    pub(crate) fn importer(self) -> impl AsyncFnOnce(&Yard) -> EnginePython + Send + 'static {
        let Self { files, config } = self;
        async move |yard: &Yard| {
            let report = yard.add_python_files(files, config.clone()).await;
            EnginePython { config, report }
        }
    }
}

impl EngineBuilder {
    /// Makes the functions of a Python file tools; repeated, those of several. What cannot be made a tool keeps
    /// nothing else out: [`Engine::python_report`] tells.
    #[must_use]
    pub fn python_file(mut self, file: PythonFile) -> Self {
        self.python.files.push(file);
        self
    }

    /// Sets how the workers of Python files run.
    #[must_use]
    pub fn python(mut self, config: PythonConfig) -> Self {
        self.python.config = Arc::new(config);
        self
    }
}

/// What an engine keeps about its Python files.
#[derive(Debug)]
pub(crate) struct EnginePython {
    /// How the workers of files run that are added later.
    pub(crate) config: Arc<PythonConfig>,
    /// What became of the files that it began with.
    pub(crate) report: PythonReport,
}

impl Engine {
    /// What became of the Python files that the engine was built with.
    pub fn python_report(&self) -> &PythonReport {
        &self.python().report
    }

    /// Makes the functions of more Python files tools, for the lists to come. A file that cannot be imported, a
    /// function that cannot be a tool and a name that is taken are reported, and keep nothing else out.
    ///
    /// # Cancellation
    /// Dropping the future leaves out the files that were not imported yet.
    pub async fn add_python_file_tools(&self, files: Vec<PythonFile>) -> PythonReport {
        self.yard().add_python_files(files, self.python().config.clone()).await
    }

    /// Reads those Python files again that have changed since they were read, in new processes, whose global
    /// variables are new too. Calls under way end in the old ones; a file that cannot be imported now keeps the
    /// tools that it had. The report is about the changed files alone.
    ///
    /// # Cancellation
    /// Dropping the future leaves the files that were not imported yet as they were.
    pub async fn reload_python_files(&self) -> PythonReport {
        self.yard().reload_python_files().await
    }
}
