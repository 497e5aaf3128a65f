//! What a server wants before it answers.

/// A refusal for want of a token.
#[derive(Debug)]
pub(in crate::mcp) struct Challenge {
    /// Its header, if it sent one.
    pub(in crate::mcp) header: Option<String>,
    /// What the token must allow; `None`: there is no usable token.
    pub(in crate::mcp) scope: Option<String>,
    /// The token that it did not take.
    pub(in crate::mcp) refused: Option<String>,
}
