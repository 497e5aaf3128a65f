//! The tools that come with the engine, and the registry that gives them by name.

pub mod calculator;
pub mod file;
mod registry;
#[cfg(feature = "docker")]
pub mod sandbox;

pub use registry::{BuiltinRegistry, NameClash};
