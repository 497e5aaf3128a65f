//! Ctrl-C: the first one cancels what runs, the second ends the program at once.

use std::{
    process::exit,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use anyhow::Context;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::INTERRUPTED;

/// Tells when Ctrl-C was pressed.
#[derive(Clone)]
pub(crate) struct Interrupt {
    pressed: Arc<AtomicBool>,
    token: CancellationToken,
}

impl Interrupt {
    /// Starts listening for the signal, at once: from here on it ends nothing by itself.
    pub(crate) fn listen() -> anyhow::Result<Self> {
        let mut signals = signal(SignalKind::interrupt()).context("Ctrl-C cannot be listened for")?;
        let interrupt = Self { pressed: Arc::default(), token: CancellationToken::new() };
        let told = interrupt.clone();
        tokio::spawn(async move {
            while signals.recv().await.is_some() {
                if told.pressed.swap(true, Ordering::SeqCst) {
                    exit(i32::from(INTERRUPTED));
                }
                told.token.cancel();
            }
        });
        Ok(interrupt)
    }

    /// Tells whether it was pressed.
    pub(crate) fn is_pressed(&self) -> bool {
        self.pressed.load(Ordering::SeqCst)
    }

    /// Waits until it is pressed.
    pub(crate) async fn pressed(&self) {
        self.token.cancelled().await;
    }
}
