//! Call lists as models write them, and results as their providers want them back.
//!
//! [`read_document`] takes every provider's shape, detected item by item. Each vendor has one file with its
//! way in (what of an item is name, arguments and id) and its way out (a list of answers).

pub mod anthropic;
pub mod gemini;
pub mod native;
pub mod openai;
pub mod responses;
pub mod schema;

mod answer;
mod content;
mod declared;
mod deltas;
mod document;
mod error;
mod glance;
mod item;
mod json;
mod message;
mod node;
mod object;

#[cfg(test)]
mod tests;

pub use deltas::{Accumulator, Delta};
pub use document::{Document, read_document};
pub use error::DocumentError;
