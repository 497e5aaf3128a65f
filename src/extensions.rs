//! The extensions that come with this crate, as far as it is built with them.

use std::sync::Arc;

use toolyard_actors::Extension;

/// What an engine keeps of its own extensions, to offer more of them than every extension has.
#[derive(Clone, Debug)]
pub(crate) struct OwnExtensions {
    #[cfg(feature = "docker")]
    pub(crate) sandboxes: toolyard_actors::sandbox::SandboxPool,
    #[cfg(feature = "python")]
    pub(crate) python: crate::python::setup::EnginePython,
    #[cfg(feature = "mcp")]
    pub(crate) mcp: toolyard_actors::mcp::McpPool,
}

impl OwnExtensions {
    /// All extensions of an engine in the order in which they start: a later one may use an earlier one, and those of the
    /// host may use all.
    #[cfg_attr(
        not(any(feature = "docker", feature = "mcp", feature = "python")),
        expect(clippy::unused_self)
    )]
    pub(crate) fn before(&self, of_host: Vec<Arc<dyn Extension>>) -> Vec<Arc<dyn Extension>> {
        let own: Vec<Arc<dyn Extension>> = vec![
            #[cfg(feature = "docker")]
            Arc::new(self.sandboxes.clone()),
            #[cfg(feature = "python")]
            Arc::new(self.python.files.clone()),
            #[cfg(feature = "mcp")]
            Arc::new(self.mcp.clone()),
        ];
        own.into_iter().chain(of_host).collect()
    }
}
