//! The integration tests, in one binary: one program to link instead of one per file.

mod builtin;
mod engine;
mod formats;
mod layering;
