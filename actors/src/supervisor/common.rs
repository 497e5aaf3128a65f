//! What every list of an engine needs, whoever runs it.

use std::{sync::Arc, time::Duration};

use tokio_util::sync::CancellationToken;
use toolyard_contract::ActivationController;

use crate::{
    admission::Admission, keys::KeyTable, observe::Observers, overflow::Overflow, permission::Permissions,
    retry::RetryPolicy, rows::StateOrigin,
};

/// What the lists of one engine share.
pub(crate) struct Common {
    /// The engine's limits, once for each depth of nested lists: a list never waits for permits that
    /// a call around it holds.
    pub(crate) admissions: Vec<Arc<Admission>>,
    /// What one call at a time may have.
    pub(crate) keys: Arc<KeyTable>,
    pub(crate) observers: Arc<Observers>,
    /// Where results go that are too large.
    pub(crate) overflow: Overflow,
    /// How long a call may take where neither tool nor list says. `None`: no limit.
    pub(crate) timeout: Option<Duration>,
    /// How long a list may take where it does not say. `None`: no limit.
    pub(crate) deadline: Option<Duration>,
    pub(crate) retry: RetryPolicy,
    pub(crate) activation: ActivationController,
    pub(crate) permissions: Permissions,
    /// Which state the rows of all tools are.
    pub(crate) origin: StateOrigin,
    /// Ends the lists under way.
    pub(crate) shutdown: CancellationToken,
}
