//! How a call runs a list of its own.

use std::time::Duration;

use crate::ToolPattern;

/// How a list inside a call is run: it has all that the list around it has, or less.
///
/// Agent, deadline, time-out, injected values and their policy, runner, the list's own tools and the permission
/// policy are those of the list around it. Each field takes something away; none gives more.
///
/// ```
/// use std::time::Duration;
/// use toolyard_contract::{SubmitOptions, ToolPattern};
///
/// let options = SubmitOptions::new().only([ToolPattern::new("search_*")?]).deadline(Duration::from_secs(10));
/// assert_eq!(options.deadline, Some(Duration::from_secs(10)));
/// # Ok::<(), toolyard_contract::PatternError>(())
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct SubmitOptions {
    /// How long the list may take. The deadline of the call that submits it counts too. Default: that one alone.
    pub deadline: Option<Duration>,
    /// How long one of its calls may take where its tool does not say. A longer one than that of the list around it
    /// has no effect. Default: that of the list around it.
    pub timeout: Option<Duration>,
    /// Skips what has not begun once a call has ended other than `ok`. Default: false.
    pub stop_on_failure: bool,
    /// The tools that the list, and the lists inside its calls, may call; others are `inactive`. Default: all that
    /// the list around it may call.
    pub only: Option<Vec<ToolPattern>>,
    /// Leaves out the tools that were declared for the list around it alone. Default: false.
    pub without_guests: bool,
    /// Lets injected values win over what the model gives, also where the list around it lets the model's win.
    /// Default: false.
    pub injected_wins: bool,
}

impl SubmitOptions {
    /// Starts with all that the list around it has.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets how long the list may take.
    #[must_use]
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// Sets how long one of its calls may take.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Skips what has not begun once a call has ended other than `ok`.
    #[must_use]
    pub fn stop_on_failure(mut self, stop: bool) -> Self {
        self.stop_on_failure = stop;
        self
    }

    /// Lets the list call only tools whose own names match one of these.
    #[must_use]
    pub fn only(mut self, patterns: impl IntoIterator<Item = ToolPattern>) -> Self {
        self.only = Some(patterns.into_iter().collect());
        self
    }

    /// Leaves out the tools that were declared for the list around it alone.
    #[must_use]
    pub fn without_guests(mut self) -> Self {
        self.without_guests = true;
        self
    }

    /// Lets injected values win over what the model gives.
    #[must_use]
    pub fn injected_wins(mut self) -> Self {
        self.injected_wins = true;
        self
    }
}
