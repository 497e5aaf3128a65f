//! Tools of the program around a simulation.

use std::sync::Arc;

use toolyard_contract::SharedTool;

/// Makes the host's own tools for the world with this number.
pub(super) type HostTools = Arc<dyn Fn(u32) -> Vec<SharedTool> + Send + Sync>;
