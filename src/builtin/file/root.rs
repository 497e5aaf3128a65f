use std::{
    ffi::{OsStr, OsString},
    hash::{DefaultHasher, Hash, Hasher},
    io,
    path::{Component, Path, PathBuf},
    sync::Arc,
    time::Instant,
};

use cap_fs_ext::DirExt;
use cap_std::{ambient_authority, fs::Dir};
use parking_lot::{Mutex, MutexGuard};
use toolyard_actors::code::{is_code, may_be_written};
use toolyard_contract::ResourceKey;

use super::FileError;

/// The longest path, in bytes: what Linux takes.
const MAX_PATH_BYTES: usize = 4_096;

/// How many links may lead to one file: as many as Linux follows.
const MAX_LINKS: usize = 40;

/// How many files may be written at the same time; two that share a lock take turns without need.
const WRITE_LOCKS: usize = 64;

/// The folder that file tools never leave.
///
/// One root serves all file tools over a folder: calls that write one file through it take turns.
///
/// ```
/// # let folder = std::env::temp_dir();
/// use toolyard::builtin::file::{FileReadTool, FileRoot, FileWriteTool};
///
/// let root = FileRoot::open(folder)?;
/// let read = FileReadTool::new(root.clone());
/// let write = FileWriteTool::new(root);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct FileRoot {
    folder: Dir,
    /// The absolute paths that lead to the folder: as opened, and without links.
    spellings: [PathBuf; 2],
    write_locks: [Mutex<()>; WRITE_LOCKS],
}

impl FileRoot {
    /// Opens a folder that exists. It stays the same folder, also when it is renamed later.
    ///
    /// # Errors
    ///
    /// When `folder` is not a folder or cannot be opened.
    pub fn open(folder: impl AsRef<Path>) -> io::Result<Arc<Self>> {
        let folder = folder.as_ref();
        Ok(Arc::new(Self {
            spellings: [std::path::absolute(folder)?, folder.canonicalize()?],
            folder: Dir::open_ambient_dir(folder, ambient_authority())?,
            write_locks: [const { Mutex::new(()) }; WRITE_LOCKS],
        }))
    }

    /// Finds what a path leads to, as a path below the folder without links and without `..`.
    ///
    /// Neither the file nor its folders need exist.
    pub(super) fn locate(&self, given: &str) -> Result<PathBuf, FileError> {
        check_text(given)?;
        let outside = || FileError::Outside { path: given.to_owned() };
        let mut place = PathBuf::new();
        let mut links = 0;
        let mut exists = true;
        let mut ahead = parts_backwards(self.below(Path::new(given)).ok_or_else(outside)?);
        while let Some(part) = ahead.pop() {
            if part == ".." {
                if !place.pop() {
                    return Err(outside());
                }
                exists = true;
                continue;
            }
            place.push(part);
            if !exists {
                continue;
            }
            let target = match self.folder.read_link_contents(&place) {
                Ok(target) => target,
                // Below what is not there is nothing to look at; what cannot be looked at is found out when opened.
                Err(error) => {
                    exists = error.kind() != io::ErrorKind::NotFound;
                    continue;
                }
            };
            links += 1;
            if links > MAX_LINKS {
                return Err(FileError::TooManyLinks { path: given.to_owned() });
            }
            if target.is_absolute() {
                place.clear();
            } else {
                place.pop();
            }
            ahead.extend(parts_backwards(self.below(&target).ok_or_else(outside)?));
        }
        // Two names that are no text could be one for those who judge them.
        match place.to_str() {
            Some(_) => Ok(place),
            None => Err(FileError::UnusablePath { reason: "it leads to a name that is not UTF-8" }),
        }
    }

    /// Opens the folder that holds a place, and gives the name of the file in it.
    ///
    /// No link is followed: one that turned up since the place was found was not seen by those who judged the call.
    /// So what is opened is what was found, and what was found is compared with what was judged.
    pub(super) fn open_folder_of<'p>(
        &self,
        place: &'p Path,
        create: bool,
        given: &str,
    ) -> Result<(Dir, &'p Path), FileError> {
        let (Some(parent), Some(name)) = (place.parent(), place.file_name()) else {
            return Err(FileError::NotRegular { path: given.to_owned(), kind: "a folder" });
        };
        match self.open_folder(parent, create) {
            Ok(folder) => Ok((folder, Path::new(name))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Err(FileError::NoFolder { path: given.to_owned() })
            }
            Err(error) => Err(FileError::system(given, &error)),
        }
    }

    fn open_folder(&self, place: &Path, create: bool) -> io::Result<Dir> {
        place.iter().try_fold(self.folder.try_clone()?, |parent, name| match parent.open_dir_nofollow(name) {
            Err(error) if create && error.kind() == io::ErrorKind::NotFound => make_folder(&parent, name),
            opened => opened,
        })
    }

    /// Tells that files below the folder may be written, so that no child process takes code from there.
    pub(super) fn may_be_written(&self) {
        may_be_written(&self.spellings[1]);
    }

    /// Refuses a place that a running program may take code from.
    pub(super) fn check_is_no_code(&self, place: &Path, given: &str) -> Result<(), FileError> {
        let code = is_code(&self.spellings[1].join(place));
        if code { Err(FileError::Code { path: given.to_owned() }) } else { Ok(()) }
    }

    /// What a path leads to, for a permission policy: a path below the folder, or the path as given where it leads
    /// nowhere, which the call itself will refuse.
    pub(super) fn resource(&self, given: &str) -> String {
        self.locate(given).map_or_else(|_| given.to_owned(), |place| resource_of(&place))
    }

    /// What a path leads to, for the planner: every path to one file has one key.
    pub(super) fn key(&self, given: &str) -> ResourceKey {
        match self.locate(given) {
            Ok(place) => format!("file/{}", place.to_string_lossy()).into(),
            Err(_) => "file".into(),
        }
    }

    /// Holds every other write to this place back; `None` when one holds this one back until its deadline.
    pub(super) fn lock_for_writing(
        &self,
        place: &Path,
        deadline: Option<Instant>,
    ) -> Option<MutexGuard<'_, ()>> {
        let mut hasher = DefaultHasher::new();
        place.hash(&mut hasher);
        let lock = &self.write_locks[usize::from(hasher.finish().to_le_bytes()[0]) % WRITE_LOCKS];
        match deadline {
            Some(deadline) => lock.try_lock_until(deadline),
            None => Some(lock.lock()),
        }
    }

    /// Makes an absolute path relative where it leads below the folder as it is written.
    fn below<'p>(&self, path: &'p Path) -> Option<&'p Path> {
        if path.is_absolute() {
            self.spellings.iter().find_map(|spelling| path.strip_prefix(spelling).ok())
        } else {
            Some(path)
        }
    }
}

/// What a permission policy judges for a place.
pub(super) fn resource_of(place: &Path) -> String {
    if place.as_os_str().is_empty() { ".".to_owned() } else { place.to_string_lossy().into_owned() }
}

fn make_folder(parent: &Dir, name: &OsStr) -> io::Result<Dir> {
    match parent.create_dir(name) {
        // Another call was faster.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        made => made?,
    }
    // The new file would not outlast a stop of the machine if its folder did not.
    parent.open(".")?.sync_all()?;
    parent.open_dir_nofollow(name)
}

fn check_text(given: &str) -> Result<(), FileError> {
    let reason = if given.len() > MAX_PATH_BYTES {
        "it is longer than 4096 bytes"
    } else if given.contains('\0') {
        "it has a zero byte"
    } else if given.ends_with('/') {
        "it ends with `/`, as the path of a folder does"
    } else {
        return Ok(());
    };
    Err(FileError::UnusablePath { reason })
}

fn parts_backwards(path: &Path) -> Vec<OsString> {
    let parts = path.components().rev().filter(|part| *part != Component::CurDir);
    parts.map(|part| part.as_os_str().to_owned()).collect()
}
