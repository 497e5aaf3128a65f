//! Containers to run code in that nobody has read: the tools `sandbox_python` and `sandbox_shell`, and more by hand.
//!
//! [`Engine::sandbox`] is the pool of an engine. Nothing is started before the first sandbox is asked for.

pub use toolyard_actors::sandbox::{
    Artifact, BuiltImage, ExecResult, OWNER_LABEL, OutputSink, OutputStream, RunKind, RunRequest, Sandbox,
    SandboxConfig, SandboxError, SandboxFile, SandboxLease, SandboxMount, SandboxNetwork, SandboxPool,
    SandboxPoolConfig, SandboxPoolStatus, SandboxRunner, SandboxSeccomp, SandboxSession, UNTIL_LABEL,
    build_image,
};

use crate::{Engine, EngineBuilder, builtin::sandbox::SandboxTool};

impl EngineBuilder {
    /// Sets what the engine's sandboxes are, and how many there may be. What only this says is not written down by
    /// [`Engine::to_config`].
    #[must_use]
    pub fn sandbox(self, config: SandboxPoolConfig) -> Self {
        self.sandboxes.configure(config);
        self
    }

    /// Adds the tools that run code in the engine's sandboxes.
    #[must_use]
    pub fn sandbox_tools(self) -> Self {
        let pool = self.sandboxes.clone();
        self.tool(SandboxTool::python(pool.clone())).tool(SandboxTool::shell(pool))
    }
}

impl Engine {
    /// The engine's sandboxes. They end with the engine.
    pub fn sandbox(&self) -> &SandboxPool {
        &self.own().sandboxes
    }
}
