//! Runs by `exec`, in containers without the agent: shell commands alone, each a process that the daemon starts.

use std::time::Duration;

use bollard::container::LogOutput;
use futures::StreamExt;
use tokio::{
    io::AsyncWriteExt,
    time::{Instant, timeout, timeout_at},
};
use tokio_util::sync::CancellationToken;

use crate::moment;

use super::{
    container::unique,
    docker::{Daemon, Output},
    error::SandboxError,
    run::{ExecResult, OutputStream, RunRequest},
};

/// How long output is waited for after a run was killed: the daemon keeps streams open that children hold.
const DRAIN: Duration = Duration::from_secs(5);

/// Takes the commands from its input, tells its own number, and becomes the shell that runs them. The daemon makes
/// each exec the leader of a group, by which it is killed.
const BEGIN: &str = r#"cat >"$0" && echo $$ >"$0.pid" && exec /bin/sh "$0" </dev/null"#;

/// Ends the group of a run, and removes what the run was begun with.
const END: &str = r#"kill -9 -"$(cat "$0.pid")" 2>/dev/null; rm -f "$0" "$0.pid""#;

pub(super) async fn run(
    daemon: &Daemon,
    container: &str,
    request: &RunRequest,
    limit: Duration,
    most: usize,
    stop: &CancellationToken,
) -> Result<ExecResult, SandboxError> {
    let begun = Instant::now();
    let script = format!("/tmp/.toolyard-{}", unique());
    let command = |text: &str| vec!["/bin/sh".to_owned(), "-c".to_owned(), text.to_owned(), script.clone()];
    let (exec, output, mut input) = daemon.exec(container, command(BEGIN)).await?;
    // What cannot be written any more shows in how it ends.
    let _ = input.write_all(&request.code).await;
    let _ = input.shutdown().await;
    let mut printed = Printed { output, request, most, result: ExecResult::default() };
    tokio::select! {
        ended = timeout_at(moment::after(begun, limit), printed.read()) => printed.result.timed_out = ended.is_err(),
        () = stop.cancelled() => printed.result.cancelled = true,
    }
    let (_, mut ending, _) = daemon.exec(container, command(END)).await?;
    while ending.next().await.is_some() {}
    let _ = timeout(DRAIN, printed.read()).await;
    let code = daemon.exec_exit(&exec).await?.and_then(|code| i32::try_from(code).ok());
    let stopped = printed.result.timed_out || printed.result.cancelled;
    let signal = code.filter(|_| stopped).map(|code| code - 128).filter(|signal| *signal > 0);
    Ok(ExecResult {
        exit_code: code.filter(|_| signal.is_none()),
        signal,
        elapsed: begun.elapsed(),
        ..printed.result
    })
}

/// What a run prints.
struct Printed<'a> {
    output: Output,
    request: &'a RunRequest,
    most: usize,
    result: ExecResult,
}

impl Printed<'_> {
    /// Reads until nothing comes any more.
    async fn read(&mut self) {
        while let Some(Ok(piece)) = self.output.next().await {
            let (stream, message, kept) = match piece {
                LogOutput::StdErr { message } => (OutputStream::Stderr, message, &mut self.result.stderr),
                other => (OutputStream::Stdout, other.into_bytes(), &mut self.result.stdout),
            };
            let keep = message.len().min(self.most - kept.len());
            self.result.truncated |= keep < message.len();
            kept.extend_from_slice(&message[..keep]);
            if let Some(sink) = self.request.sink.as_ref().filter(|_| keep > 0) {
                sink(stream, &message[..keep]);
            }
        }
    }
}
