use std::{sync::Arc, time::Duration};

use serde_json::{Map, Value};

/// Sets how the tool `python_repl` runs code.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PythonReplConfig {
    /// How long one call may take; then its session is ended. Default 30 s: a model waits for it.
    pub timeout: Duration,
    /// How much of each kind of output (standard output, standard error, the value) a call gives, in bytes. Default
    /// 10,000: what a model can well read.
    pub max_output_bytes: usize,
    /// The modules that code may import directly. It tells a model what to use, and is no protection. Default: any.
    pub allowed_modules: Option<Arc<[String]>>,
    /// Names that are defined when a session begins, with their values. Default: none.
    pub globals: Arc<Map<String, Value>>,
    /// How many sessions may be there at once; the one that was not used for longest makes room. Default 16: each is a
    /// process.
    pub max_sessions: usize,
    /// How much of a session's values is written down after each call, in bytes of pickle, so that they outlive its
    /// process. Default 1,000,000: it costs about a millisecond. 0: nothing is written down.
    pub max_snapshot_bytes: usize,
}

impl Default for PythonReplConfig {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(30),
            max_output_bytes: 10_000,
            allowed_modules: None,
            globals: Arc::default(),
            max_sessions: 16,
            max_snapshot_bytes: 1_000_000,
        }
    }
}
