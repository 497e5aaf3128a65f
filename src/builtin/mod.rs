//! The tools that come with the engine, and the registry that gives them by name.

pub mod calculator;
pub mod file;
#[cfg(feature = "http")]
pub mod http;
mod registry;
#[cfg(feature = "http")]
pub mod web;
#[cfg(feature = "search")]
pub mod web_search;

pub use registry::{BuiltinRegistry, NameClash};
