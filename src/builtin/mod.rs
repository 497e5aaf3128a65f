//! The tools that come with the engine.

pub mod calculator;
pub mod file;
