//! Metrics for Prometheus, for this machine alone.

use std::net::SocketAddr;

use metrics_exporter_prometheus::{BuildError, PrometheusBuilder};

/// The bounds of histograms in seconds: calls take from microseconds to minutes.
const BOUNDS: [f64; 16] =
    [1e-6, 1e-5, 1e-4, 1e-3, 5e-3, 1e-2, 5e-2, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0, 300.0];

/// Why metrics cannot be served.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PrometheusError {
    /// Others than this machine could read them.
    #[error("metrics are served on loopback only, and {0} is not; put a proxy in front of it")]
    NotLoopback(SocketAddr),
    /// The address is taken, or another recorder is installed.
    #[error("metrics cannot be served: {0}")]
    Exporter(#[from] BuildError),
}

/// Installs a recorder for the whole process, and serves what it has recorded as
/// `http://ADDRESS/metrics`. Call it before [`measure`](super::measure).
///
/// # Errors
/// When the address is not one of loopback or is taken, or when a recorder is installed already.
pub fn serve_prometheus(address: SocketAddr) -> Result<(), PrometheusError> {
    if !address.ip().is_loopback() {
        return Err(PrometheusError::NotLoopback(address));
    }
    let builder = PrometheusBuilder::new().with_http_listener(address).set_buckets(&BOUNDS)?;
    Ok(builder.install()?)
}
