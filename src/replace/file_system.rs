//! The few file operations that replacing a file needs, so that tests can make each of them fail.

use std::{
    collections::BTreeSet,
    fmt,
    fs::{self, File, OpenOptions},
    io::{self, Read, Write},
    path::{Path, PathBuf},
};

use parking_lot::{Mutex, MutexGuard};

use super::{NewFile, place::follow};

/// The operations of a save. Each either happens or returns an error.
pub(crate) trait FileSystem {
    /// The file that `path` leads to, where that is a link.
    fn place(&self, path: &Path) -> io::Result<PathBuf>;
    /// Creates a file; an error when it exists.
    fn create_new(&self, path: &Path, kind: NewFile) -> io::Result<Box<dyn SyncWrite>>;
    /// Opens a file for reading.
    fn open(&self, path: &Path) -> io::Result<Box<dyn Read>>;
    /// Puts a file in the place of another, at once.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Makes the entries of a folder outlive a loss of power.
    fn sync_folder(&self, folder: &Path) -> io::Result<()>;
    /// Removes a file.
    fn remove(&self, path: &Path) -> io::Result<()>;
}

/// A file being written.
pub(crate) trait SyncWrite: Write + fmt::Debug + Send + Sync {
    /// Makes what was written outlive a loss of power.
    fn sync(&mut self) -> io::Result<()>;
}

/// The real file system.
pub(crate) struct Disk;

/// The new files that are not in their places yet.
static UNFINISHED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// Removes the files that are just being written, for a process that ends at once: from here on it replaces no
/// file, and whoever tries waits for the end.
pub fn abandon_unfinished() {
    let unfinished = UNFINISHED.lock();
    for file in &*unfinished {
        // It may be gone already; nobody is left to be told.
        let _ = fs::remove_file(file);
    }
    MutexGuard::leak(unfinished);
}

impl FileSystem for Disk {
    fn place(&self, path: &Path) -> io::Result<PathBuf> {
        follow(path)
    }

    fn create_new(&self, path: &Path, kind: NewFile) -> io::Result<Box<dyn SyncWrite>> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        if !kind.for_everybody {
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600); // state may hold secrets
        }
        let mut unfinished = UNFINISHED.lock();
        let file = options.open(path)?;
        unfinished.insert(path.to_owned());
        drop(unfinished);
        if kind.locked {
            file.lock()?;
        }
        Ok(Box::new(file))
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn Read>> {
        Ok(Box::new(File::open(path)?))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut unfinished = UNFINISHED.lock();
        fs::rename(from, to)?;
        unfinished.remove(from);
        Ok(())
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        // Only Unix can open a folder; elsewhere renames are journalled by the file system.
        if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut unfinished = UNFINISHED.lock();
        unfinished.remove(path);
        fs::remove_file(path)
    }
}

impl SyncWrite for File {
    fn sync(&mut self) -> io::Result<()> {
        self.sync_all()
    }
}
