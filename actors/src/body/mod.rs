//! The body of one call, whichever actor runs it.

mod begun;
mod to_end;

pub(crate) use self::{begun::Begun, to_end::drive_to_end};
