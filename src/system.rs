//! The thread on which an engine's actors live.

use std::{
    sync::{Arc, mpsc},
    thread,
    time::Duration,
};

use actix::System;
use tokio::{runtime::Runtime, sync::watch};
use toolyard_actors::{CatalogChange, CatalogError, Yard, YardConfig};

use crate::providers::Providers;

/// Makes the runtime of the thread; called on it.
pub(crate) type MakeRuntime = Box<dyn FnOnce() -> Runtime + Send>;

/// A thread with an actix system and an engine's actors on it.
#[derive(Debug)]
pub(crate) struct SystemThread {
    /// How long running lists may take from now; set once, it ends the thread.
    stop: watch::Sender<Option<Duration>>,
    /// Becomes true when the actors are gone.
    ended: watch::Receiver<bool>,
}

impl SystemThread {
    /// Starts the thread, and the actors on it; then does what `prepare` says, before anybody else can use them.
    pub(crate) fn start<P: Send + 'static>(
        runtime: MakeRuntime,
        config: YardConfig,
        tools: Vec<CatalogChange>,
        prepare: impl AsyncFnOnce(&Yard) -> P + Send + 'static,
        providers: Arc<Providers>,
    ) -> Result<(Self, Yard, P), StartError> {
        let (stop, mut stopped) = watch::channel(None);
        let (say_ended, ended) = watch::channel(false);
        let (say_started, started) = mpsc::sync_channel(1);
        let body = move || {
            let system = System::with_tokio_rt(runtime);
            system.block_on(async move {
                let yard = match Yard::start(config, tools) {
                    Ok(yard) => yard,
                    // Whoever started it waits for this.
                    Err(error) => return drop(say_started.send(Err(error))),
                };
                let prepared = prepare(&yard).await;
                if say_started.send(Ok((yard.clone(), prepared))).is_ok() {
                    let patience = stopped.wait_for(Option::is_some).await.map_or(None, |patience| *patience);
                    yard.stop(patience.unwrap_or_default()).await;
                }
                // That a connection did not close well is nobody's business any more.
                let _ = providers.close(&yard).await;
                #[cfg(feature = "python")]
                yard.retire_python_files().await;
                yard.retire();
            });
            say_ended.send_replace(true);
            // Tool bodies that cannot be stopped keep their threads; waiting for them here would
            // keep this one.
            std::mem::forget(system);
        };
        thread::Builder::new().name("toolyard".into()).spawn(body).map_err(StartError::Thread)?;
        let (yard, prepared) = started.recv().map_err(|_| StartError::Died)??;
        Ok((Self { stop, ended }, yard, prepared))
    }

    /// Tells the thread to stop once running lists have ended, or `patience` is over; does not wait.
    pub(crate) fn signal_stop(&self, patience: Duration) {
        self.stop.send_if_modified(|stop| stop.is_none().then(|| *stop = Some(patience)).is_some());
    }

    /// Waits until the actors are gone.
    pub(crate) async fn ended(&self) {
        // An error means that the sender is gone, and the thread with it.
        let _ = self.ended.clone().wait_for(|ended| *ended).await;
    }
}

/// Why an engine could not be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The tools cannot be registered.
    #[error(transparent)]
    Tools(#[from] CatalogError),
    /// The operating system gave no thread.
    #[error("could not start the engine's thread: {0}")]
    Thread(std::io::Error),
    /// The thread ended while starting.
    #[error("the engine's thread ended while starting")]
    Died,
}
