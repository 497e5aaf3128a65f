//! Replaces a file as a whole: whoever reads it finds the old content or the new, never a mixture,
//! also after a crash or a loss of power at any moment.
//!
//! All files that are replaced go this way: states, records of suspended lists, timelines.

mod file_system;
mod place;

use std::{
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

pub(crate) use self::file_system::{Disk, FileSystem, SyncWrite};
pub use self::{
    file_system::abandon_unfinished,
    place::{check_replaceable, check_writable, follow},
};

/// What the new file is, beside its content.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct NewFile {
    /// Everybody may read it who may read files that this process makes; else its owner alone.
    pub(crate) for_everybody: bool,
    /// It is locked before anybody can find it, until the returned hand on it is dropped.
    pub(crate) locked: bool,
}

/// Writes a new file beside `path`, for its owner alone, syncs it, renames it over `path`, and syncs the folder.
/// Where `path` is a link, the file that it leads to is replaced, and the link stays.
///
/// # Errors
/// When any step fails; then the old file is still there, unless the last sync alone failed: then
/// the new one is, and may be lost with the power.
pub(crate) fn replace_file<E: From<io::Error>>(
    disk: &dyn FileSystem,
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> Result<(), E>,
) -> Result<(), E> {
    replace_by(disk, path, NewFile::default(), write).map(drop)
}

/// As [`replace_file`], with a say in what the new file is; gives a hand on it.
///
/// # Errors
/// As [`replace_file`].
pub(crate) fn replace_by<E: From<io::Error>>(
    disk: &dyn FileSystem,
    path: &Path,
    kind: NewFile,
    write: impl FnOnce(&mut dyn Write) -> Result<(), E>,
) -> Result<Box<dyn SyncWrite>, E> {
    let path = &*disk.place(path)?;
    let (new, file) = create_beside(disk, path, kind)?;
    let written = (|| {
        let mut file = BufWriter::with_capacity(64 * 1024, file);
        write(&mut file)?;
        let mut file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.sync()?;
        disk.rename(&new, path)?;
        Ok(file)
    })();
    if written.is_err() {
        // What is left of the attempt helps nobody; that it cannot be removed changes nothing.
        let _ = disk.remove(&new);
    } else {
        disk.sync_folder(folder_of(path))?;
    }
    written
}

/// Replaces a file that anybody may read, such as a page.
///
/// # Errors
/// When it cannot be written; then what was there is still there.
pub fn replace_page(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    replace_by(&Disk, path, NewFile { for_everybody: true, locked: false }, write).map(drop)
}

/// Creates a file in the folder of `path` under a name that no other save uses.
fn create_beside(
    disk: &dyn FileSystem,
    path: &Path,
    kind: NewFile,
) -> io::Result<(PathBuf, Box<dyn SyncWrite>)> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let name = path.file_name().ok_or_else(|| io::Error::other("the path names no file"))?;
    loop {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!(".{}.{}-{number}.tmp", name.display(), std::process::id());
        let new = folder_of(path).join(name);
        match disk.create_new(&new, kind) {
            // A crashed process may have had this process's id.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            created => return Ok((new, created?)),
        }
    }
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
