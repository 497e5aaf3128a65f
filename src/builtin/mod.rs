//! The tools that come with the engine, and the registry that gives them by name.

pub mod calculator;
pub mod file;
#[cfg(feature = "http")]
pub mod http;
#[cfg(feature = "python")]
pub mod python_repl;
mod registry;
#[cfg(feature = "docker")]
pub mod sandbox;
#[cfg(feature = "http")]
pub mod web;
#[cfg(feature = "search")]
pub mod web_search;

#[cfg(all(feature = "python", not(feature = "docker")))]
pub(crate) use registry::NO_REPL;
pub use registry::{BuiltinRegistry, NameClash};
