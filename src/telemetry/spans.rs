//! Spans of lists and calls for OpenTelemetry.

use opentelemetry::trace::Tracer;
use opentelemetry_otlp::{ExporterBuildError, SpanExporter};
use opentelemetry_sdk::{Resource, trace::SdkTracerProvider};
use toolyard_actors::ExecuteOptions;
use tracing::{Span, Subscriber, level_filters::LevelFilter};
use tracing_subscriber::{Layer, filter::Targets, registry::LookupSpan};

/// Why spans cannot be exported.
pub type ExportError = ExporterBuildError;

/// Makes a layer for a [`tracing`] subscriber that gives the spans of lists and calls to `tracer`.
///
/// A call's span is named `execute_tool NAME` and has the attributes of OpenTelemetry's conventions for
/// generative models: `gen_ai.operation.name`, `gen_ai.tool.name`, `gen_ai.tool.call.id`,
/// `gen_ai.tool.type`, and `error.type` unless it ended `ok`; and `outcome`, `wait_us` and `run_us`. It
/// is inside the span of its list, with `gen_ai.agent.id`, and that inside the span in which the list
/// was submitted. Arguments and outputs are in none.
///
/// A program that has a layer of `tracing-opentelemetry` already needs no second one: these are the
/// spans of the target `toolyard_actors`, at level `DEBUG` for calls.
///
/// ```
/// use opentelemetry::trace::TracerProvider;
/// use tracing_subscriber::prelude::*;
///
/// let provider = opentelemetry_sdk::trace::SdkTracerProvider::builder().build(); // with your exporter
/// let layer = toolyard::telemetry::layer(provider.tracer("my agents"));
/// let subscriber = tracing_subscriber::registry().with(layer);
/// # let _ = subscriber;
/// ```
pub fn layer<S, T>(tracer: T) -> impl Layer<S>
where
    S: Subscriber + for<'span> LookupSpan<'span>,
    T: Tracer + Send + Sync + 'static,
    T::Span: Send + Sync,
{
    // Where code lies, and which thread ran it, says nothing about agents and tools.
    tracing_opentelemetry::layer()
        .with_tracer(tracer)
        .with_location(false)
        .with_threads(false)
        .with_target(false)
        .with_tracked_inactivity(false)
        .with_filter(Targets::new().with_target("toolyard_actors", LevelFilter::DEBUG))
}

/// Makes a provider of tracers that exports over OTLP as the usual environment variables say; `None`
/// when neither `OTEL_EXPORTER_OTLP_ENDPOINT` nor `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT` is set.
///
/// Spans go out in batches from a thread of its own; its `shutdown` sends the last ones.
///
/// # Errors
/// When the variables make no sense.
pub fn otlp_from_env() -> Result<Option<SdkTracerProvider>, ExportError> {
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    if !["OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"].into_iter().any(is_set) {
        return Ok(None);
    }
    // An error says that the process has a provider already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let exporter = SpanExporter::builder().with_http().build()?;
    let resource = Resource::builder();
    // The variable wins.
    let resource =
        if is_set("OTEL_SERVICE_NAME") { resource } else { resource.with_service_name("toolyard") };
    let provider = SdkTracerProvider::builder().with_batch_exporter(exporter);
    Ok(Some(provider.with_resource(resource.build()).build()))
}

/// Puts a list into the span in which it is submitted, unless it says another.
pub(crate) fn in_current_span(mut options: ExecuteOptions) -> ExecuteOptions {
    options.caller = options.caller.or_else(|| Some(Span::current()).filter(|span| !span.is_none()));
    options
}
