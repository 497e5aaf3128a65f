//! Files on their way into and out of a sandbox. They go through the agent: the daemon's own way does not reach
//! folders in memory, and refuses containers whose root is read-only.

use std::{
    fs,
    path::{Component, Path},
};

use super::{actor::Errand, error::SandboxError, handle::Sandbox};

/// How much of a file one order carries, in bytes.
const PIECE: usize = 1 << 20;

/// The bits of a file's mode that say what it is, and their value for a regular file.
const KIND: u32 = 0o170_000;
const REGULAR: u32 = 0o100_000;

/// A file of a sandbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SandboxFile {
    /// Its path below the folder that was asked for.
    pub path: String,
    /// What is in it.
    pub bytes: Vec<u8>,
}

impl Sandbox {
    /// Writes a file, in the place of one that is there, with the folders that it is in. A relative path starts at
    /// the working folder.
    ///
    /// # Errors
    /// When it cannot be written, for want of room or rights; then a part of it may be there.
    pub async fn put(&self, path: &str, bytes: &[u8]) -> Result<(), SandboxError> {
        self.put_file(path, bytes, false).await
    }

    async fn put_file(&self, path: &str, bytes: &[u8], executable: bool) -> Result<(), SandboxError> {
        let mut pieces = bytes.chunks(PIECE);
        let (mut piece, mut append) = (pieces.next().unwrap_or_default(), false);
        loop {
            let order = Errand::Put { path: path.to_owned(), append, executable };
            let (done, _) = self.tell(order, piece.to_vec()).await?;
            done.error.map_or(Ok(()), |reason| Err(failed(path, reason)))?;
            match pieces.next() {
                Some(next) => (piece, append) = (next, true),
                None => return Ok(()),
            }
        }
    }

    /// Writes all files below a folder of this machine into a folder of the sandbox. Links are passed over.
    ///
    /// # Errors
    /// When a file cannot be read here or written there; those before it are there then.
    pub async fn put_folder(&self, source: &Path, target: &str) -> Result<(), SandboxError> {
        let mut folders = vec![source.to_owned()];
        while let Some(folder) = folders.pop() {
            let unreadable =
                |error: std::io::Error| failed(&folder.to_string_lossy(), error.kind().to_string());
            for entry in fs::read_dir(&folder).map_err(unreadable)? {
                let entry = entry.map_err(unreadable)?;
                let kind = entry.file_type().map_err(unreadable)?;
                if kind.is_dir() {
                    folders.push(entry.path());
                } else if kind.is_file() {
                    let bytes = fs::read(entry.path()).map_err(unreadable)?;
                    let below = entry.path().strip_prefix(source).map(Path::to_owned).unwrap_or_default();
                    let target = Path::new(target).join(below);
                    self.put_file(&target.to_string_lossy(), &bytes, is_executable(&entry)).await?;
                }
            }
        }
        Ok(())
    }

    /// Reads a file.
    ///
    /// # Errors
    /// When there is none, it is no regular file, or it is larger than the settings allow.
    pub async fn get(&self, path: &str) -> Result<Vec<u8>, SandboxError> {
        self.get_up_to(path, self.config().file_bytes).await
    }

    async fn get_up_to(&self, path: &str, most: u64) -> Result<Vec<u8>, SandboxError> {
        let mut bytes: Vec<u8> = Vec::new();
        loop {
            let offset = bytes.len() as u64;
            let order = Errand::Get { path: path.to_owned(), offset, length: PIECE as u64 };
            let (done, piece) = self.tell(order, Vec::new()).await?;
            done.error.map_or(Ok(()), |reason| Err(failed(path, reason)))?;
            bytes.extend_from_slice(&piece);
            // It can grow while it is read.
            if done.size.max(bytes.len() as u64) > most {
                return Err(failed(path, format!("has more than {most} bytes, the most that may be read")));
            }
            if piece.len() < PIECE {
                return Ok(bytes);
            }
        }
    }

    /// Lists the regular files below a folder, with their sizes, sorted. A relative path starts at the working
    /// folder; `.` is the working folder itself.
    ///
    /// # Errors
    /// When there is no such folder, or it holds more than can be listed.
    pub async fn list(&self, folder: &str) -> Result<Vec<(String, u64)>, SandboxError> {
        let (done, _) = self.tell(Errand::List { path: folder.to_owned() }, Vec::new()).await?;
        done.error.map_or(Ok(()), |reason| Err(failed(folder, reason)))?;
        if !done.complete {
            return Err(failed(folder, "has more files than can be listed".to_owned()));
        }
        let regular =
            done.entries.into_iter().filter(|(path, _, mode)| mode & KIND == REGULAR && stays_below(path));
        let mut files: Vec<_> = regular.map(|(path, bytes, _)| (path, bytes)).collect();
        files.sort();
        Ok(files)
    }

    /// Reads all regular files below a folder, sorted by path.
    ///
    /// # Errors
    /// When there is no such folder, or its files have together more bytes than the settings allow for one.
    pub async fn get_folder(&self, folder: &str) -> Result<Vec<SandboxFile>, SandboxError> {
        let mut left = self.config().file_bytes;
        let mut files = Vec::new();
        for (path, _) in self.list(folder).await? {
            let bytes = self.get_up_to(&format!("{folder}/{path}"), left).await?;
            left -= bytes.len() as u64;
            files.push(SandboxFile { path, bytes });
        }
        Ok(files)
    }
}

/// Whoever writes the files somewhere must not be led elsewhere by their names.
fn stays_below(path: &str) -> bool {
    Path::new(path).components().all(|part| matches!(part, Component::Normal(_)))
}

fn is_executable(entry: &fs::DirEntry) -> bool {
    use std::os::unix::fs::PermissionsExt;
    entry.metadata().is_ok_and(|file| file.permissions().mode() & 0o111 != 0)
}

fn failed(path: &str, reason: String) -> SandboxError {
    SandboxError::File { path: path.to_owned(), reason }
}
