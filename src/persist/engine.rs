//! The states of an engine's tools, saved to a file and loaded from one.

use std::{
    collections::{BTreeMap, HashSet},
    io,
    path::{Path, PathBuf},
    sync::Arc,
    thread,
    time::Duration,
};

use futures::channel::oneshot;
use toolyard_actors::Yard;
use toolyard_contract::{RowValue, SavedState, name};

use super::{
    StateFileError, StateHead, StateRow,
    lock::{StateLock, target},
    read, save,
};
use crate::{Attached, Engine, replace::Disk};

/// How long a save waits for whoever has the file locked.
const LOCK_PATIENCE: Duration = Duration::from_secs(10);

/// What came of loading a state file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LoadedState {
    /// How many rows the file has.
    pub rows: u64,
    /// Tools of the file that are not there or keep no state; their rows were passed over.
    pub unknown: Vec<String>,
    /// Which state it is; `None` where the file does not say so.
    pub state: Option<SavedState>,
}

/// State files.
impl Engine {
    /// Saves the states of all tools to one file and gives the number of rows.
    ///
    /// They are saved as they are at one moment, between the same two commits for all tools, agents and arbiters: a
    /// file never has a commit without those before it. Calls go on meanwhile. Rows are written a few at a time, so
    /// that a million of them need no second copy in memory, but for those that change before they are written.
    /// The file is replaced as a whole: after a crash or a loss of power it is the old one or the
    /// new one.
    ///
    /// A [`StateStore`](super::StateStore) loads, keeps others away, and saves.
    ///
    /// # Errors
    /// When a state cannot be written as JSON, the file cannot be written, or a store keeps it locked for more than
    /// 10 s: then the old file is still there.
    #[doc(alias = "save")]
    pub async fn save_state(&self, path: impl Into<PathBuf>) -> Result<u64, StateFileError> {
        save_alone(self.yard(), path.into(), |_| Ok(Old::default())).await
    }

    /// Saves like [`save_state`](Self::save_state), but keeps the rows that the file has of tools that
    /// this engine does not.
    ///
    /// # Errors
    /// As [`save_state`](Self::save_state), and when there is a file that cannot be read.
    pub async fn update_state(&self, path: impl Into<PathBuf>) -> Result<u64, StateFileError> {
        save_alone(self.yard(), path.into(), Old::read).await
    }

    /// Loads the states of a file: the tools that it names get its rows in place of all of their
    /// own, all at one moment; other tools keep theirs. Calls that are under way on replaced rows end `lost`.
    ///
    /// # Errors
    /// When the file is not whole, a newer program wrote it, it has states of another type
    /// ([`StatefulTool::state_type`](toolyard_contract::StatefulTool::state_type)), or one value is not a state of its
    /// tool: then nothing is replaced.
    #[doc(alias = "load")]
    pub async fn load_state(&self, path: impl Into<PathBuf>) -> Result<LoadedState, StateFileError> {
        load_file(self.yard(), path.into()).await
    }
}

/// State files.
impl Attached {
    /// Saves the states of all tools to one file: as [`Engine::save_state`].
    ///
    /// # Errors
    /// As [`Engine::save_state`].
    pub async fn save_state(&self, path: impl Into<PathBuf>) -> Result<u64, StateFileError> {
        save_alone(self.yard(), path.into(), |_| Ok(Old::default())).await
    }

    /// Saves like [`save_state`](Self::save_state), but keeps the rows of other tools: as [`Engine::update_state`].
    ///
    /// # Errors
    /// As [`Engine::update_state`].
    pub async fn update_state(&self, path: impl Into<PathBuf>) -> Result<u64, StateFileError> {
        save_alone(self.yard(), path.into(), Old::read).await
    }

    /// Loads the states of a file: as [`Engine::load_state`].
    ///
    /// # Errors
    /// As [`Engine::load_state`].
    pub async fn load_state(&self, path: impl Into<PathBuf>) -> Result<LoadedState, StateFileError> {
        load_file(self.yard(), path.into()).await
    }
}

/// Loads rows, and takes over which state they are.
async fn load_file(yard: &Yard, path: PathBuf) -> Result<LoadedState, StateFileError> {
    let loaded = load_rows(yard, path).await?;
    yard.state_was_loaded(loaded.state.clone());
    Ok(loaded)
}

pub(super) async fn load_rows(yard: &Yard, path: PathBuf) -> Result<LoadedState, StateFileError> {
    let mut staging = yard.stage();
    let (staging, rows, state) = on_thread(move || {
        let mut file = read(&Disk, &path)?;
        for tool in &file.head().tools {
            staging.tool(tool);
        }
        for (tool, saved) in &file.head().types {
            staging.check_type(tool, saved).map_err(|error| file.bad(&error.to_string()))?;
        }
        let mut rows = 0;
        while let Some(StateRow { tool, agent, state }) = file.next().transpose()? {
            let row = RowValue { agent, state };
            staging.put(&tool, &row).map_err(|error| file.bad(&error.to_string()))?;
            rows += 1;
        }
        let state = file.head().state.clone();
        Ok::<_, StateFileError>((staging, rows, state))
    })
    .await?;
    let unknown = staging.unknown().map(str::to_owned).collect();
    yard.adopt(staging);
    Ok(LoadedState { rows, unknown, state })
}

/// Saves to a file that is locked only meanwhile.
async fn save_alone(
    yard: &Yard,
    path: PathBuf,
    old: impl FnOnce(&Path) -> Result<Old, StateFileError> + Send + 'static,
) -> Result<u64, StateFileError> {
    let (path, lock) = on_thread(move || {
        let path = target(&path)?;
        let lock = StateLock::take(&path, LOCK_PATIENCE)?;
        Ok((path, Arc::new(lock)))
    })
    .await?;
    let next = yard.saved_state().next();
    let rows = save_rows(yard, path, next.clone(), lock, old).await?;
    yard.state_was_saved(next);
    Ok(rows)
}

/// Saves to a file whose lock is held, also when nobody waits for the save any more.
pub(super) async fn save_rows(
    yard: &Yard,
    path: PathBuf,
    state: SavedState,
    lock: Arc<StateLock>,
    old: impl FnOnce(&Path) -> Result<Old, StateFileError> + Send + 'static,
) -> Result<u64, StateFileError> {
    let yard = yard.clone();
    on_thread(move || {
        let _lock = lock;
        let old = old(&path)?;
        let cut = yard.cut(None)?;
        let old = old.without(cut.tools());
        let tools = cut.tools().iter().chain(&old.tools).cloned().collect();
        let types =
            cut.types().iter().chain(&old.types).map(|(tool, name)| (tool.clone(), name.clone())).collect();
        let rows = cut.map(|row| row.map(|(tool, row)| StateRow::new(tool, row)).map_err(Into::into));
        save(&Disk, &path, StateHead { tools, types, state: Some(state) }, rows.chain(old.rows))
    })
    .await
}

/// What a file had before, of tools that the engine does not have.
pub(super) struct Old {
    tools: Vec<String>,
    types: BTreeMap<String, Arc<str>>,
    rows: Box<dyn Iterator<Item = Result<StateRow, StateFileError>>>,
}

impl Default for Old {
    fn default() -> Self {
        Self { tools: Vec::new(), types: BTreeMap::new(), rows: Box::new(std::iter::empty()) }
    }
}

impl Old {
    pub(super) fn read(path: &Path) -> Result<Self, StateFileError> {
        match read(&Disk, path) {
            Ok(file) => {
                let StateHead { tools, types, .. } = file.head().clone();
                Ok(Self { tools, types, rows: Box::new(file) })
            }
            Err(StateFileError::Io(error)) if error.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(error),
        }
    }

    fn without(self, tools: &[String]) -> Self {
        let ours: HashSet<String> = tools.iter().map(|tool| name::key(tool).into_owned()).collect();
        let theirs = move |tool: &str| !ours.contains(&*name::key(tool));
        Self {
            tools: self.tools.into_iter().filter(|tool| theirs(tool)).collect(),
            types: self.types.into_iter().filter(|(tool, _)| theirs(tool)).collect(),
            rows: Box::new(self.rows.filter(move |row| row.as_ref().map_or(true, |row| theirs(&row.tool)))),
        }
    }
}

/// Does what waits for the disk on a thread of its own.
pub(super) fn on_thread<T: Send + 'static>(
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
