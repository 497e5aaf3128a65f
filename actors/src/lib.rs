//! The actors of toolyard.
