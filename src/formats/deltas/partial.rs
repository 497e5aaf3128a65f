//! What there is of one call.

use serde_json::value::RawValue;
use toolyard_contract::{Arguments, BadCall, CallId, ToolCall};

use super::End;

/// What there is of one call. Arguments come in up to three ways; see [`Partial::arguments`].
#[derive(Debug, Default)]
pub(super) struct Partial {
    pub(super) index: Option<u64>,
    /// The id of the item that the call is, where a provider has both.
    pub(super) item: CallId,
    pub(super) id: CallId,
    pub(super) name: String,
    /// Arguments that came with the call's beginning.
    pub(super) first: String,
    /// Arguments that came in pieces.
    pub(super) pieces: String,
    /// All arguments, as the provider says them once more when the call is whole.
    pub(super) whole: Option<String>,
    /// The provider says arguments also where there are none: when it said nothing, they got lost.
    pub(super) must_say: bool,
    /// Why what there is must not run.
    pub(super) bad: Option<String>,
    /// Why there should be arguments, where none came.
    pub(super) doubt: Option<&'static str>,
    /// A call that the provider runs itself.
    pub(super) is_foreign: bool,
}

impl Partial {
    /// The arguments: all of them as said at the end, else the pieces, else those of the beginning.
    pub(super) fn arguments(&self) -> &str {
        let said = [self.whole.as_deref().unwrap_or_default(), &self.pieces, &self.first];
        said.into_iter().find(|text| !text.trim().is_empty()).unwrap_or_default()
    }

    pub(super) fn has_arguments(&self) -> bool {
        !self.arguments().is_empty()
    }

    /// Tells whether the arguments are one whole JSON object: nothing can follow it.
    pub(super) fn is_whole(&self) -> bool {
        let arguments = self.arguments();
        arguments.trim_start().starts_with('{') && serde_json::from_str::<&RawValue>(arguments).is_ok()
    }

    /// Tells whether nothing is known of a call here, or the call is none of ours.
    pub(super) fn is_nothing(&self) -> bool {
        let is_empty = self.name.is_empty() && is_blank(&self.id) && !self.has_arguments();
        self.is_foreign || (is_empty && self.bad.is_none())
    }

    /// Tells whether these are arguments that name no call.
    pub(super) fn is_stray(&self) -> bool {
        self.name.trim().is_empty() && self.has_arguments()
    }

    /// Makes the call of it. `is_torn`: arguments of some call of the stream came under no name.
    pub(super) fn finish(self, position: usize, end: &End, is_torn: bool) -> Result<ToolCall, BadCall> {
        match self.reason_against(end, is_torn) {
            Some(reason) => Err(BadCall {
                name: self.name.into(),
                id: self.id,
                error: format!("item {position}: {reason}"),
            }),
            None => Ok(ToolCall {
                arguments: Arguments::from_text(self.arguments().to_owned()),
                name: self.name.into(),
                id: self.id,
            }),
        }
    }

    fn reason_against(&self, end: &End, is_torn: bool) -> Option<String> {
        if self.name.trim().is_empty() {
            return Some("field \"name\" is missing".to_owned());
        }
        if self.bad.is_some() {
            return self.bad.clone();
        }
        if self.is_whole() {
            return None;
        }
        match end {
            End::Missing => return Some("the stream ended before the call was complete".to_owned()),
            End::Cut(reason) => {
                return Some(format!("the call was cut off ({reason}); its arguments are not complete"));
            }
            End::Complete => {}
        }
        if is_torn {
            return Some("its arguments are missing: the stream has some that belong to no call".to_owned());
        }
        if self.has_arguments() {
            return None; // plain text, or what the gate refuses
        }
        if let Some(doubt) = self.doubt {
            return Some(format!("its arguments are missing: {doubt}"));
        }
        let nothing_said = self.must_say && self.whole.is_none();
        nothing_said.then(|| "its arguments are missing: no event of the stream has them".to_owned())
    }
}

pub(super) fn is_blank(id: &CallId) -> bool {
    match id {
        CallId::Absent => true,
        CallId::Text(text) => text.trim().is_empty(),
        CallId::Other(_) => false,
    }
}

/// Tells whether both are there, and are the same.
pub(super) fn is_same(id: &CallId, other: &CallId) -> bool {
    !is_blank(id) && id == other
}
