//! The states of an engine's tools, saved to a file and loaded from one.

use std::{
    collections::HashSet,
    io,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, sync_channel},
    },
    thread,
};

use futures::channel::oneshot;
use serde::ser::Error as _;
use toolyard_actors::Yard;
use toolyard_contract::{RowValue, name};

use super::{StateFileError, StateRow, read, save};
use crate::{Attached, Engine, replace::Disk};

/// How many rows wait for the disk at most.
const ROWS_AHEAD: usize = 1_024;

/// What came of loading a state file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LoadedState {
    /// How many rows the file has.
    pub rows: u64,
    /// Tools of the file that are not there or keep no state; their rows were passed over.
    pub unknown: Vec<String>,
}

/// State files.
impl Engine {
    /// Saves the states of all tools to one file and gives the number of rows.
    ///
    /// Rows are written one by one, so that a million of them need no second copy in memory. What
    /// one tool gives existed together between two commits; it serves nobody while it is written.
    /// The file is replaced as a whole: after a crash or a loss of power it is the old one or the
    /// new one.
    ///
    /// # Errors
    /// When a state cannot be written as JSON, or the file cannot be written: then the old file is
    /// still there.
    #[doc(alias = "save")]
    pub async fn save_state(&self, path: impl Into<PathBuf>) -> Result<u64, StateFileError> {
        save_rows(self.yard(), path.into(), |_| Ok(Old::default())).await
    }

    /// Saves like [`save_state`](Self::save_state), but keeps the rows that the file has of tools that
    /// this engine does not.
    ///
    /// # Errors
    /// As [`save_state`](Self::save_state), and when there is a file that cannot be read.
    pub async fn update_state(&self, path: impl Into<PathBuf>) -> Result<u64, StateFileError> {
        save_rows(self.yard(), path.into(), Old::read).await
    }

    /// Loads the states of a file: the tools that it names get its rows in place of all of their
    /// own, other tools keep theirs. Calls that are under way on replaced rows end `lost`.
    ///
    /// # Errors
    /// When the file is not whole, a newer program wrote it, or one value is not a state of its tool:
    /// then nothing is replaced.
    #[doc(alias = "load")]
    pub async fn load_state(&self, path: impl Into<PathBuf>) -> Result<LoadedState, StateFileError> {
        load_rows(self.yard(), path.into()).await
    }
}

/// State files.
impl Attached {
    /// Saves the states of all tools to one file: as [`Engine::save_state`].
    ///
    /// # Errors
    /// As [`Engine::save_state`].
    pub async fn save_state(&self, path: impl Into<PathBuf>) -> Result<u64, StateFileError> {
        save_rows(self.yard(), path.into(), |_| Ok(Old::default())).await
    }

    /// Saves like [`save_state`](Self::save_state), but keeps the rows of other tools: as [`Engine::update_state`].
    ///
    /// # Errors
    /// As [`Engine::update_state`].
    pub async fn update_state(&self, path: impl Into<PathBuf>) -> Result<u64, StateFileError> {
        save_rows(self.yard(), path.into(), Old::read).await
    }

    /// Loads the states of a file: as [`Engine::load_state`].
    ///
    /// # Errors
    /// As [`Engine::load_state`].
    pub async fn load_state(&self, path: impl Into<PathBuf>) -> Result<LoadedState, StateFileError> {
        load_rows(self.yard(), path.into()).await
    }
}

async fn load_rows(yard: &Yard, path: PathBuf) -> Result<LoadedState, StateFileError> {
    let mut staging = yard.stage();
    let (staging, rows) = on_thread(move || {
        let mut file = read(&Disk, &path)?;
        for tool in file.tools() {
            staging.tool(tool);
        }
        let mut rows = 0;
        while let Some(StateRow { tool, agent, state }) = file.next().transpose()? {
            let row = RowValue { agent, state };
            staging.put(&tool, &row).map_err(|error| file.bad(&error.to_string()))?;
            rows += 1;
        }
        Ok::<_, StateFileError>((staging, rows))
    })
    .await?;
    let unknown = staging.unknown().map(str::to_owned).collect();
    yard.adopt(staging).await?;
    Ok(LoadedState { rows, unknown })
}

async fn save_rows(
    yard: &Yard,
    path: PathBuf,
    old: impl FnOnce(&Path) -> Result<Old, StateFileError> + Send + 'static,
) -> Result<u64, StateFileError> {
    let tools: Vec<String> = yard.stateful_tools();
    let (sender, rows) = sync_channel(ROWS_AHEAD);
    let last_sender = sender.clone();
    let complete = Arc::new(AtomicBool::new(false));
    let incoming = Incoming { rows, complete: complete.clone(), ended: false };
    let saving = on_thread(move || {
        let old = old(&path)?.without(&tools);
        let named = tools.into_iter().chain(old.tools.iter().cloned()).collect();
        save(&Disk, &path, named, incoming.chain(old.rows))
    });
    let streamed = yard
        .stream_rows(move |tool, row| {
            let sent = sender.send(StateRow::new(tool, row));
            sent.map_err(|_| serde_json::Error::custom("the file cannot be written"))
        })
        .await;
    complete.store(streamed.is_ok(), Ordering::Release);
    drop(last_sender);
    match (saving.await, streamed) {
        (Err(StateFileError::Interrupted), Err(error)) => Err(error.into()),
        (saved, _) => saved,
    }
}

/// Rows on their way to the file.
struct Incoming {
    rows: Receiver<StateRow>,
    /// Set before the last sender goes away, if all rows were sent.
    complete: Arc<AtomicBool>,
    ended: bool,
}

impl Iterator for Incoming {
    type Item = Result<StateRow, StateFileError>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.rows.recv() {
            Ok(row) => Some(Ok(row)),
            Err(_) if self.ended || self.complete.load(Ordering::Acquire) => None,
            Err(_) => {
                self.ended = true;
                Some(Err(StateFileError::Interrupted))
            }
        }
    }
}

/// What a file had before, of tools that the engine does not have.
struct Old {
    tools: Vec<String>,
    rows: Box<dyn Iterator<Item = Result<StateRow, StateFileError>>>,
}

impl Default for Old {
    fn default() -> Self {
        Self { tools: Vec::new(), rows: Box::new(std::iter::empty()) }
    }
}

impl Old {
    fn read(path: &Path) -> Result<Self, StateFileError> {
        match read(&Disk, path) {
            Ok(file) => Ok(Self { tools: file.tools().to_vec(), rows: Box::new(file) }),
            Err(StateFileError::Io(error)) if error.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(error),
        }
    }

    fn without(self, tools: &[String]) -> Self {
        let ours: HashSet<String> = tools.iter().map(|tool| name::key(tool).into_owned()).collect();
        let theirs = move |tool: &str| !ours.contains(&*name::key(tool));
        Self {
            tools: self.tools.into_iter().filter(|tool| theirs(tool)).collect(),
            rows: Box::new(self.rows.filter(move |row| row.as_ref().map_or(true, |row| theirs(&row.tool)))),
        }
    }
}

/// Does what waits for the disk on a thread of its own.
fn on_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StateFileError> + Send + 'static,
) -> impl Future<Output = Result<T, StateFileError>> {
    let (send, receive) = oneshot::channel();
    let body = move || {
        // Nobody waits for it any more when the caller went away.
        let _ = send.send(work());
    };
    // Now, not when it is waited for: rows may be sent to it before.
    let started = thread::Builder::new().name("toolyard-state".into()).spawn(body);
    async move {
        started?;
        receive.await.unwrap_or(Err(StateFileError::Interrupted))
    }
}
