//! Who judges calls.

use std::{borrow::Cow, fmt};

use futures::future::BoxFuture;

use super::{PermissionCheck, PermissionContext, PermissionDecision, PermissionRules};

/// Judges what calls want to do.
///
/// [`RulePolicy`](super::RulePolicy) is the one that configuration files make. A host may bring its
/// own, which may look things up or ask somebody.
pub trait PermissionPolicy: Send + Sync + 'static {
    /// Names the state of what the policy judges by. It is kept with each decision, and an approval
    /// holds only as long as it stays the same.
    fn version(&self) -> Cow<'_, str>;

    /// Judges one call. No answer in time, and a panic, count as a denial.
    fn judge(&self, check: &PermissionCheck, context: &PermissionContext<'_>) -> Judgement;

    /// The rules, where the policy is nothing else and can be written into a configuration file.
    /// Default: none.
    fn rules(&self) -> Option<PermissionRules> {
        None
    }
}

/// A decision, or the promise of one.
pub enum Judgement {
    /// The policy knows at once.
    Now(PermissionDecision),
    /// The policy must wait for something. The whole list waits with it.
    Later(BoxFuture<'static, PermissionDecision>),
}

impl From<PermissionDecision> for Judgement {
    fn from(decision: PermissionDecision) -> Self {
        Self::Now(decision)
    }
}

impl fmt::Debug for Judgement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Now(decision) => f.debug_tuple("Now").field(decision).finish(),
            Self::Later(_) => f.write_str("Later"),
        }
    }
}
