//! The extensions of one engine: started, released and closed in one place.

use std::{sync::Arc, time::Duration};

use futures::{StreamExt, stream::FuturesOrdered};
use parking_lot::Mutex;
use tokio::time::timeout;

use super::{Extension, ExtensionStatus, HostHandle};
use crate::guard::await_host;

/// How long an extension may take to end what it holds: containers take seconds, each.
const PATIENCE: Duration = Duration::from_mins(1);

/// An extension that could not start.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the extension {name:?} could not start: {reason}")]
#[non_exhaustive]
pub struct ExtensionError {
    /// Its name.
    pub name: String,
    /// Why, in its own words.
    pub reason: String,
}

/// The extensions of one engine, in the order in which they started.
pub(crate) struct Extensions(Mutex<Members>);

#[derive(Default)]
struct Members {
    list: Vec<Arc<dyn Extension>>,
    closed: bool,
}

impl Extensions {
    pub(crate) fn new() -> Self {
        Self(Mutex::default())
    }

    /// Starts an extension. From then on it is closed with the engine, also when it could not start.
    pub(crate) async fn start(
        &self,
        extension: Arc<dyn Extension>,
        host: HostHandle,
    ) -> Result<(), ExtensionError> {
        {
            let mut members = self.0.lock();
            if members.closed {
                return Err(failed(&*extension, "the engine has stopped".to_owned()));
            }
            members.list.push(extension.clone());
        }
        let started = await_host("an extension that starts", || extension.clone().start(host)).await;
        let started = started.unwrap_or_else(|| Err("it panicked".to_owned()));
        started.map_err(|reason| failed(&*extension, reason))
    }

    /// Brings all up; gives what could not be brought up, with the reason.
    pub(crate) async fn ready(&self) -> Vec<(String, String)> {
        let list = self.0.lock().list.clone();
        let asked: FuturesOrdered<_> = list.into_iter().map(get_ready).collect();
        asked.collect::<Vec<_>>().await.into_iter().flatten().collect()
    }

    /// Lets all end what outlives calls, the last one first.
    pub(crate) async fn release(&self) {
        let list = self.0.lock().list.clone();
        for extension in list.into_iter().rev() {
            in_time("an extension that lets go", || extension.release()).await;
        }
    }

    /// Lets all end what they hold for an agent that is gone.
    pub(crate) async fn forget(&self, agent: &str) {
        let list = self.0.lock().list.clone();
        for extension in &list {
            in_time("an extension that forgets", || extension.forget(agent)).await;
        }
    }

    /// Ends all, the last one first, and takes no more.
    pub(crate) async fn close(&self) {
        let list = {
            let mut members = self.0.lock();
            members.closed = true;
            std::mem::take(&mut members.list)
        };
        for extension in list.into_iter().rev() {
            in_time("an extension that closes", || extension.close()).await;
        }
    }

    pub(crate) fn status(&self) -> Vec<(String, ExtensionStatus)> {
        let list = self.0.lock().list.clone();
        list.iter().map(|extension| (extension.name().to_owned(), extension.status())).collect()
    }
}

async fn get_ready(extension: Arc<dyn Extension>) -> Vec<(String, String)> {
    let name = extension.name().to_owned();
    let ready = await_host("an extension that gets ready", || extension.ready()).await;
    ready.unwrap_or_else(|| vec![(name, "it panicked".to_owned())])
}

fn failed(extension: &dyn Extension, reason: String) -> ExtensionError {
    ExtensionError { name: extension.name().to_owned(), reason }
}

async fn in_time<W: Future<Output = ()>>(what: &'static str, work: impl FnOnce() -> W) {
    if timeout(PATIENCE, await_host(what, work)).await.is_err() {
        tracing::warn!("{what} did not end within {} s", PATIENCE.as_secs());
    }
}
