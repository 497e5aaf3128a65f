//! State files: what the tools of an engine remember, in one file that is replaced as a whole.

mod file_system;
mod format;
mod replace;

#[cfg(test)]
mod sim;
#[cfg(test)]
mod tests;

use std::{
    io::{self, BufReader, Read},
    path::Path,
};

use self::{
    file_system::{Disk, FileSystem},
    format::{StateReader, StateWriter},
    replace::replace_file,
};

pub use self::format::StateRow;

/// Why a state file cannot be written or read. The caller knows its path.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StateFileError {
    /// The file system said no.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The first line is not that of a state file.
    #[error("not a state file: its first line does not say so")]
    NotAStateFile,
    /// The file comes from a newer version of this program.
    #[error("format version {version} is newer than this program, which reads up to {}", format::VERSION)]
    Newer {
        /// The version of the file.
        version: u32,
    },
    /// The end is missing.
    #[error("the file is cut off: its last line is missing")]
    CutOff,
    /// A line cannot be read.
    #[error("line {line}: {reason}")]
    Line {
        /// Counted from 1.
        line: u64,
        /// What is wrong with it.
        reason: String,
    },
}

/// Writes a state file and gives the number of its rows. It replaces an old one as a whole: whoever
/// reads finds all of the old rows or all of the new ones, also after a crash or a loss of power.
///
/// # Errors
/// When a row is an error, or the file cannot be written; then the old file is still there.
pub fn save_rows(
    path: &Path,
    rows: impl IntoIterator<Item = Result<StateRow, StateFileError>>,
) -> Result<u64, StateFileError> {
    save(&Disk, path, rows)
}

/// Reads a state file row by row. Only a caller that has come to the end without an error has seen
/// a whole file.
///
/// # Errors
/// When there is no such file, it is not a state file, or a newer program wrote it.
pub fn read_rows(
    path: &Path,
) -> Result<impl Iterator<Item = Result<StateRow, StateFileError>>, StateFileError> {
    read(&Disk, path)
}

fn save(
    disk: &dyn FileSystem,
    path: &Path,
    rows: impl IntoIterator<Item = Result<StateRow, StateFileError>>,
) -> Result<u64, StateFileError> {
    let mut count = 0;
    replace_file(disk, path, |file| {
        let mut writer = StateWriter::new(file)?;
        for row in rows {
            writer.row(row?)?;
        }
        count = writer.finish()?;
        Ok::<_, StateFileError>(())
    })?;
    Ok(count)
}

fn read(disk: &dyn FileSystem, path: &Path) -> Result<StateReader<BufReader<Box<dyn Read>>>, StateFileError> {
    StateReader::new(BufReader::with_capacity(64 * 1024, disk.open(path)?))
}
