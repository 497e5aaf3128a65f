//! Logs to standard error, and spans to a collector where the environment names one.

use std::io::IsTerminal;

#[cfg(feature = "otel")]
use opentelemetry::trace::TracerProvider;
#[cfg(feature = "otel")]
use opentelemetry_sdk::trace::SdkTracerProvider;
use tracing_subscriber::{EnvFilter, Layer, layer::SubscriberExt, util::SubscriberInitExt};

/// What is not logged unless it is asked for by its name.
const QUIET: &str = "rmcp=off";

/// What is told to others while the program runs.
pub(crate) struct Logging {
    #[cfg(feature = "otel")]
    spans: Option<SdkTracerProvider>,
}

impl Logging {
    /// Starts to log; nothing below a warning unless asked for. What the library of the MCP protocol logs is for its own
    /// authors: it is shown to those who ask for it by name, as with `rmcp=debug`.
    pub(crate) fn start(level: Option<&str>) -> Self {
        let asked = level.map(str::to_owned).or_else(|| std::env::var("TOOLYARD_LOG").ok());
        let quiet = |asked: &str| format!("{QUIET},{asked}");
        let filter = EnvFilter::try_new(quiet(asked.as_deref().unwrap_or("warn"))).unwrap_or_else(|error| {
            eprintln!("toolyard: log filter: {error}; using \"warn\"");
            EnvFilter::new(quiet("warn"))
        });
        let colours =
            std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty());
        let lines = tracing_subscriber::fmt::layer().with_ansi(colours).with_writer(std::io::stderr);
        let logs = tracing_subscriber::registry().with(lines.with_filter(filter));
        #[cfg(feature = "otel")]
        let spans = spans();
        #[cfg(feature = "otel")]
        let logs =
            logs.with(spans.as_ref().map(|spans| toolyard::telemetry::layer(spans.tracer("toolyard"))));
        logs.init();
        Self {
            #[cfg(feature = "otel")]
            spans,
        }
    }

    /// Sends what has not been sent.
    pub(crate) fn end(self) {
        #[cfg(feature = "otel")]
        if let Some(Err(error)) = self.spans.map(|spans| spans.shutdown()) {
            eprintln!("toolyard: spans could not be exported: {error}");
        }
    }
}

#[cfg(feature = "otel")]
fn spans() -> Option<SdkTracerProvider> {
    toolyard::telemetry::otlp_from_env().unwrap_or_else(|error| {
        eprintln!("toolyard: spans are not exported: {error}");
        None
    })
}
