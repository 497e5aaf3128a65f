//! The files that the options name. One file for two purposes is refused, however its paths are written: what is
//! written for the one would destroy the other.

use std::{
    ffi::OsString,
    fs::{self, File, Metadata},
    io,
    os::{
        fd::{AsFd, BorrowedFd},
        unix::fs::{FileTypeExt, MetadataExt},
    },
    path::Path,
};

use anyhow::bail;
use toolyard::replace::follow;

use crate::options::{EngineOptions, RecordOptions};
#[cfg(feature = "python")]
use crate::setup::read_config;

/// Paths, each with what it is for.
pub(crate) struct Paths(Vec<Named>);

struct Named {
    what: String,
    file: Identity,
    role: Role,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Read,
    Written,
    /// Where it leads was decided by whoever started the program.
    Stream,
}

/// What tells one file from another.
#[derive(PartialEq, Eq)]
enum Identity {
    There {
        device: u64,
        inode: u64,
    },
    /// A name in a folder under which there is nothing yet.
    Missing {
        device: u64,
        inode: u64,
        name: OsString,
    },
}

impl Paths {
    /// Starts with the standard streams.
    pub(crate) fn new() -> Self {
        let mut paths = Self(Vec::new());
        paths.stream("standard output", io::stdout().as_fd());
        paths.stream("standard error", io::stderr().as_fd());
        paths
    }

    /// Adds a document; `-` is standard input.
    pub(crate) fn input(&mut self, file: &Path) {
        if file == Path::new("-") {
            self.stream("standard input", io::stdin().as_fd());
        } else {
            self.add(file.display().to_string(), file, Role::Read);
        }
    }

    /// Adds a file that is only read.
    pub(crate) fn reads(&mut self, option: &str, file: &Path) {
        self.add(format!("{option} {}", file.display()), file, Role::Read);
    }

    /// Adds a file that is written.
    pub(crate) fn writes(&mut self, option: &str, file: &Path) {
        self.add(format!("{option} {}", file.display()).trim_start().to_owned(), file, Role::Written);
    }

    /// Adds the files that an engine is put together from.
    pub(crate) fn engine(&mut self, options: &EngineOptions) -> anyhow::Result<()> {
        let usual = Path::new("toolyard.toml");
        self.reads("--config", options.config.as_deref().unwrap_or(usual));
        #[cfg(feature = "python")]
        {
            let config = read_config(options.config.as_deref())?;
            let configured = config.python.files.iter().map(|file| toolyard::PythonFile::parse(file));
            for file in configured.chain(options.python.iter().cloned()) {
                self.reads("--python", file.path());
            }
        }
        #[cfg(feature = "mcp")]
        if let Some(file) = &options.mcp_config {
            self.reads("--mcp-config", file);
        }
        Ok(())
    }

    /// Adds what is recorded.
    pub(crate) fn record(&mut self, options: &RecordOptions) {
        if let Some(file) = &options.events {
            self.writes("--events", file);
        }
        if let Some(file) = &options.timeline {
            self.writes("--timeline", file);
        }
    }

    fn add(&mut self, what: String, file: &Path, role: Role) {
        // Who cannot be identified cannot be written either, and is told so when that is tried.
        if let Some(file) = identity(file) {
            self.0.push(Named { what, file, role });
        }
    }

    fn stream(&mut self, what: &str, stream: BorrowedFd<'_>) {
        let metadata = stream.try_clone_to_owned().and_then(|stream| File::from(stream).metadata());
        if let Some(file) = metadata.ok().and_then(|there| of_existing(&there)) {
            self.0.push(Named { what: what.to_owned(), file, role: Role::Stream });
        }
    }

    /// Refuses a file that is named twice, unless nothing is written to it.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        for (index, named) in self.0.iter().enumerate() {
            let clashes = |other: &&Named| {
                other.file == named.file && (other.role == Role::Written || named.role == Role::Written)
            };
            if let Some(other) = self.0[..index].iter().find(clashes) {
                bail!(
                    "{} and {} are the same file; name another one for one of them",
                    other.what,
                    named.what
                );
            }
        }
        Ok(())
    }
}

fn identity(file: &Path) -> Option<Identity> {
    if let Ok(there) = fs::metadata(file) {
        return of_existing(&there);
    }
    // A link may lead to where there is nothing yet.
    let place = follow(file).ok()?;
    let folder = place.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let there = fs::metadata(folder).ok()?;
    let name = place.file_name()?.to_owned();
    Some(Identity::Missing { device: there.dev(), inode: there.ino(), name })
}

/// Any number of things may go to a device such as `/dev/null`.
fn of_existing(there: &Metadata) -> Option<Identity> {
    let is_device = there.file_type().is_char_device() || there.file_type().is_block_device();
    (!is_device).then(|| Identity::There { device: there.dev(), inode: there.ino() })
}
