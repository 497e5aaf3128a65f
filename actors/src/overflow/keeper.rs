//! Where results are kept whole: a folder of the engine's own, or one that outlives it.

use std::{
    fs::{self, DirBuilder, OpenOptions, Permissions},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use parking_lot::Mutex;
use tempfile::{Builder, TempDir};

/// Where results that are too large are kept whole, and for how long.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OverflowConfig {
    /// The folder; made when it is needed, for its owner alone. Default `None`: a temporary folder that is removed when
    /// the engine ends, so that whoever holds a result longer than its engine names one.
    pub folder: Option<PathBuf>,
    /// How long a file stays in `folder`. It is removed when an engine with that folder starts. Default 7 days: longer
    /// than a request waits for its answer.
    pub max_age: Duration,
    /// How many bytes the files in `folder` may take together when an engine with that folder starts; the oldest ones go
    /// first. Default 1 GiB.
    pub max_bytes: u64,
}

impl Default for OverflowConfig {
    fn default() -> Self {
        Self { folder: None, max_age: Duration::from_hours(7 * 24), max_bytes: 1 << 30 }
    }
}

/// Keeps texts in files.
#[derive(Debug)]
pub(super) struct Keeper {
    folder: Mutex<Folder>,
    /// What tells the files of this engine from those of others.
    mark: String,
}

#[derive(Debug)]
enum Folder {
    /// The engine's own, which nobody but its owner may enter.
    NotNeeded,
    Own(TempDir),
    Removed,
    /// One that outlives the engine.
    Named(PathBuf),
}

const PREFIX: &str = "result-";
const MARK: usize = 16;

impl Keeper {
    /// Starts with what earlier engines left in the folder, as far as it may stay.
    pub(super) fn new(config: OverflowConfig) -> Self {
        let folder = match config.folder {
            None => Folder::NotNeeded,
            Some(folder) => {
                // `detail.full` is read elsewhere.
                let folder = std::path::absolute(&folder).unwrap_or(folder);
                if let Err(error) = sweep(&folder, config.max_age, config.max_bytes) {
                    tracing::warn!(%error, folder = %folder.display(), "old results could not be removed");
                }
                Folder::Named(folder)
            }
        };
        Self { folder: Mutex::new(folder), mark: format!("{:0MARK$x}", fastrand::u64(..)) }
    }

    /// Writes a text to a file of its own; when that fails, nothing is left of it.
    pub(super) fn keep(&self, name: &str, text: &str) -> io::Result<PathBuf> {
        let path = self.path_of(&format!("{PREFIX}{}-{name}", self.mark))?;
        // A call that is tried again replaces what its last try left.
        let _ = fs::remove_file(&path);
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        file.write_all(text.as_bytes()).inspect_err(|_| {
            let _ = fs::remove_file(&path);
        })?;
        Ok(path)
    }

    fn path_of(&self, name: &str) -> io::Result<PathBuf> {
        let mut folder = self.folder.lock();
        if matches!(*folder, Folder::NotNeeded) {
            let nobody_else = Permissions::from_mode(0o700);
            *folder = Folder::Own(Builder::new().prefix("toolyard-").permissions(nobody_else).tempdir()?);
        }
        match &*folder {
            Folder::Own(made) => Ok(made.path().join(name)),
            Folder::Named(folder) => {
                DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
                Ok(folder.join(name))
            }
            Folder::NotNeeded | Folder::Removed => Err(io::ErrorKind::NotFound.into()),
        }
    }

    /// Removes the engine's own folder for good, with all that is in it.
    pub(super) fn remove(&self) {
        let mut folder = self.folder.lock();
        if matches!(*folder, Folder::Named(_)) {
            return;
        }
        if let Folder::Own(made) = std::mem::replace(&mut *folder, Folder::Removed)
            && let Err(error) = made.close()
        {
            tracing::warn!(%error, "the folder of large results could not be removed");
        }
    }
}

/// Removes files of engines from a folder that are too old, then the oldest ones while there are too many bytes.
fn sweep(folder: &Path, max_age: Duration, max_bytes: u64) -> io::Result<()> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    let now = SystemTime::now();
    let mut files = Vec::new();
    for entry in entries {
        let entry = entry?;
        // Others may sweep at the same time.
        let Ok(there) = entry.metadata() else { continue };
        if there.is_file() && entry.file_name().to_str().is_some_and(is_ours) {
            let age = now.duration_since(there.modified()?).unwrap_or_default();
            files.push((age, there.len(), entry.path()));
        }
    }
    files.sort();
    let mut bytes = 0_u64;
    for (age, size, path) in files {
        bytes = bytes.saturating_add(size);
        if age > max_age || bytes > max_bytes {
            // An error means that somebody else was faster, or the next start tries again.
            let _ = fs::remove_file(path);
        }
    }
    Ok(())
}

/// Tells files of engines from whatever else people keep there.
fn is_ours(name: &str) -> bool {
    let mark = name.strip_prefix(PREFIX).and_then(|rest| rest.split_once('-')).map(|(mark, _)| mark);
    mark.is_some_and(|mark| mark.len() == MARK && mark.bytes().all(|digit| digit.is_ascii_hexdigit()))
        && [".txt", ".json"].iter().any(|end| name.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(folder: &Path) -> OverflowConfig {
        OverflowConfig { folder: Some(folder.to_owned()), ..OverflowConfig::default() }
    }

    fn age(path: &Path, days: u64) {
        let then = SystemTime::now().checked_sub(Duration::from_hours(days * 24)).unwrap();
        fs::File::options().write(true).open(path).unwrap().set_modified(then).unwrap();
    }

    #[test]
    fn a_named_folder_outlives_the_engine_and_is_for_its_owner() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("a/b");
        let keeper = Keeper::new(config(&folder));
        assert!(!folder.exists(), "nothing is made before it is needed");
        let kept = keeper.keep("1-0.txt", "whole").unwrap();
        assert_eq!(keeper.keep("1-0.txt", "again").unwrap(), kept);
        keeper.remove();
        assert_eq!(fs::read_to_string(&kept).unwrap(), "again");
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&kept), mode(&folder)), (0o600, 0o700));
        assert_ne!(Keeper::new(config(&folder)).keep("1-0.txt", "other").unwrap(), kept);
    }

    #[test]
    fn the_next_start_removes_what_is_too_old_or_too_much_and_nothing_of_others() {
        let folder = tempfile::tempdir().unwrap();
        let keeper = Keeper::new(config(folder.path()));
        let kept: Vec<_> = (0..4).map(|n| keeper.keep(&format!("{n}-0.json"), "12345").unwrap()).collect();
        (0..4).for_each(|n| age(&kept[n], [8, 3, 2, 1][n]));
        let foreign =
            ["notes.txt", "result-1.txt", "result-0123456789abcdeg-1.txt", "result-0123456789abcdef-1.pdf"];
        for name in foreign {
            fs::write(folder.path().join(name), "x").unwrap();
            age(&folder.path().join(name), 99);
        }
        std::os::unix::fs::symlink("notes.txt", folder.path().join("result-0123456789abcdef-1.txt")).unwrap();
        let there = || -> Vec<bool> { kept.iter().map(|path| path.exists()).collect() };
        Keeper::new(config(folder.path()));
        assert_eq!(there(), [false, true, true, true]);
        Keeper::new(OverflowConfig { max_bytes: 10, ..config(folder.path()) });
        assert_eq!(there(), [false, false, true, true]);
        Keeper::new(OverflowConfig { max_age: Duration::ZERO, ..config(folder.path()) });
        assert_eq!(there(), [false; 4]);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 5);
    }

    #[test]
    fn what_cannot_be_kept_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        assert!(Keeper::new(config(&file)).keep("1-0.txt", "x").is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
