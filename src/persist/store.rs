//! A state file for the life of a run: locked, loaded before, saved after.

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use parking_lot::Mutex;
use toolyard_actors::Yard;
use toolyard_contract::{SavedState, StoreMark};

use super::{
    LoadedState, StateFileError,
    engine::{Old, load_rows, on_thread, save_rows},
    lock::{StateLock, target},
    read,
};
use crate::{Attached, Engine, replace::Disk};

/// A state file that nobody else may save to as long as this lives: neither another process nor
/// [`Engine::save_state`] of this one. So no update is lost between loading and saving.
///
/// The lock is a file beside it, `.NAME.lock`, which stays. It is advisory: programs that do not ask for it are
/// not kept away, and file systems of a network may not have it.
///
/// ```
/// use std::time::Duration;
/// use toolyard::{Engine, persist::StateStore};
///
/// # async fn run(engine: Engine) -> Result<(), Box<dyn std::error::Error>> {
/// let store = StateStore::open("state.json", Duration::from_secs(10)).await?;
/// store.load(&engine).await?;
/// // … lists run …
/// store.save(&engine).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct StateStore {
    /// As it was given, made absolute.
    shown: PathBuf,
    /// What it leads to.
    path: PathBuf,
    known: Mutex<Known>,
    lock: Arc<StateLock>,
}

/// What is known of the file.
#[derive(Debug)]
struct Known {
    saved: SavedState,
    is_new: bool,
}

/// What has states that a [`StateStore`] can load and save.
pub trait StateHolder: Sync {
    /// The actors that own the rows.
    fn state_yard(&self) -> &Yard;
}

impl StateHolder for Engine {
    fn state_yard(&self) -> &Yard {
        self.yard()
    }
}

impl StateHolder for Attached {
    fn state_yard(&self) -> &Yard {
        self.yard()
    }
}

impl StateStore {
    /// Locks the file at `path`, which need not be there yet, and waits for whoever has it up to `patience`.
    ///
    /// # Errors
    /// When somebody else keeps it locked, its folder cannot be written, or there is a file that is not a state
    /// file.
    pub async fn open(path: impl Into<PathBuf>, patience: Duration) -> Result<Self, StateFileError> {
        let path = path.into();
        on_thread(move || {
            let shown = std::path::absolute(&path)?;
            let path = target(&path)?;
            let lock = StateLock::take(&path, patience)?;
            let (saved, is_new) = match read(&Disk, &path) {
                Ok(file) => (file.head().state.clone(), false),
                Err(StateFileError::Io(error)) if error.kind() == io::ErrorKind::NotFound => (None, true),
                Err(error) => return Err(error),
            };
            let saved = saved.unwrap_or_else(Yard::new_state);
            let known = Mutex::new(Known { saved, is_new });
            Ok(Self { shown, path, known, lock: Arc::new(lock) })
        })
        .await
    }

    /// Opens the file that a suspended list works on: where its record says, or at `path`, where it was moved.
    ///
    /// # Errors
    /// As [`open`](Self::open), and when there is no file, or it has another state than the list was suspended
    /// with, or an older one.
    pub async fn reopen(
        mark: &StoreMark,
        path: Option<&Path>,
        patience: Duration,
    ) -> Result<Self, StateFileError> {
        let path = path.map(Path::to_owned).or_else(|| Some(mark.file.as_ref()?.into()));
        let path = path.ok_or(StateFileError::Missing)?;
        if !path.exists() {
            return Err(StateFileError::Missing);
        }
        let store = Self::open(path, patience).await?;
        mark.state.check(&store.saved()).map_err(StateFileError::OtherState)?;
        Ok(store)
    }

    /// Loads the states of the file, if it is there, as [`Engine::load_state`] does. Those of tools that are not
    /// there stay in the file.
    ///
    /// # Errors
    /// As [`Engine::load_state`].
    pub async fn load(&self, engine: &impl StateHolder) -> Result<LoadedState, StateFileError> {
        let is_new = self.known.lock().is_new;
        let loaded = if is_new {
            LoadedState::default()
        } else {
            load_rows(engine.state_yard(), self.path.clone()).await?
        };
        engine.state_yard().state_was_loaded(Some(self.saved()));
        Ok(loaded)
    }

    /// Saves the states of an engine's tools to the file, and keeps the rows that it has of other tools.
    ///
    /// # Errors
    /// As [`Engine::update_state`]; then the old file is still there.
    pub async fn save(&self, engine: &impl StateHolder) -> Result<u64, StateFileError> {
        let yard = engine.state_yard();
        let next = self.saved().next();
        let rows = save_rows(yard, self.path.clone(), next.clone(), self.lock.clone(), Old::read).await?;
        yard.state_was_saved(next.clone());
        *self.known.lock() = Known { saved: next, is_new: false };
        Ok(rows)
    }

    fn saved(&self) -> SavedState {
        self.known.lock().saved.clone()
    }

    /// What the record of a list that is suspended before the next [`save`](Self::save) says of this file.
    pub fn mark(&self) -> StoreMark {
        StoreMark { file: self.shown.to_str().map(str::to_owned), state: self.saved().next() }
    }
}
