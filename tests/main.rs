//! The integration tests, in one binary: one program to link instead of one per file.

mod builtin;
#[cfg(feature = "cli")]
mod cli;
mod engine;
mod events;
mod formats;
#[cfg(feature = "macros")]
mod functions;
mod layering;
#[cfg(feature = "mcp")]
mod mcp;
mod permission;
#[cfg(feature = "python")]
mod python;
#[cfg(feature = "sim")]
mod sim;
mod timeline;
#[cfg(feature = "python")]
mod python_repl;
mod venv;
#[cfg(feature = "http")]
mod web;
