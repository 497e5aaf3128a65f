//! Python functions as tools: a file's functions, run in a Python process beside the engine.
//!
//! A call travels from its tool to the `PythonWorkerActor` of its file, and as a frame to
//! the file's process, which runs `worker/*.py`. What that process promises to the functions in it stands in
//! `worker/serve.py`; what their results become, in `worker/results.py`.

mod answer;
mod config;
mod files;
mod frames;
mod interpreter;
mod lanes;
mod process;
mod tool;
mod worker;
mod workers;

pub use config::{NanPolicy, PythonConfig, PythonFile};
pub use files::{PythonFiles, PythonReport};
pub use interpreter::python_version;
