//! A picture of what an engine did: one page of HTML that needs no network.
//!
//! A [`Timeline`] takes records, from a [`Recorder`](crate::events::Recorder) or from a file, and
//! writes the page: a lane for each actor, a bar for each call, what each call waited for, and the same
//! as a table.

mod collect;
mod columns;
mod page;
mod texts;
mod waits;

pub use self::collect::Timeline;
