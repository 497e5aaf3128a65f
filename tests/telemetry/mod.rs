//! What other systems see of an engine.

#[cfg(feature = "metrics")]
mod metrics;
#[cfg(feature = "otel")]
mod spans;
