//! Files of packages, put together as one archive.

use std::{
    collections::HashSet,
    io::{self, Read},
    path::{Component, Path, PathBuf},
};

use tar::{Archive, Builder, EntryType, Header};

/// Folders that packages have at the root, and that stand below `usr` in truth.
const MERGED: [&str; 4] = ["bin", "sbin", "lib", "lib64"];

/// Folders that nobody reads in a container.
const LEFT_OUT: [&str; 6] = [
    "usr/share/doc",
    "usr/share/man",
    "usr/share/locale",
    "usr/share/info",
    "usr/share/lintian",
    "usr/share/bug",
];

/// Folders that no package brings: with the mode for files of anybody.
const FOLDERS: [(&str, u32); 10] = [
    ("dev", 0o755),
    ("etc", 0o755),
    ("proc", 0o555),
    ("root", 0o700),
    ("run", 0o755),
    ("sys", 0o555),
    ("tmp", 0o1777),
    ("var", 0o755),
    ("var/tmp", 0o1777),
    ("workspace", 0o1777),
];

const PASSWD: &str = "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/bin/sh\n\
                      sandbox:x:1000:1000::/workspace:/bin/sh\n";
const GROUP: &str = "root:x:0:\nnogroup:x:65534:\nsandbox:x:1000:\n";

/// An archive to which packages are added.
pub(super) struct Layers {
    archive: Builder<Vec<u8>>,
    there: HashSet<PathBuf>,
}

impl Layers {
    pub(super) fn new() -> Self {
        Self { archive: Builder::new(Vec::new()), there: HashSet::new() }
    }

    /// Adds the files of a package; of two files in one place the first stays.
    pub(super) fn add(&mut self, files: &[u8]) -> io::Result<()> {
        let mut package = Archive::new(files);
        for entry in package.entries()? {
            let mut entry = entry?;
            let path = merged(&entry.path()?);
            let left_out = LEFT_OUT.iter().any(|folder| path.starts_with(folder));
            if path.as_os_str().is_empty() || left_out || !self.there.insert(path.clone()) {
                continue;
            }
            let mut header = entry.header().clone();
            header.set_uid(0);
            header.set_gid(0);
            match (entry.header().entry_type(), entry.link_name()?) {
                (EntryType::Symlink, Some(target)) => self.archive.append_link(&mut header, path, target)?,
                (EntryType::Link, Some(target)) => {
                    self.archive.append_link(&mut header, path, merged(&target))?;
                }
                _ => self.archive.append_data(&mut header, path, entry.by_ref())?,
            }
        }
        Ok(())
    }

    /// Adds what makes it the root of a system.
    pub(super) fn finish(mut self) -> io::Result<Vec<u8>> {
        for (path, mode) in FOLDERS {
            if self.there.insert(path.into()) {
                let mut header = header(EntryType::Directory, mode, 0);
                self.archive.append_data(&mut header, path, io::empty())?;
            }
        }
        for folder in MERGED {
            self.link(folder, &format!("usr/{folder}"))?;
        }
        self.link("usr/bin/sh", "dash")?;
        for (path, text) in [("etc/passwd", PASSWD), ("etc/group", GROUP)] {
            let mut header = header(EntryType::Regular, 0o644, text.len() as u64);
            self.archive.append_data(&mut header, path, text.as_bytes())?;
        }
        self.archive.into_inner()
    }

    fn link(&mut self, path: &str, target: &str) -> io::Result<()> {
        if !self.there.insert(path.into()) {
            return Ok(());
        }
        self.archive.append_link(&mut header(EntryType::Symlink, 0o777, 0), path, target)
    }
}

fn header(kind: EntryType, mode: u32, size: u64) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_size(size);
    header
}

/// Where a path of a package stands in truth.
fn merged(path: &Path) -> PathBuf {
    let parts = path.components().filter(|part| matches!(part, Component::Normal(_)));
    let path: PathBuf = parts.collect();
    if MERGED.iter().any(|folder| path.starts_with(folder)) { Path::new("usr").join(path) } else { path }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_at_the_root_become_links_and_files_go_where_they_lead() {
        let mut package = Builder::new(Vec::new());
        let add = |package: &mut Builder<Vec<u8>>, path: &str| {
            package.append_data(&mut header(EntryType::Regular, 0o755, 1), path, &b"x"[..]).unwrap();
        };
        add(&mut package, "./bin/dash");
        add(&mut package, "./usr/share/doc/dash/copyright");
        let mut layers = Layers::new();
        let files = package.into_inner().unwrap();
        layers.add(&files).unwrap();
        layers.add(&files).unwrap();
        let tar = layers.finish().unwrap();
        let mut archive = Archive::new(&tar[..]);
        let paths: Vec<_> = archive
            .entries()
            .unwrap()
            .map(|entry| {
                let entry = entry.unwrap();
                let target = entry.link_name().unwrap().map(|target| target.display().to_string());
                (entry.path().unwrap().display().to_string(), target)
            })
            .collect();
        let of = |path: &str| paths.iter().filter(|(other, _)| other == path).collect::<Vec<_>>();
        assert_eq!(of("usr/bin/dash").len(), 1);
        assert_eq!(of("bin")[0].1.as_deref(), Some("usr/bin"));
        assert!(paths.iter().all(|(path, _)| !path.contains("doc")));
    }
}
