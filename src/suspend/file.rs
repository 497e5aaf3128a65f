//! The record of a suspended list in a file that is replaced as a whole, by one process at a time.

use std::{
    fs::{File, TryLockError},
    io::{self, Read, Write},
    path::{Path, PathBuf},
};

use tempfile::NamedTempFile;
use toolyard_contract::{RecordError, SuspendedList};

/// A file that keeps a suspended list. While it is open, no other process can go on with the list.
///
/// Whoever reads the file finds the old record or the new one, never a mixture, also after a crash or
/// a loss of power. Only its owner can read it.
#[derive(Debug)]
pub struct SuspendFile {
    path: PathBuf,
    /// Holds the lock of the file that is at `path` now.
    locked: File,
}

/// A place for a record that is not there yet.
#[derive(Debug)]
pub struct ReservedFile {
    path: PathBuf,
    beside: NamedTempFile,
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
    /// When its folder cannot be written, or it is a folder.
    pub fn reserve(path: &Path) -> Result<ReservedFile, SuspendFileError> {
        let reserved = if path.is_dir() {
            Err(io::Error::from(io::ErrorKind::IsADirectory))
        } else {
            create_beside(path).map(|beside| ReservedFile { path: path.to_owned(), beside })
        };
        reserved.map_err(|error| SuspendFileError::at(path)(error.into()))
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
            Ok((Self { path: path.to_owned(), locked }, list))
        };
        opened().map_err(SuspendFileError::at(path))
    }

    /// Replaces the record; returns when it is safe on the disk.
    ///
    /// # Errors
    /// When it cannot be written; then the old one is still there.
    pub fn save(&mut self, list: &SuspendedList) -> Result<(), SuspendFileError> {
        let new = create_beside(&self.path).and_then(|beside| replace(beside, &self.path, list));
        self.locked = new.map_err(|error| SuspendFileError::at(&self.path)(error.into()))?;
        Ok(())
    }
}

impl ReservedFile {
    /// Writes the record; returns when it is safe on the disk.
    ///
    /// # Errors
    /// When it cannot be written; then what was there is still there.
    pub fn write(self, list: &SuspendedList) -> Result<(), SuspendFileError> {
        let written = replace(self.beside, &self.path, list);
        written.map(drop).map_err(|error| SuspendFileError::at(&self.path)(error.into()))
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

/// Makes a new file in the folder of `path`, for its owner alone.
fn create_beside(path: &Path) -> io::Result<NamedTempFile> {
    let name = path.file_name().ok_or_else(|| io::Error::other("the path names no file"))?;
    tempfile::Builder::new().prefix(&format!(".{}.", name.display())).tempfile_in(folder_of(path))
}

/// Puts a new file in the place of `path`, and gives it, locked.
fn replace(mut beside: NamedTempFile, path: &Path, list: &SuspendedList) -> io::Result<File> {
    beside.write_all(list.to_json().as_bytes())?;
    beside.as_file().sync_all()?;
    beside.as_file().lock()?;
    let file = beside.persist(path)?;
    // Only Unix can open a folder; elsewhere renames are journalled by the file system.
    if cfg!(unix) {
        File::open(folder_of(path))?.sync_all()?;
    }
    Ok(file)
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
