//! What a call wants to do, in the words that a policy judges.

/// One call projected to an action on a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PermissionCheck {
    /// What is done (`file.write`).
    pub action: String,
    /// To what: a path, a URL, or the canonical arguments.
    pub resource: String,
}

/// What a projection may know beside the arguments.
#[derive(Clone, Copy, Debug, Default)]
pub struct PermissionContext<'a> {
    /// The agent that calls.
    pub agent: Option<&'a str>,
}
