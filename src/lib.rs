//! toolyard.
