use std::path::Path;

use cap_fs_ext::{FileTypeExt, FollowSymlinks, OpenOptionsFollowExt, OpenOptionsSyncExt};
use cap_std::fs::{Dir, File, FileType, OpenOptions};

use super::FileError;

/// Opens a regular file and nothing else; `given` is the path that an error names.
///
/// It is looked at before, because opening alone already has effects: a writer that waits at a named pipe would go on.
/// It is looked at again when it is open, and opened without waiting, because it can be swapped in between.
pub(super) fn open_regular(
    folder: &Dir,
    name: &Path,
    mut options: OpenOptions,
    given: &str,
) -> Result<File, FileError> {
    let system = |error| FileError::system(given, &error);
    check(folder.symlink_metadata(name).map_err(system)?.file_type(), given)?;
    options.follow(FollowSymlinks::No).nonblock(true);
    let handle = folder.open_with(name, &options).map_err(system)?;
    check(handle.metadata().map_err(system)?.file_type(), given)?;
    Ok(handle)
}

fn check(file_type: FileType, given: &str) -> Result<(), FileError> {
    let kind = if file_type.is_file() {
        return Ok(());
    } else if file_type.is_dir() {
        "a folder"
    } else if file_type.is_symlink() {
        "a link that was just made"
    } else if file_type.is_fifo() {
        "a named pipe"
    } else if file_type.is_socket() {
        "a socket"
    } else {
        "a device"
    };
    Err(FileError::NotRegular { path: given.to_owned(), kind })
}
