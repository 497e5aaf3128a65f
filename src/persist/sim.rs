//! A file system in memory that fails, or loses power, at a chosen operation.

use std::{
    collections::BTreeMap,
    io::{self, Cursor, Read, Write},
    path::{Path, PathBuf},
    sync::Arc,
};

use parking_lot::Mutex;

use crate::replace::{FileSystem, NewFile, SyncWrite};

/// What goes wrong, at the operation with a number counted from 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Fault {
    None,
    /// The operation fails; a write has put down half of its bytes by then.
    Fail(usize),
    /// The power goes in the middle of the operation: that one and all that follow fail.
    PowerLoss(usize),
}

/// How much of what was not synced is still there after the power went.
#[derive(Clone, Copy, Debug)]
pub(super) struct Survival {
    pub(super) contents: bool,
    pub(super) entries: bool,
}

pub(super) struct SimDisk {
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    fault: Fault,
    operations: usize,
    /// Contents by file number: what was synced, and what a reader sees now.
    files: Vec<(Vec<u8>, Vec<u8>)>,
    /// Entries of the one folder: what was synced, and what a reader sees now.
    synced: BTreeMap<PathBuf, usize>,
    current: BTreeMap<PathBuf, usize>,
}

impl SimDisk {
    pub(super) fn new() -> Self {
        let state = State {
            fault: Fault::None,
            operations: 0,
            files: Vec::new(),
            synced: BTreeMap::new(),
            current: BTreeMap::new(),
        };
        Self { state: Arc::new(Mutex::new(state)) }
    }

    /// Arms a fault and counts operations from 0 again.
    pub(super) fn arm(&self, fault: Fault) {
        let mut state = self.state.lock();
        (state.fault, state.operations) = (fault, 0);
    }

    pub(super) fn operations(&self) -> usize {
        self.state.lock().operations
    }

    /// The power comes back: what was not synced is there or not, as `survival` says.
    pub(super) fn restart(&self, survival: Survival) {
        let mut state = self.state.lock();
        state.fault = Fault::None;
        for (synced, current) in &mut state.files {
            let kept = if survival.contents { current.clone() } else { synced.clone() };
            (*synced, *current) = (kept.clone(), kept);
        }
        let kept = if survival.entries { state.current.clone() } else { state.synced.clone() };
        (state.synced, state.current) = (kept.clone(), kept);
    }

    pub(super) fn names(&self) -> Vec<PathBuf> {
        self.state.lock().current.keys().cloned().collect()
    }
}

impl State {
    /// Counts an operation; an error when it fails, with how much of it happens all the same.
    fn step(&mut self) -> Result<(), io::Error> {
        let number = self.operations;
        self.operations += 1;
        let fails = match self.fault {
            Fault::None => false,
            Fault::Fail(at) => number == at,
            Fault::PowerLoss(at) => number >= at,
        };
        if fails { Err(io::Error::other("injected fault")) } else { Ok(()) }
    }

    /// Tells whether the operation that has just failed was the one in which the power went.
    fn fails_halfway(&self) -> bool {
        let number = self.operations - 1;
        matches!(self.fault, Fault::Fail(at) | Fault::PowerLoss(at) if number == at)
    }
}

impl FileSystem for SimDisk {
    fn place(&self, path: &Path) -> io::Result<PathBuf> {
        Ok(path.to_owned())
    }

    fn create_new(&self, path: &Path, _: NewFile) -> io::Result<Box<dyn SyncWrite>> {
        let mut state = self.state.lock();
        state.step()?;
        if state.current.contains_key(path) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let number = state.files.len();
        state.files.push((Vec::new(), Vec::new()));
        state.current.insert(path.to_owned(), number);
        Ok(Box::new(SimFile { state: self.state.clone(), number }))
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn Read>> {
        let state = self.state.lock();
        let number = *state.current.get(path).ok_or(io::ErrorKind::NotFound)?;
        Ok(Box::new(Cursor::new(state.files[number].1.clone())))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.state.lock();
        let outcome = state.step();
        // The power may go after the rename took place and before anybody heard of it.
        let happens = match state.fault {
            Fault::PowerLoss(_) => outcome.is_ok() || state.fails_halfway(),
            _ => outcome.is_ok(),
        };
        if happens {
            let number = state.current.remove(from).ok_or(io::ErrorKind::NotFound)?;
            state.current.insert(to.to_owned(), number);
        }
        outcome
    }

    fn sync_folder(&self, _: &Path) -> io::Result<()> {
        let mut state = self.state.lock();
        state.step()?;
        state.synced = state.current.clone();
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut state = self.state.lock();
        state.step()?;
        state.current.remove(path).map(drop).ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

#[derive(Debug)]
struct SimFile {
    state: Arc<Mutex<State>>,
    number: usize,
}

impl Write for SimFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut state = self.state.lock();
        let outcome = state.step();
        let length = match outcome {
            Ok(()) => bytes.len(),
            Err(_) if state.fails_halfway() => bytes.len() / 2,
            Err(_) => 0,
        };
        state.files[self.number].1.extend_from_slice(&bytes[..length]);
        outcome.map(|()| bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl SyncWrite for SimFile {
    fn sync(&mut self) -> io::Result<()> {
        let mut state = self.state.lock();
        state.step()?;
        let (synced, current) = &mut state.files[self.number];
        synced.clone_from(current);
        Ok(())
    }
}
