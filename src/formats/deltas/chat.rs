//! Which call a piece belongs to, where a stream says so in no certain way: chat streams.
//!
//! OpenAI gives an index with each piece, and id and name with a call's first one. Servers that speak its
//! form leave the index out, give all calls the same, repeat the name, send it in pieces, or make an id for
//! each piece.

use super::{
    Delta,
    partial::{Partial, is_blank, is_same},
};

/// Why a call without arguments must not run, when its name came again.
const REPEATED: &str = "its name came again under another id";

/// Why it must not, when what followed at its index had neither its name nor its id.
const REPLACED: &str = "another call began at its index before it had any";

/// Takes one piece.
pub(super) fn add(calls: &mut Vec<Partial>, mut delta: Delta) {
    delta.name = delta.name.filter(|name| !name.is_empty());
    let Some(found) = candidate(calls, &delta) else { return begin(calls, delta, None) };
    match belonging(&calls[found], &delta) {
        Belonging::Continues => go_on(&mut calls[found], delta),
        Belonging::Begins => {
            // An index is there for one call; what does not fit may have been a piece of it.
            if delta.index.is_some() {
                calls[found].doubt = Some(REPLACED);
            }
            begin(calls, delta, None);
        }
        Belonging::BeginsAgain => {
            calls[found].doubt = Some(REPEATED);
            begin(calls, delta, Some(REPEATED));
        }
    }
}

enum Belonging {
    Continues,
    Begins,
    /// It begins a call, or it is a piece of the one before, with an id of its own.
    BeginsAgain,
}

/// The call that a piece belongs to, unless it begins one.
fn candidate(calls: &[Partial], delta: &Delta) -> Option<usize> {
    let last_with = |belongs: &dyn Fn(&Partial) -> bool| calls.iter().rposition(belongs);
    let has_id = |call: &Partial| is_same(&delta.id, &call.id);
    let last = calls.len().checked_sub(1);
    if let Some(index) = delta.index {
        let is_there = |call: &Partial| call.index == Some(index);
        return last_with(&|call| is_there(call) && has_id(call))
            .or_else(|| last_with(&is_there))
            // The call may have begun without an index.
            .or_else(|| last_with(&|call| call.index.is_none() && has_id(call)))
            .or_else(|| last.filter(|last| delta.name.is_none() && calls[*last].index.is_none()));
    }
    if is_blank(&delta.id) {
        return last;
    }
    // An id that nobody has begins a call with a name; without one it is made for this piece alone. A
    // name that comes again may be either.
    let says_nothing = delta.arguments.trim().is_empty();
    let may_follow = |last: &usize| match &delta.name {
        None => says_nothing || !calls[*last].is_whole(),
        Some(name) => *name == calls[*last].name,
    };
    last_with(&has_id).or_else(|| last.filter(may_follow))
}

fn belonging(call: &Partial, delta: &Delta) -> Belonging {
    let same_id = is_same(&delta.id, &call.id);
    let other_id = !same_id && !is_blank(&delta.id) && !is_blank(&call.id);
    let says_nothing = delta.arguments.trim().is_empty();
    let by_index = delta.index.is_some();
    let is_whole = call.is_whole();
    let begins_when = |begins| if begins { Belonging::Begins } else { Belonging::Continues };
    match &delta.name {
        None => begins_when(other_id && is_whole && !says_nothing),
        Some(_) if same_id => Belonging::Continues,
        Some(_) if call.name.is_empty() => begins_when(other_id && is_whole),
        Some(name) if *name == call.name => match (is_whole, other_id) {
            (true, true) if says_nothing => Belonging::BeginsAgain,
            (true, _) => begins_when(!says_nothing),
            (false, true) if by_index => Belonging::Continues,
            (false, true) if !call.has_arguments() => Belonging::BeginsAgain,
            (false, other_id) => begins_when(other_id),
        },
        Some(_) if other_id || is_whole => Belonging::Begins,
        // A name in pieces; where there is no index, a name after arguments begins a call.
        Some(_) => begins_when(call.has_arguments() && !by_index),
    }
}

fn go_on(call: &mut Partial, delta: Delta) {
    if is_blank(&call.id) {
        call.id = delta.id;
    }
    if call.index.is_none() {
        call.index = delta.index;
    }
    if let Some(name) = delta.name
        && name != call.name
    {
        // Either what follows of the name, or the name as far as it is known.
        let is_all_of_it = name.starts_with(&call.name);
        if is_all_of_it {
            call.name.clear();
        }
        call.name.push_str(&name);
    }
    call.pieces.push_str(&delta.arguments);
}

fn begin(calls: &mut Vec<Partial>, delta: Delta, doubt: Option<&'static str>) {
    let Delta { index, id, name, arguments } = delta;
    let name = name.unwrap_or_default();
    calls.push(Partial { index, id, name, pieces: arguments, doubt, ..Partial::default() });
}
