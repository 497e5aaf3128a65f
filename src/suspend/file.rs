//! The record of a suspended list in a file that is replaced as a whole, by one process at a time.

use std::{
    fs::{File, TryLockError},
    io::{self, Read},
    path::{Path, PathBuf},
};

use toolyard_contract::{RecordError, SuspendedList};

use crate::replace::{Disk, NewFile, SyncWrite, check_replaceable, replace_by};

/// A file that keeps a suspended list. While it is open, no other process can go on with the list.
///
/// Whoever reads the file finds the old record or the new one, never a mixture, also after a crash or
/// a loss of power. Only its owner can read it. Where its path is a link, the file behind that is meant.
#[derive(Debug)]
pub struct SuspendFile {
    path: PathBuf,
    /// Holds the lock of the file that is at `path` now.
    locked: Box<dyn SyncWrite>,
}

/// A place for a record that is not there yet.
#[derive(Debug)]
pub struct ReservedFile {
    path: PathBuf,
}

/// Why a file cannot keep a suspended list.
#[derive(Debug, thiserror::Error)]
#[error("{}: {reason}", path.display())]
pub struct SuspendFileError {
    path: PathBuf,
    reason: Reason,
}

#[derive(Debug, thiserror::Error)]
enum Reason {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(transparent)]
    Record(#[from] RecordError),
    #[error("another process is going on with this list")]
    Busy,
}

impl SuspendFileError {
    fn at(path: &Path) -> impl Fn(Reason) -> Self {
        move |reason| Self { path: path.to_owned(), reason }
    }
}

impl SuspendFile {
    /// Makes sure that a record can be written to `path` later, without touching what is there.
    ///
    /// # Errors
    /// When its folder cannot be written, or something else than a file is there.
    pub fn reserve(path: &Path) -> Result<ReservedFile, SuspendFileError> {
        check_replaceable(path).map_err(|error| SuspendFileError::at(path)(error.into()))?;
        Ok(ReservedFile { path: path.to_owned() })
    }

    /// Opens the record at `path`.
    ///
    /// # Errors
    /// When it cannot be read, or another process has it open.
    pub fn open(path: &Path) -> Result<(Self, SuspendedList), SuspendFileError> {
        let opened = || {
            let mut locked = lock(path)?;
            let mut text = String::new();
            locked.read_to_string(&mut text)?;
            let list = SuspendedList::from_json(&text)?;
            Ok((Self { path: path.to_owned(), locked: Box::new(locked) }, list))
        };
        opened().map_err(SuspendFileError::at(path))
    }

    /// Replaces the record; returns when it is safe on the disk.
    ///
    /// # Errors
    /// When it cannot be written; then the old one is still there.
    pub fn save(&mut self, list: &SuspendedList) -> Result<(), SuspendFileError> {
        self.locked =
            replace(&self.path, list).map_err(|error| SuspendFileError::at(&self.path)(error.into()))?;
        Ok(())
    }
}

impl ReservedFile {
    /// Writes the record; returns when it is safe on the disk.
    ///
    /// # Errors
    /// When it cannot be written; then what was there is still there.
    pub fn write(self, list: &SuspendedList) -> Result<(), SuspendFileError> {
        replace(&self.path, list).map(drop).map_err(|error| SuspendFileError::at(&self.path)(error.into()))
    }
}

/// Opens and locks the file that is at `path`, also when it is replaced meanwhile.
fn lock(path: &Path) -> Result<File, Reason> {
    loop {
        let file = File::open(path)?;
        match file.try_lock() {
            Ok(()) if is_at(&file, path)? => return Ok(file),
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(Reason::Busy),
            Err(TryLockError::Error(error)) => return Err(error.into()),
        }
    }
}

#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let (held, there) = (file.metadata()?, path.metadata()?);
    Ok((held.dev(), held.ino()) == (there.dev(), there.ino()))
}

#[cfg(not(unix))]
fn is_at(_: &File, _: &Path) -> io::Result<bool> {
    Ok(true) // an open file cannot be replaced there
}

/// Puts a new file in the place of `path`, and gives a hand on it, with its lock.
fn replace(path: &Path, list: &SuspendedList) -> io::Result<Box<dyn SyncWrite>> {
    let kind = NewFile { locked: true, ..NewFile::default() };
    replace_by(&Disk, path, kind, |out| out.write_all(list.to_json().as_bytes()))
}
