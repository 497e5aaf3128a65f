//! What other systems see of an engine: counts and times for Prometheus, spans for OpenTelemetry.

#[cfg(feature = "metrics")]
mod meter;
#[cfg(feature = "metrics")]
mod prometheus;
#[cfg(feature = "otel")]
mod spans;

#[cfg(feature = "otel")]
pub(crate) use self::spans::in_current_span;
#[cfg(feature = "otel")]
pub use self::spans::{ExportError, layer, otlp_from_env};
#[cfg(feature = "metrics")]
pub use self::{
    meter::measure,
    prometheus::{PrometheusError, serve_prometheus},
};
