//! toolyard.

pub mod formats;
