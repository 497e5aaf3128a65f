//! The engine's Python files.

pub(crate) mod setup;

use std::sync::Arc;

use toolyard_actors::python::{PythonConfig, PythonFile, PythonReport};

use crate::{Engine, EngineBuilder};

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
