//! The few file operations that saving needs, so that tests can make each of them fail.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read, Write},
    path::Path,
};

/// The operations of a save. Each either happens or returns an error.
pub(crate) trait FileSystem {
    /// Creates a file that nobody else may read; an error when it exists.
    fn create_new(&self, path: &Path) -> io::Result<Box<dyn SyncWrite>>;
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
pub(crate) trait SyncWrite: Write {
    /// Makes what was written outlive a loss of power.
    fn sync(&mut self) -> io::Result<()>;
}

/// The real file system.
pub(crate) struct Disk;

impl FileSystem for Disk {
    fn create_new(&self, path: &Path) -> io::Result<Box<dyn SyncWrite>> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600); // state may hold secrets
        Ok(Box::new(options.open(path)?))
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn Read>> {
        Ok(Box::new(File::open(path)?))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        // Only Unix can open a folder; elsewhere renames are journalled by the file system.
        if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }
}

impl SyncWrite for File {
    fn sync(&mut self) -> io::Result<()> {
        self.sync_all()
    }
}
