//! The rounds that a server's questions make of one call.

use std::{collections::BTreeMap, time::Duration};

use rmcp::model::{CallToolRequestParams, ElicitResult, InputRequest, InputRequiredResult};
use serde::Serialize;
use serde_json::Value;
use tokio::time::sleep;
use toolyard_contract::{CallContext, Failure};

use super::{desk::Desk, held::Held, pending::Pending, question::Asked, session::Lease};

/// How many rounds a server may make of a call without asking people.
const MOST_ROUNDS: u32 = 10;

/// How long a server that only wants to be asked again gets, doubled with each round.
const FIRST_PAUSE: Duration = Duration::from_millis(100);

/// A call that goes on with what people have answered.
pub(super) struct GoingOn {
    pub(super) asked: Asked,
    results: BTreeMap<String, Value>,
}

impl GoingOn {
    /// Reads what a call goes on with; `None` when it begins.
    ///
    /// # Errors
    /// Asks again where the answer does not fit.
    pub(super) fn of(context: &CallContext, server: &str, arguments: &str) -> Result<Option<Self>, Failure> {
        let (Some(kept), Some(input)) = (context.kept(), context.input()) else { return Ok(None) };
        let asked: Asked = serde_json::from_value(kept.clone())
            .map_err(|error| Failure::failed(format!("what the call had kept cannot be read: {error}")))?;
        match asked.results(input) {
            Ok(results) => Ok(Some(Self { asked, results })),
            Err(misfit) => {
                let mut again = asked.needs_input(server, arguments.to_owned());
                again.error = format!("the answer does not fit: {misfit}; {}", again.error);
                Err(again)
            }
        }
    }

    /// Answers the question that the server waits with.
    pub(super) fn answer(self, held: Held, context: CallContext) -> (Lease, Pending) {
        let Held { question, mut call, link } = held;
        call.tell(context);
        // One that waits no more has cancelled its call, or answers it all the same.
        question.answer(self.only());
        call.goes_on();
        (link, call)
    }

    /// The answer, when the server asks the same again.
    pub(super) fn result_for(self, question: &Value) -> Option<ElicitResult> {
        (self.asked.only() == Some(question)).then(|| self.only())
    }

    fn only(self) -> ElicitResult {
        let result = self.results.into_values().next().unwrap_or_default();
        serde_json::from_value(result)
            .unwrap_or_else(|_| ElicitResult::new(rmcp::model::ElicitationAction::Cancel))
    }

    /// Puts the answers into a call that is sent again.
    pub(super) fn fill_in(mut self, params: &mut CallToolRequestParams) {
        self.asked.answered.append(&mut self.results);
        Retry { answered: self.asked.answered, state: self.asked.state }.fill_in(params);
    }
}

/// What a server that has no session wants before it does a call.
#[derive(Default)]
pub(super) struct Rounds(u32);

/// What comes next.
pub(super) enum Round {
    /// The call is sent again with this.
    Retry(Retry),
    /// People must be asked.
    Ask(Asked),
}

/// What a call is sent again with.
pub(super) struct Retry {
    answered: BTreeMap<String, Value>,
    state: Option<String>,
}

impl Retry {
    pub(super) fn fill_in(self, params: &mut CallToolRequestParams) {
        params.input_responses = (!self.answered.is_empty()).then_some(self.answered);
        params.request_state = self.state;
    }
}

impl Rounds {
    /// Sees to what the host can answer, and sorts out what people must.
    ///
    /// # Errors
    /// Says what is refused.
    pub(super) async fn next(&mut self, wish: InputRequiredResult, desk: &Desk) -> Result<Round, String> {
        self.0 += 1;
        if self.0 > MOST_ROUNDS {
            return Err(format!("its server wanted more than {MOST_ROUNDS} times to be asked again"));
        }
        let state = wish.request_state;
        let wishes = wish.input_requests.unwrap_or_default();
        if wishes.is_empty() {
            sleep(FIRST_PAUSE.saturating_mul(2_u32.saturating_pow(self.0 - 1))).await;
        }
        let (mut questions, mut answered) = (BTreeMap::new(), BTreeMap::new());
        for (key, wish) in wishes {
            match wish {
                InputRequest::Elicitation(question) => {
                    questions.insert(key, written(&question.params));
                }
                InputRequest::CreateMessage(request) => {
                    let sampled = desk.sample(written(&request.params)).await;
                    let sampled =
                        sampled.map_err(|reason| format!("its server asks for a model: {reason}"))?;
                    answered.insert(key, sampled);
                }
                InputRequest::ListRoots(_) => {
                    answered.insert(key, desk.roots());
                }
                _ => return Err("its server asks for something that is not known here".to_owned()),
            }
        }
        if questions.is_empty() {
            return Ok(Round::Retry(Retry { answered, state }));
        }
        Ok(Round::Ask(Asked { held: None, state, questions, answered }))
    }
}

/// The request that asked is gone: the answer came too late, or in another process.
pub(super) fn gone(tool: &str) -> Failure {
    Failure::lost(format!(
        "tool {tool:?}: its server does not wait for the answer any more, and what the call had done is not known"
    ))
}

pub(super) fn written(value: &impl Serialize) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}
