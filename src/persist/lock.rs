//! Keeps a state file for one run at a time.
//!
//! The lock lies beside the file, because the file itself is replaced by every save. It is let go of when
//! its process ends, however that ends; the file of the lock stays, and means nothing without a holder.

use std::{
    ffi::OsString,
    fs::{File, OpenOptions, TryLockError},
    io::{self, Read, Seek, Write},
    path::{Path, PathBuf},
    thread::sleep,
    time::{Duration, Instant},
};

use super::StateFileError;
use crate::replace::follow;

/// How often a lock that is taken is tried again.
const AGAIN: Duration = Duration::from_millis(20);

/// How much of a lock's file is read to say who holds it.
const MOST: u64 = 200;

/// A state file that nobody else may save to.
#[derive(Debug)]
pub(super) struct StateLock {
    _held: File,
}

impl StateLock {
    /// Takes the lock of the file at `path`, which need not be there, and waits for it up to `patience`.
    /// Blocks the thread.
    pub(super) fn take(path: &Path, patience: Duration) -> Result<Self, StateFileError> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(beside(path)?)?;
        let began = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) if began.elapsed() < patience => sleep(AGAIN),
                Err(TryLockError::WouldBlock) => {
                    return Err(StateFileError::Locked { holder: holder(&mut file), after: patience });
                }
                Err(TryLockError::Error(error)) => return Err(error.into()),
            }
        }
        // For whoever finds it locked; the lock holds without it.
        let _ = sign(&mut file);
        Ok(Self { _held: file })
    }
}

fn sign(file: &mut File) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "process {} ({})", std::process::id(), program())
}

/// The program's name alone: its arguments may hold secrets.
fn program() -> String {
    let program = std::env::current_exe().ok();
    let name = program.as_deref().and_then(Path::file_name);
    name.map_or_else(|| "unknown".to_owned(), |name| name.to_string_lossy().into_owned())
}

fn holder(file: &mut File) -> String {
    let mut text = Vec::new();
    let read = file.rewind().and_then(|()| file.take(MOST).read_to_end(&mut text));
    match (read, String::from_utf8_lossy(&text).trim()) {
        (Ok(_), text) if !text.is_empty() => text.to_owned(),
        _ => "another process".to_owned(),
    }
}

fn beside(path: &Path) -> io::Result<PathBuf> {
    let name = path.file_name().ok_or_else(|| io::Error::other("the path names no file"))?;
    let mut hidden = OsString::from(".");
    hidden.push(name);
    hidden.push(".lock");
    Ok(path.with_file_name(hidden))
}

/// The file that a path leads to, so that every way to a file has the same lock, and links stay links.
pub(super) fn target(path: &Path) -> io::Result<PathBuf> {
    let path = follow(&std::path::absolute(path)?)?;
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return Ok(path) };
    Ok(folder.canonicalize()?.join(name))
}
