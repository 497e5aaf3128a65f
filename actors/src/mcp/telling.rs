//! What people are told in the log about a server: each change once.

/// What was told last of one server.
#[derive(Default)]
pub(super) struct Telling {
    failed: Option<String>,
}

impl Telling {
    /// Says that a server cannot be used, and why. Tries follow each other, and most fail as the one before: a reason is
    /// told once, until the server is there again.
    pub(super) fn failed(&mut self, server: &str, error: &str) {
        if self.failed.as_deref() != Some(error) {
            tracing::warn!(server, error, "MCP server");
            self.failed = Some(error.to_owned());
        }
    }

    /// Says that a server can be used that could not.
    pub(super) fn is_there(&mut self, server: &str) {
        if self.failed.take().is_some() {
            tracing::info!(server, "MCP server is there again");
        }
    }
}
