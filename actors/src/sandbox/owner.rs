//! Whose a container is, and whether its owner lives.

use std::{
    collections::HashMap,
    fs::{self, File, OpenOptions, TryLockError},
    io,
    path::{Path, PathBuf},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use super::{container::unique, docker::Daemon, error::SandboxError};

/// The label that every container carries: the id of its owner.
pub const OWNER_LABEL: &str = "toolyard.owner";

/// The label that says until when it may live, in seconds since 1970.
pub const UNTIL_LABEL: &str = "toolyard.until";

/// How long a container may outlive its time before another engine takes it: clocks differ.
const LATE: u64 = 60;

/// An owner of containers. It holds the lock on a file of its own, which the system lets go of when the process is
/// gone, however it went: so others can tell.
#[derive(Debug)]
pub(super) struct Owner {
    id: String,
    file: PathBuf,
    _lock: File,
}

impl Owner {
    /// Makes a new owner.
    pub(super) fn new() -> io::Result<Self> {
        let (id, folder) = (unique(), folder());
        fs::create_dir_all(&folder)?;
        let file = lock_file(&folder, &id);
        let lock = OpenOptions::new().write(true).create_new(true).open(&file)?;
        lock.lock()?;
        Ok(Self { id, file, _lock: lock })
    }

    pub(super) fn container_name(&self, prefix: &str) -> String {
        format!("{prefix}-{}-{}", self.id, unique())
    }

    /// The labels of a container that may live for so long; without a limit, as long as its owner.
    pub(super) fn labels(&self, life: Option<Duration>) -> HashMap<String, String> {
        let mut labels = HashMap::from([(OWNER_LABEL.to_owned(), self.id.clone())]);
        if let Some(life) = life {
            labels.insert(UNTIL_LABEL.to_owned(), now().saturating_add(life.as_secs()).to_string());
        }
        labels
    }

    /// Removes the containers of owners that are gone, and those whose time is over. Never another live owner's.
    /// Gives their number.
    pub(super) async fn reap(&self, daemon: &Daemon) -> Result<usize, SandboxError> {
        let mut removed = 0;
        let mut gone = HashMap::new();
        for container in daemon.labelled(OWNER_LABEL).await? {
            let (Some(id), Some(labels)) = (container.id, container.labels) else { continue };
            let Some(owner) = labels.get(OWNER_LABEL) else { continue };
            let dead = *gone.entry(owner.clone()).or_insert_with(|| is_gone(&folder(), owner));
            let until = labels.get(UNTIL_LABEL).and_then(|until| until.parse::<u64>().ok());
            let late = until.is_some_and(|until| now() > until.saturating_add(LATE));
            if dead || late {
                tracing::info!(container = id, owner, "removing a container that was left behind");
                daemon.remove(&id).await?;
                removed += 1;
            }
        }
        for (owner, _) in gone.into_iter().filter(|(_, gone)| *gone) {
            // Another engine may do the same at this moment.
            let _ = fs::remove_file(lock_file(&folder(), &owner));
        }
        forget_gone(&folder());
        Ok(removed)
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        // A file that stays says what is true: that its owner is gone.
        let _ = fs::remove_file(&self.file);
    }
}

/// Where the lock files of this user's owners are.
fn folder() -> PathBuf {
    std::env::temp_dir().join(format!("toolyard-sandbox-{}", rustix::process::getuid().as_raw()))
}

fn lock_file(folder: &Path, owner: &str) -> PathBuf {
    folder.join(format!("{owner}.lock"))
}

/// Whether an owner has lived on this machine and does not any more. Of one without a file nothing is known: it may
/// live elsewhere.
fn is_gone(folder: &Path, owner: &str) -> bool {
    // A label is a text that anybody can write.
    if owner.is_empty() || !owner.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return false;
    }
    let Ok(file) = File::open(lock_file(folder, owner)) else { return false };
    !matches!(file.try_lock(), Err(TryLockError::WouldBlock))
}

/// Removes the files of owners that are gone; their containers are, too. A new file may not be locked yet.
fn forget_gone(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let modified = entry.metadata().and_then(|file| file.modified());
        let is_old = modified.is_ok_and(|at| at.elapsed().is_ok_and(|age| age.as_secs() > LATE));
        let path = entry.path();
        let owner = path.file_stem().unwrap_or_default().to_string_lossy();
        if is_old && is_gone(folder, &owner) {
            // Another engine may do the same at this moment.
            let _ = fs::remove_file(&path);
        }
    }
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owner_is_gone_when_its_lock_is_free_and_unknown_without_a_file() {
        let owner = Owner::new().unwrap();
        assert!(!is_gone(&folder(), &owner.id));
        let left = unique();
        fs::write(lock_file(&folder(), &left), "").unwrap();
        assert!(is_gone(&folder(), &left));
        fs::remove_file(lock_file(&folder(), &left)).unwrap();
        assert!(!is_gone(&folder(), &left));
        assert!(!is_gone(&folder(), "../x"));
        let old = lock_file(&folder(), &left);
        fs::write(&old, "").unwrap();
        forget_gone(&folder());
        assert!(old.exists(), "it may be about to be locked");
        let long_ago = SystemTime::UNIX_EPOCH;
        File::options().write(true).open(&old).unwrap().set_modified(long_ago).unwrap();
        File::options()
            .write(true)
            .open(lock_file(&folder(), &owner.id))
            .unwrap()
            .set_modified(long_ago)
            .unwrap();
        forget_gone(&folder());
        assert!(!old.exists() && lock_file(&folder(), &owner.id).exists());
        let id = owner.id.clone();
        drop(owner);
        assert!(!lock_file(&folder(), &id).exists());
    }
}
