//! OpenAI's responses stream. It says a call up to four times: as an item that begins, in pieces, as a whole
//! item, and in the response at the end. Any of it may be missing, and events may come in any order.

use serde::Deserialize;
use serde_json::value::RawValue;
use toolyard_contract::CallId;

use super::{Event, Piece, id, is_there, text};
use crate::formats::deltas::{
    Accumulator,
    partial::{Partial, is_blank, is_same},
};

#[derive(Deserialize)]
pub(super) struct Response<'a> {
    #[serde(borrow)]
    incomplete_details: Option<&'a RawValue>,
    #[serde(borrow)]
    output: Option<Vec<Piece<'a>>>,
}

#[derive(Deserialize)]
struct Incomplete {
    reason: Option<String>,
}

pub(super) fn read(calls: &mut Accumulator, event: Event<'_>) {
    let place = event.output_index;
    let of_item = Key { place, item: id(event.item_id), call: CallId::Absent };
    match event.kind.as_deref().unwrap_or_default() {
        "response.output_item.added" => event.item.into_iter().for_each(|item| begin(calls, place, item)),
        "response.output_item.done" => event.item.into_iter().for_each(|item| whole(calls, place, item)),
        "response.function_call_arguments.delta" => of_item.find(calls).pieces.push_str(&text(event.delta)),
        "response.function_call_arguments.done" => {
            let call = of_item.find(calls);
            name(call, event.name);
            if is_there(event.arguments) {
                call.whole = Some(text(event.arguments));
            }
        }
        "response.completed" => {
            calls.complete();
            all(calls, event.response);
        }
        "response.incomplete" => {
            let details = event.response.as_ref().and_then(|response| response.incomplete_details);
            let details = details.and_then(|raw| serde_json::from_str::<Incomplete>(raw.get()).ok());
            let reason = details.and_then(|details| details.reason);
            calls.cut_off(reason.unwrap_or_else(|| "incomplete".to_owned()));
            all(calls, event.response);
        }
        _ => {}
    }
}

/// Takes the calls of the response at the end, which has them all.
fn all(calls: &mut Accumulator, response: Option<Response<'_>>) {
    let items = response.and_then(|response| response.output).unwrap_or_default();
    items.into_iter().zip(0..).for_each(|(item, place)| whole(calls, Some(place), item));
}

/// Takes an item that begins; its arguments may come with it.
fn begin(calls: &mut Accumulator, place: Option<u64>, item: Piece<'_>) {
    if let Some((call, arguments)) = of_item(calls, place, item) {
        call.first = arguments.unwrap_or_default();
    }
}

/// Takes a whole item: what it says counts, also where a piece was lost.
fn whole(calls: &mut Accumulator, place: Option<u64>, item: Piece<'_>) {
    let is_cut = item.status.as_deref() == Some("incomplete");
    if let Some((call, arguments)) = of_item(calls, place, item) {
        call.whole = arguments.or(call.whole.take());
        if is_cut {
            call.bad = Some("the call was cut off: field \"status\" is \"incomplete\"".to_owned());
        }
    }
}

/// The call that an item is, and its arguments; `None` where it is no call.
fn of_item<'c>(
    calls: &'c mut Accumulator,
    place: Option<u64>,
    item: Piece<'_>,
) -> Option<(&'c mut Partial, Option<String>)> {
    if item.kind.as_deref() != Some("function_call") {
        return None;
    }
    // Answers refer to `call_id`; some servers have one id alone.
    let own = id(item.id);
    let call_id = Some(id(item.call_id)).filter(|id| !is_blank(id)).unwrap_or_else(|| own.clone());
    let call = Key { place, item: own, call: call_id.clone() }.find(calls);
    if is_blank(&call.id) {
        call.id = call_id;
    }
    name(call, item.name);
    Some((call, is_there(item.arguments).then(|| text(item.arguments))))
}

fn name(call: &mut Partial, name: Option<String>) {
    if let (true, Some(name)) = (call.name.is_empty(), name) {
        call.name = name;
    }
}

/// What an event says about which call it is about.
struct Key {
    place: Option<u64>,
    item: CallId,
    call: CallId,
}

impl Key {
    /// The call that is meant; a new one when none is known.
    fn find(self, calls: &mut Accumulator) -> &mut Partial {
        let calls = &mut calls.calls;
        let last_with = |is_it: &dyn Fn(&Partial) -> bool| calls.iter().rposition(is_it);
        let says_nothing = self.place.is_none() && is_blank(&self.item) && is_blank(&self.call);
        let is_at_place = |call: &Partial| {
            let other_item = !is_blank(&self.item) && !is_blank(&call.item) && self.item != call.item;
            let other_call = !is_blank(&self.call) && !is_blank(&call.id) && self.call != call.id;
            self.place.is_some() && call.index == self.place && !other_item && !other_call
        };
        let found = last_with(&|call| is_same(&self.item, &call.item))
            .or_else(|| last_with(&is_at_place))
            .or_else(|| last_with(&|call| is_same(&self.call, &call.id)))
            .or_else(|| (says_nothing && calls.len() == 1).then_some(0));
        let found = found.unwrap_or_else(|| {
            calls.push(Partial { must_say: true, ..Partial::default() });
            calls.len() - 1
        });
        let call = &mut calls[found];
        if call.index.is_none() {
            call.index = self.place;
        }
        if is_blank(&call.item) {
            call.item = self.item;
        }
        call
    }
}
