//! Signals that end the program: the first one cancels what runs, so that everything is answered and kept; the second
//! ends the program at once.

use std::{
    process::exit,
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering},
    },
    thread,
};

use anyhow::Context;
use tokio::{
    runtime,
    signal::unix::{Signal, SignalKind, signal},
};
use tokio_util::sync::CancellationToken;
use toolyard::replace::abandon_unfinished;

/// Stopped by Ctrl-C, by SIGTERM, and by SIGHUP: 128 and the signal's number, as shells say it.
const INTERRUPTED: u8 = 130;
const TERMINATED: u8 = 143;
const HUNG_UP: u8 = 129;

/// What SIGHUP means.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum HangUp {
    /// The end, as the other signals.
    Ends,
    /// Read the files of MCP servers again; others listen for it.
    #[cfg(feature = "mcp")]
    Reloads,
}

impl HangUp {
    /// What it means to a process that goes on and on: without MCP servers there is nothing to read again.
    #[cfg(feature = "mcp")]
    pub(crate) const READS_AGAIN: Self = Self::Reloads;
    /// What it means to a process that goes on and on: without MCP servers there is nothing to read again.
    #[cfg(not(feature = "mcp"))]
    pub(crate) const READS_AGAIN: Self = Self::Ends;
}

/// Tells when the program was told to end.
#[derive(Clone)]
pub(crate) struct Interrupt {
    /// The exit status for the first signal; 0 before that.
    status: Arc<AtomicU8>,
    token: CancellationToken,
}

impl Interrupt {
    /// Starts listening for the signals, at once: from here on they end nothing by themselves.
    ///
    /// It is done on a thread of its own, so that a second signal ends the program whatever its other threads wait for.
    pub(crate) fn listen(hangup: HangUp) -> anyhow::Result<Self> {
        let interrupt = Self { status: Arc::default(), token: CancellationToken::new() };
        let told = interrupt.clone();
        hear(hangup, move |status| {
            if told.status.swap(status, Ordering::SeqCst) != 0 {
                end(status);
            }
            told.token.cancel();
        })?;
        Ok(interrupt)
    }

    /// The exit status for the signal, once there was one.
    pub(crate) fn status(&self) -> Option<u8> {
        Some(self.status.load(Ordering::SeqCst)).filter(|status| *status != 0)
    }

    /// Is cancelled by the first signal.
    pub(crate) fn token(&self) -> &CancellationToken {
        &self.token
    }

    /// Waits for the first signal.
    pub(crate) async fn pressed(&self) {
        self.token.cancelled().await;
    }
}

/// Lets the first signal end a program that has nothing to answer. What it is just writing is not left behind.
pub(crate) fn end_at_once() -> anyhow::Result<()> {
    hear(HangUp::Ends, |status| end(status))
}

fn end(status: u8) {
    abandon_unfinished();
    exit(i32::from(status));
}

/// Calls `told` with the exit status for each signal.
fn hear(hangup: HangUp, told: impl Fn(u8) + Send + 'static) -> anyhow::Result<()> {
    let runtime = runtime::Builder::new_current_thread().enable_io().build();
    let runtime = runtime.context("signals cannot be listened for")?;
    let listen = |kind: SignalKind| signal(kind).context("signals cannot be listened for");
    let (mut interrupt, mut terminate, mut hang_up) = {
        let _inside = runtime.enter();
        let hears = hangup == HangUp::Ends && !is_ignored(SignalKind::hangup());
        let hang_up = hears.then(|| listen(SignalKind::hangup())).transpose()?;
        (listen(SignalKind::interrupt())?, listen(SignalKind::terminate())?, hang_up)
    };
    let body = move || {
        runtime.block_on(async {
            loop {
                let status = tokio::select! {
                    Some(()) = interrupt.recv() => INTERRUPTED,
                    Some(()) = terminate.recv() => TERMINATED,
                    () = heard(&mut hang_up) => HUNG_UP,
                    else => return,
                };
                told(status);
            }
        });
    };
    thread::Builder::new().name("signals".into()).spawn(body).context("signals cannot be listened for")?;
    Ok(())
}

async fn heard(signal: &mut Option<Signal>) {
    match signal {
        Some(signal) => drop(signal.recv().await),
        None => std::future::pending().await,
    }
}

/// Tells whether whoever started the program wants it to ignore a signal, as `nohup` does with SIGHUP.
fn is_ignored(kind: SignalKind) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    ignored.is_some_and(|mask| mask & (1 << (kind.as_raw_value() - 1)) != 0)
}
