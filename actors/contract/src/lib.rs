//! The values and rules of toolyard, without a runtime.
