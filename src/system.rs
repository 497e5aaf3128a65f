//! The thread on which an engine's actors live.

use std::{
    sync::{Arc, mpsc},
    thread,
    time::Duration,
};

use actix::System;
use tokio::{runtime::Runtime, sync::watch};
use toolyard_actors::{CatalogChange, CatalogError, Extension, ExtensionError, Yard, YardConfig};

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
    /// Starts the thread, and the actors on it; then the extensions, before anybody else can use them.
    pub(crate) fn start(
        runtime: MakeRuntime,
        config: YardConfig,
        tools: Vec<CatalogChange>,
        extensions: Vec<Arc<dyn Extension>>,
        providers: Arc<Providers>,
    ) -> Result<(Self, Yard), StartError> {
        let (stop, mut stopped) = watch::channel(None);
        let (say_ended, ended) = watch::channel(false);
        let (say_started, started) = mpsc::sync_channel(1);
        let body = move || {
            let system = System::with_tokio_rt(runtime);
            system.block_on(async move {
                let yard = match Yard::start(config, tools) {
                    Ok(yard) => yard,
                    // Whoever started it waits for this.
                    Err(error) => return drop(say_started.send(Err(StartError::Tools(error)))),
                };
                let begun = yard.start_extensions(extensions).await;
                let failed = begun.is_err();
                let said = say_started.send(begun.map(|()| yard.clone()).map_err(StartError::Extension));
                let mut patience = None;
                if said.is_ok() && !failed {
                    patience = stopped.wait_for(Option::is_some).await.map_or(None, |patience| *patience);
                }
                yard.stop(patience.unwrap_or_default()).await;
                // That a connection did not close well is nobody's business any more.
                let _ = providers.close(&yard).await;
                yard.retire();
            });
            say_ended.send_replace(true);
            // Nobody waits for this thread any more. It stays as long as tool bodies that cannot be stopped keep
            // theirs; what its connections and timers hold goes now.
            drop(system);
        };
        thread::Builder::new().name("toolyard".into()).spawn(body).map_err(StartError::Thread)?;
        let yard = started.recv().map_err(|_| StartError::Died)??;
        Ok((Self { stop, ended }, yard))
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
    /// An extension could not start.
    #[error(transparent)]
    Extension(#[from] ExtensionError),
    /// The operating system gave no thread.
    #[error("could not start the engine's thread: {0}")]
    Thread(std::io::Error),
    /// The thread ended while starting.
    #[error("the engine's thread ended while starting")]
    Died,
}
