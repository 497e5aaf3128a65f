//! What a call of a Python function ends with.

use serde_json::value::RawValue;
use tokio::sync::oneshot;
use toolyard_contract::{Detail, Failure, Output, Reply as ToolReply, ToolReturn};

use super::frames::FromWorker;
use super::process::End;

/// The end of a call, and the inner state that is to be kept when it worked.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) returned: ToolReturn,
    pub(super) state: Option<Box<RawValue>>,
}

impl Answer {
    /// Reads the frame by which a worker ends a call.
    pub(super) fn of(frame: FromWorker, tool: &str) -> Self {
        let FromWorker { value, state, refused, error, traceback, printed, notes, .. } = frame;
        let has_detail = traceback.is_some() || printed.is_some() || !notes.is_empty();
        let add = move |detail: &mut Detail| {
            detail.traceback = traceback;
            detail.printed = printed;
            detail.notes = notes;
        };
        let returned = match (refused, error) {
            (Some(refused), _) => {
                let failure = Failure::bad_arguments(format!("tool {tool:?}: {refused}"));
                Err(if has_detail { failure.detail(add) } else { failure })
            }
            (None, Some(error)) => {
                let failure = Failure::failed(error);
                Err(if has_detail { failure.detail(add) } else { failure })
            }
            (None, None) => {
                let detail = has_detail.then(|| {
                    let mut detail = Box::<Detail>::default();
                    add(&mut detail);
                    detail
                });
                Ok(ToolReply { output: value.map(output), detail })
            }
        };
        let state = state.filter(|_| returned.is_ok());
        Self { returned, state }
    }
}

impl From<Failure> for Answer {
    fn from(failure: Failure) -> Self {
        Self { returned: Err(failure), state: None }
    }
}

/// Text as text, everything else as the JSON that it is.
fn output(value: Box<RawValue>) -> Output {
    if value.get().starts_with('"')
        && let Ok(text) = serde_json::from_str(value.get())
    {
        return Output::Text(text);
    }
    Output::Json(value)
}

/// The end of a call whose process went away.
pub(super) fn lost(tool: &str, end: &End) -> Answer {
    let failure =
        Failure::lost(format!("tool {tool:?}: its Python process ended during the call ({})", end.how));
    if end.stderr.is_empty() {
        return failure.into();
    }
    failure.detail(|detail| detail.printed = Some(end.stderr.clone())).into()
}

/// The duty to answer one call. Dropped, it answers `not_started`, or `lost` once the call has begun.
#[derive(Debug)]
pub(super) struct Reply {
    tool: String,
    to: Option<oneshot::Sender<Answer>>,
    begun: bool,
}

impl Reply {
    pub(super) fn new(tool: &str) -> (Self, oneshot::Receiver<Answer>) {
        let (to, from) = oneshot::channel();
        (Self { tool: tool.to_owned(), to: Some(to), begun: false }, from)
    }

    /// Notes that the call may have effects from now on.
    pub(super) fn begun(&mut self) {
        self.begun = true;
    }

    pub(super) fn send(mut self, answer: Answer) {
        self.answer(answer);
    }

    pub(super) fn not_started(mut self, reason: &str) {
        let failure = Failure::not_started(format!("tool {:?}: {reason}", self.tool));
        self.answer(failure.into());
    }

    fn answer(&mut self, answer: Answer) {
        if let Some(to) = self.to.take() {
            // Who waited may have gone.
            let _ = to.send(answer);
        }
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        if self.to.is_none() {
            return;
        }
        let failure = if self.begun {
            Failure::lost(format!("tool {:?}: what ran the call went away", self.tool))
        } else {
            Failure::not_started(format!("tool {:?}: its worker went away", self.tool))
        };
        self.answer(failure.into());
    }
}
