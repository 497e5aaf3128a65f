//! What people say to requests.

use serde_json::value::RawValue;

/// An answer to one request.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Answer {
    /// The call may run as it was shown.
    Approve,
    /// The call may run with these arguments instead (the text of a JSON object). They are checked
    /// and judged like those of a new call, but need not be asked about again.
    ApproveChanged(String),
    /// The call may run, and so may every later one of this engine with the same action and resource.
    ApproveForSession,
    /// The call must not run; the model is told why, if there is something to tell.
    Deny(Option<String>),
    /// What the tool asked for.
    Input(Box<RawValue>),
}

/// Answers to several requests, given together: all of them are taken, or none.
#[derive(Clone, Debug, Default)]
pub struct Answers(Vec<(String, Answer)>);

impl Answers {
    /// Starts without answers.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an answer. Space around the request's id does not count.
    #[must_use]
    pub fn with(mut self, request: impl Into<String>, answer: Answer) -> Self {
        self.0.push((request.into().trim().to_owned(), answer));
        self
    }

    /// Approves a call as it was shown.
    #[must_use]
    pub fn approve(self, request: impl Into<String>) -> Self {
        self.with(request, Answer::Approve)
    }

    /// Denies a call.
    #[must_use]
    pub fn deny(self, request: impl Into<String>) -> Self {
        self.with(request, Answer::Deny(None))
    }

    /// Denies a call and tells the model why.
    #[must_use]
    pub fn deny_because(self, request: impl Into<String>, reason: impl Into<String>) -> Self {
        self.with(request, Answer::Deny(Some(reason.into())))
    }

    /// The answers in the order in which they were given.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Answer)> {
        self.0.iter().map(|(id, answer)| (id.as_str(), answer))
    }
}
