//! The engine, on the thread of whoever asks: as part of the asking task, or by message to a supervisor.

use toolyard::{
    Arguments, Attached, BadCall, ExecuteCalls, ExecuteOptions, Output, Report, RunControl, ToolCall,
};

use crate::trivial::{self, RawCall};

pub(crate) async fn in_task(engine: &Attached, calls: Vec<RawCall>) -> Vec<String> {
    texts(engine.execute(own(calls), ExecuteOptions::new()).await.expect("a report"))
}

pub(crate) async fn by_message(engine: &Attached, calls: Vec<RawCall>) -> Vec<String> {
    let (calls, options) = (own(calls), ExecuteOptions::new());
    let message = ExecuteCalls { calls, options, control: RunControl::new() };
    texts(engine.supervisor(None).send(message).await.expect("a supervisor").expect("a report"))
}

/// Reads the list with the engine's own care, and runs it.
pub(crate) async fn from_text(engine: &Attached, text: &str) -> Vec<String> {
    texts(engine.execute(trivial::read(text), ExecuteOptions::new()).await.expect("a report"))
}

fn own(calls: Vec<RawCall>) -> Vec<Result<ToolCall, BadCall>> {
    let call = |(id, name, arguments): RawCall| {
        Ok(ToolCall::new(name, Arguments::from_text(arguments)).with_id(id))
    };
    calls.into_iter().map(call).collect()
}

fn texts(report: Report) -> Vec<String> {
    let text = |output| match output {
        Output::Text(text) => text,
        Output::Json(raw) => Box::<str>::from(raw).into_string(),
    };
    report.results.into_iter().map(|result| text(result.output.expect("an output"))).collect()
}
