//! Why a request brought no result.

use std::{sync::LazyLock, time::Duration};

use rmcp::model::{ErrorCode, ErrorData, JsonRpcMessage, RequestId};
use serde::{Deserialize, Serialize};

use super::exact::Incoming;

/// What became of a request that brought no result. In words, fit for a model: no address, which may hold a secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum RequestError {
    /// Nothing of it reached the server: the connection is of no use.
    #[error("{0}")]
    NotSent(String),
    /// The server said that it did not act on it.
    #[error("{reason}")]
    NotRun {
        reason: String,
        /// When the server wants to be asked again.
        retry_after: Option<Duration>,
    },
    /// The server may have acted on it; no answer will come that can be used.
    #[error("{0}")]
    Lost(String),
    /// The server looked at it and refused it.
    #[error("{0}")]
    Refused(String),
}

/// Which of our own errors this is, as it travels in the place of an answer. `mark` is known to this process alone, so no
/// server can write one.
#[derive(Serialize, Deserialize)]
struct Ours {
    mark: u64,
    end: End,
    retry_after: Option<Duration>,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
enum End {
    NotSent,
    NotRun,
    Lost,
    Refused,
}

static MARK: LazyLock<u64> = LazyLock::new(|| fastrand::u64(..));

impl RequestError {
    pub(super) fn reason(&self) -> &str {
        match self {
            Self::NotSent(reason)
            | Self::NotRun { reason, .. }
            | Self::Lost(reason)
            | Self::Refused(reason) => reason,
        }
    }

    /// Makes the message that ends the request `id` with this, in the place of the server's answer.
    pub(super) fn in_place_of_answer(self, id: RequestId) -> Incoming {
        let (end, retry_after) = match &self {
            Self::NotSent(_) => (End::NotSent, None),
            Self::NotRun { retry_after, .. } => (End::NotRun, *retry_after),
            Self::Lost(_) => (End::Lost, None),
            Self::Refused(_) => (End::Refused, None),
        };
        let ours = serde_json::to_value(Ours { mark: *MARK, end, retry_after }).ok();
        let error = ErrorData::new(ErrorCode::INTERNAL_ERROR, self.reason().to_owned(), ours);
        JsonRpcMessage::error(error, Some(id))
    }
}

/// What a request was answered with that was answered with an error: by the server, or in its place by
/// [`RequestError::in_place_of_answer`].
impl From<ErrorData> for RequestError {
    fn from(error: ErrorData) -> Self {
        let reason = error.message.into_owned();
        let ours = error.data.and_then(|data| serde_json::from_value::<Ours>(data).ok());
        match ours.filter(|ours| ours.mark == *MARK) {
            Some(Ours { end: End::NotSent, .. }) => Self::NotSent(reason),
            Some(Ours { end: End::NotRun, retry_after, .. }) => Self::NotRun { reason, retry_after },
            Some(Ours { end: End::Lost, .. }) => Self::Lost(reason),
            Some(Ours { end: End::Refused, .. }) | None => Self::Refused(reason),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_ends_a_request_of_ours_is_known_again_and_no_server_can_write_it() {
        let second = Some(Duration::from_secs(1));
        for error in [
            RequestError::NotSent("a".to_owned()),
            RequestError::NotRun { reason: "b".to_owned(), retry_after: second },
            RequestError::Lost("c".to_owned()),
            RequestError::Refused("d".to_owned()),
        ] {
            let message = error.clone().in_place_of_answer(RequestId::Number(7));
            let text = serde_json::to_string(&message).unwrap();
            let JsonRpcMessage::Error(read) = serde_json::from_str::<Incoming>(&text).unwrap() else {
                panic!()
            };
            assert_eq!(RequestError::from(read.error), error);
        }
        for data in [json!({"mark": 0, "end": "Lost", "retry_after": null}), json!("Lost"), json!(null)] {
            let written = ErrorData::new(ErrorCode::INTERNAL_ERROR, "e", Some(data));
            assert_eq!(RequestError::from(written), RequestError::Refused("e".to_owned()));
        }
    }
}
