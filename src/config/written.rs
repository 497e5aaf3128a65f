//! The configuration of a running engine.

use super::Config;

/// The configuration of a running engine.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct WrittenConfig {
    /// What the configuration can say.
    pub config: Config,
    /// The names of tools that it cannot: whoever builds the engine again must add them.
    pub left_out: Vec<String>,
}
