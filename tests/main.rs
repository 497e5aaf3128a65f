//! The integration tests, in one binary: one program to link instead of one per file.

mod builtin;
mod engine;
mod formats;
#[cfg(feature = "macros")]
mod functions;
mod layering;
#[cfg(feature = "python")]
mod python;
