//! Replaces a file as a whole: whoever reads it finds the old content or the new, never a mixture,
//! also after a crash or a loss of power at any moment.

use std::{
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

use super::file_system::FileSystem;

/// Writes a new file beside `path`, syncs it, renames it over `path`, and syncs the folder.
///
/// # Errors
/// When any step fails; then the old file is still there, unless the last sync alone failed: then
/// the new one is, and may be lost with the power.
pub(crate) fn replace_file<E: From<io::Error>>(
    disk: &dyn FileSystem,
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> Result<(), E>,
) -> Result<(), E> {
    let (new, file) = create_beside(disk, path)?;
    let written = (|| {
        let mut file = BufWriter::with_capacity(64 * 1024, file);
        write(&mut file)?;
        file.into_inner().map_err(io::IntoInnerError::into_error)?.sync()?;
        disk.rename(&new, path)?;
        Ok(())
    })();
    if written.is_err() {
        // What is left of the attempt helps nobody; that it cannot be removed changes nothing.
        let _ = disk.remove(&new);
        return written;
    }
    Ok(disk.sync_folder(folder_of(path))?)
}

/// Creates a file in the folder of `path` under a name that no other save uses.
fn create_beside(
    disk: &dyn FileSystem,
    path: &Path,
) -> io::Result<(PathBuf, Box<dyn super::file_system::SyncWrite>)> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let name = path.file_name().ok_or_else(|| io::Error::other("the path names no file"))?;
    loop {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!(".{}.{}-{number}.tmp", name.display(), std::process::id());
        let new = folder_of(path).join(name);
        match disk.create_new(&new) {
            // A crashed process may have had this process's id.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            created => return Ok((new, created?)),
        }
    }
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
