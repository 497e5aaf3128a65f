//! The integration tests, in one binary: one program to link instead of one per file.

#![allow(clippy::arithmetic_side_effects, reason = "tests choose their times")]

mod builtin;
#[cfg(feature = "cli")]
mod cli;
mod engine;
mod events;
mod formats;
#[cfg(feature = "macros")]
mod functions;
mod layering;
#[cfg(all(feature = "cli", feature = "mcp", feature = "python"))]
mod long_numbers;
#[cfg(feature = "mcp")]
mod mcp;
mod permission;
#[cfg(any(feature = "mcp", feature = "python"))]
mod processes;
#[cfg(feature = "python")]
mod python;
#[cfg(feature = "python")]
mod python_repl;
#[cfg(feature = "docker")]
mod sandbox;
#[cfg(all(feature = "cli", feature = "mcp", feature = "python"))]
mod security;
#[cfg(feature = "sim")]
mod sim;
#[cfg(any(feature = "metrics", feature = "otel"))]
mod telemetry;
mod timeline;
mod venv;
#[cfg(feature = "http")]
mod web;
