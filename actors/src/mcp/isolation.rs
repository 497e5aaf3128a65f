//! Connections of callers' own.

use std::{collections::BTreeMap, fmt, sync::Arc, time::Duration};

/// Gives each caller of a server a connection of its own: nothing that the server keeps for one agent is seen by
/// another. A caller is an agent, with what it shows the server. Calls of no agent that show nothing share the
/// server's own connection.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Isolation {
    /// How many callers may have connections at the same time; for one more, the connection goes that has been unused
    /// for longest, or is waited for within the connect timeout where all are in use. Default 32: each may be a process.
    pub most: usize,
    /// How long a connection stays that its caller does not use. Default 300 s: longer than most agents think.
    pub idle: Duration,
    /// What callers show the server. Default: all the same.
    pub credentials: Option<Credentials>,
}

impl Default for Isolation {
    fn default() -> Self {
        Self { most: 32, idle: Duration::from_mins(5), credentials: None }
    }
}

impl Isolation {
    /// Sets what callers show the server.
    #[must_use]
    pub fn credentials(mut self, credentials: Credentials) -> Self {
        self.credentials = Some(credentials);
        self
    }

    /// Sets how many callers may have connections at the same time.
    #[must_use]
    pub fn most(mut self, most: usize) -> Self {
        self.most = most;
        self
    }

    /// Sets how long a connection stays that its caller does not use.
    #[must_use]
    pub fn idle(mut self, idle: Duration) -> Self {
        self.idle = idle;
        self
    }
}

type Shown = dyn Fn(Option<&str>) -> BTreeMap<String, String> + Send + Sync;

/// What each agent shows a server: headers for one that is reached by HTTP, variables of the environment for a program.
#[derive(Clone)]
pub struct Credentials(Arc<Shown>);

impl Credentials {
    /// Asks `shown` at each call; when it says something else than before, the agent gets a new connection.
    pub fn new(shown: impl Fn(Option<&str>) -> BTreeMap<String, String> + Send + Sync + 'static) -> Self {
        Self(Arc::new(shown))
    }

    pub(super) fn of(&self, agent: Option<&str>) -> BTreeMap<String, String> {
        (self.0)(agent)
    }
}

impl PartialEq for Credentials {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials").finish_non_exhaustive()
    }
}
