//! A program in a container of its own, as its first process but one.

use std::{sync::Arc, time::Duration};

use bollard::container::LogOutput;
use futures::StreamExt;
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWriteExt, DuplexStream, duplex},
    sync::oneshot,
    time::{sleep, timeout},
};

use super::{
    config::SandboxConfig,
    container::{Container, Service},
    docker::{Daemon, Input, Output},
    error::SandboxError,
    owner::Owner,
};
use crate::child::OutputRing;

/// How much of either stream may wait to be read, in bytes.
const PIPE: usize = 64 * 1024;

/// How much of its standard error is kept, in bytes: a long traceback fits.
const STDERR: usize = 16 * 1024;

/// How long a program may go on after the end of its input.
const AFTER_EOF: Duration = Duration::from_secs(2);

/// How long the daemon is asked how a program ended.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// A program in a container, with its standard streams. When the first is dropped, or its input ends and it heeds
/// that, the container ends.
pub(crate) struct SandboxProgram {
    /// What it reads.
    pub(crate) stdin: DuplexStream,
    /// What it prints.
    pub(crate) stdout: DuplexStream,
    /// Tells how it ended, and the last of what it printed to standard error.
    pub(crate) ended: oneshot::Receiver<(String, String)>,
    /// Ends it at once.
    pub(crate) kill: oneshot::Sender<()>,
}

impl SandboxProgram {
    /// Begins to start a program; one that cannot be started ends at once.
    pub(crate) fn start(config: Arc<SandboxConfig>, command: Vec<String>) -> Self {
        let (stdin, given) = duplex(PIPE);
        let (stdout, printed) = duplex(PIPE);
        let (say_ended, ended) = oneshot::channel();
        let (kill, killed) = oneshot::channel();
        tokio::spawn(async move {
            let stderr = OutputRing::new(STDERR);
            let how = match start(&config, command).await {
                Ok((daemon, _owner, container)) => {
                    serve(&daemon, container, given, printed, killed, &stderr).await
                }
                Err(error) => error.to_string(),
            };
            // Who started it may have gone.
            let _ = say_ended.send((how, stderr.text()));
        });
        Self { stdin, stdout, ended, kill }
    }
}

async fn start(
    config: &SandboxConfig,
    command: Vec<String>,
) -> Result<(Daemon, Owner, Container), SandboxError> {
    let owner = Owner::new().map_err(|error| SandboxError::Refused {
        reason: format!("its lock file cannot be made: {error}"),
    })?;
    let daemon = Daemon::connect(config.daemon.as_deref()).await?;
    let started = Container::start_with(&daemon, config, &owner, Service::Program(command));
    let late = |_| SandboxError::StartTimedOut { after: config.start_timeout };
    let container = timeout(config.start_timeout, started).await.map_err(late)??;
    Ok((daemon, owner, container))
}

/// Carries the streams to and fro until the program has ended; says how.
async fn serve(
    daemon: &Daemon,
    container: Container,
    given: DuplexStream,
    printed: DuplexStream,
    killed: oneshot::Receiver<()>,
    stderr: &OutputRing,
) -> String {
    let Container { id, output, input, .. } = container;
    let closed = async {
        write(given, input).await;
        sleep(AFTER_EOF).await;
    };
    let ordered = async {
        // One that is dropped gives no order.
        if killed.await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    let how = tokio::select! {
        () = read(output, printed, stderr) => {
            let asked = timeout(LAST_WORDS, daemon.last_words(&id)).await.ok().flatten();
            asked.unwrap_or_else(|| "it ended".to_owned())
        }
        () = ordered => "killed".to_owned(),
        () = closed => "it did not end with its input".to_owned(),
    };
    if let Err(error) = daemon.remove(&id).await {
        tracing::warn!(container = id, %error, "a container could not be removed");
    }
    how
}

async fn write(mut given: impl AsyncRead + Unpin, mut input: Input) {
    let mut chunk = vec![0; PIPE];
    while let Ok(length @ 1..) = given.read(&mut chunk).await {
        if input.write_all(&chunk[..length]).await.is_err() || input.flush().await.is_err() {
            return;
        }
    }
    // It sees the end of its input, as from a closed pipe.
    let _ = input.shutdown().await;
}

async fn read(mut output: Output, mut printed: DuplexStream, stderr: &OutputRing) {
    let mut listened_to = true;
    while let Some(Ok(piece)) = output.next().await {
        match piece {
            LogOutput::StdErr { message } => stderr.push(&message),
            other if listened_to => listened_to = printed.write_all(&other.into_bytes()).await.is_ok(),
            _ => {}
        }
    }
}
