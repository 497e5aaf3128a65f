//! What holds for every kind of login.

use std::time::Duration;

/// What is asked for, and what is taken.
#[derive(Clone, PartialEq)]
pub(super) struct Terms {
    /// Empty: what the server says is needed.
    pub(super) scopes: Vec<String>,
    /// Tokens must be bound to our key.
    pub(super) requires_dpop: bool,
    /// Authorization servers may have addresses of private networks.
    pub(super) private_addresses: bool,
    /// How long logging in may take.
    pub(super) patience: Duration,
}
