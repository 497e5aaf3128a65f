//! Where a path leads, and whether a file can be written there.

use std::{
    fs::{self, File, OpenOptions},
    io,
    path::{Path, PathBuf},
};

use super::{Disk, FileSystem, NewFile, create_beside, folder_of};

/// How many links are followed one after another: as many as Linux follows.
const LINKS: usize = 40;

/// Follows links to the file that is to be replaced, whether it is there or not: a link is never replaced itself.
///
/// # Errors
/// When there is something else than a file, or the links lead nowhere.
pub fn follow(path: &Path) -> io::Result<PathBuf> {
    let mut place = path.to_owned();
    for _ in 0..LINKS {
        let kind = match fs::symlink_metadata(&place) {
            Ok(there) => there.file_type(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(place),
            Err(error) => return Err(error),
        };
        if kind.is_symlink() {
            // A relative link begins at its own folder; joining takes an absolute one as it is.
            place = folder_of(&place).join(fs::read_link(&place)?);
        } else if kind.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        } else if kind.is_file() {
            return Ok(place);
        } else {
            return Err(io::Error::other("not a regular file, so it cannot be replaced; name a file"));
        }
    }
    Err(io::Error::other("too many links lead on from here"))
}

/// Makes sure that a file can be replaced later, without touching what is there.
///
/// # Errors
/// When its folder cannot be written, or something else than a file is there.
pub fn check_replaceable(path: &Path) -> io::Result<()> {
    let place = follow(path)?;
    let (tried, file) = create_beside(&Disk, &place, NewFile::default())?;
    drop(file);
    Disk.remove(&tried)
}

/// Makes sure that a file can be opened for writing later, without touching what is there. Pipes and devices are not
/// opened: that may wait for a reader.
///
/// # Errors
/// When it cannot be written, or is a folder.
pub fn check_writable(path: &Path) -> io::Result<()> {
    match fs::metadata(path) {
        Ok(there) if there.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        Ok(there) if there.is_file() => OpenOptions::new().write(true).open(path).map(drop::<File>),
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => check_replaceable(path),
        Err(error) => Err(error),
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::symlink;

    use super::{super::replace_file, *};

    fn replace(path: &Path, text: &str) -> io::Result<()> {
        replace_file(&Disk, path, |out| out.write_all(text.as_bytes()))
    }

    #[test]
    fn a_link_stays_and_the_file_that_it_leads_to_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("far")).unwrap();
        fs::write(at("far/file"), "old").unwrap();
        symlink("far/file", at("near")).unwrap();
        symlink(at("near"), at("nearer")).unwrap();
        symlink("far/new", at("dangling")).unwrap();
        for (link, file) in [("nearer", "far/file"), ("near", "far/file"), ("dangling", "far/new")] {
            replace(&at(link), link).unwrap();
            assert_eq!(fs::read_to_string(at(file)).unwrap(), link);
            assert!(at(link).is_symlink());
        }
        assert_eq!(fs::read_dir(at("far")).unwrap().count(), 2, "nothing is left beside");
    }

    #[test]
    fn what_is_no_file_is_neither_replaced_nor_taken_for_one() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("round");
        symlink("round", &link).unwrap();
        for path in [Path::new("/dev/full"), folder.path(), &link, &folder.path().join("no/file")] {
            assert!(check_replaceable(path).is_err(), "{}", path.display());
            assert!(replace(path, "x").is_err(), "{}", path.display());
        }
        assert!(!fs::metadata("/dev/full").unwrap().is_file());
    }

    #[test]
    fn a_check_touches_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        for check in [check_replaceable, check_writable] {
            check(&file).unwrap();
            assert!(!file.exists());
        }
        fs::write(&file, "kept").unwrap();
        for check in [check_replaceable, check_writable] {
            check(&file).unwrap();
            assert_eq!(fs::read_to_string(&file).unwrap(), "kept");
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        assert!(check_writable(Path::new("/dev/full")).is_ok());
        assert!(check_writable(folder.path()).is_err() && check_writable(&file.join("below")).is_err());
    }

    #[test]
    fn a_write_that_fails_leaves_the_old_file_and_nothing_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "old").unwrap();
        let failed = replace_file(&Disk, &file, |_| Err(io::Error::other("no")));
        assert!(failed.is_err() && fs::read_to_string(&file).unwrap() == "old");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
