//! State files: what the tools of an engine remember, in one file that is replaced as a whole.

mod engine;
mod format;
mod lock;
mod store;

#[cfg(test)]
mod sim;
#[cfg(test)]
mod tests;

use std::{
    io::{self, BufReader, Read},
    path::Path,
    time::Duration,
};

use toolyard_actors::StateError;

use self::format::{StateReader, StateWriter};
use crate::replace::{Disk, FileSystem, replace_file};

pub use self::{
    engine::LoadedState,
    format::{StateHead, StateRow},
    store::{StateHolder, StateStore},
};

/// Why a state file cannot be written or read. The caller knows its path.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StateFileError {
    /// The state of a tool cannot be had or replaced.
    #[error(transparent)]
    State(#[from] StateError),
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
    /// What wrote or read the file went away before the end.
    #[error("saving or loading was interrupted")]
    Interrupted,
    /// Another process, or another part of this one, has the file, and did not let go of it in time.
    #[error("{holder} has it locked{}; wait for its end, or give this run another file", waited(*.after))]
    Locked {
        /// Who.
        holder: String,
        /// How long it was waited for.
        after: Duration,
    },
    /// The file is not there that must be.
    #[error("there is no such file")]
    Missing,
    /// The file has another state, or an older one, than it must.
    #[error("{0}")]
    OtherState(String),
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

fn waited(after: Duration) -> String {
    if after.is_zero() {
        String::new()
    } else {
        format!(" and did not let go of it in {} s", after.as_secs_f64())
    }
}

/// Reads a state file row by row. Only a caller that has come to the end without an error has seen
/// a whole file.
///
/// # Errors
/// When there is no such file, it is not a state file, or a newer program wrote it.
pub fn read_rows(path: &Path) -> Result<StateFile, StateFileError> {
    Ok(StateFile(read(&Disk, path)?))
}

/// Writes rows in the form of a state file, of tools some of which may have no rows, and gives the
/// number of rows. What is written before an error is not a whole file.
///
/// # Errors
/// When a row is an error or of a tool that `head` does not name, or nothing more can be written.
pub fn write_rows(
    out: impl io::Write,
    head: impl Into<StateHead>,
    rows: impl IntoIterator<Item = Result<StateRow, StateFileError>>,
) -> Result<u64, StateFileError> {
    let mut writer = StateWriter::new(out, head.into())?;
    for row in rows {
        writer.row(row?)?;
    }
    Ok(writer.finish()?)
}

/// A state file that is being read; an error is the last item.
pub struct StateFile(StateReader<BufReader<Box<dyn Read>>>);

impl StateFile {
    /// The tools whose rows these are, also those that have none.
    pub fn tools(&self) -> &[String] {
        &self.0.head().tools
    }

    /// What the file begins with.
    pub fn head(&self) -> &StateHead {
        self.0.head()
    }
}

impl Iterator for StateFile {
    type Item = Result<StateRow, StateFileError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next()
    }
}

impl std::fmt::Debug for StateFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StateFile").field("tools", &self.tools()).finish_non_exhaustive()
    }
}

/// Writes a state file and gives the number of its rows. It replaces an old one as a whole: whoever
/// reads finds all of the old rows or all of the new ones, also after a crash or a loss of power.
/// When a row is an error, or the file cannot be written, the old file is still there.
fn save(
    disk: &dyn FileSystem,
    path: &Path,
    head: impl Into<StateHead>,
    rows: impl IntoIterator<Item = Result<StateRow, StateFileError>>,
) -> Result<u64, StateFileError> {
    let mut count = 0;
    replace_file(disk, path, |file| {
        count = write_rows(file, head, rows)?;
        Ok::<_, StateFileError>(())
    })?;
    Ok(count)
}

fn read(disk: &dyn FileSystem, path: &Path) -> Result<StateReader<BufReader<Box<dyn Read>>>, StateFileError> {
    StateReader::new(BufReader::with_capacity(64 * 1024, disk.open(path)?))
}
