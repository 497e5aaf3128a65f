//! toolyard.

pub mod builtin;
