use std::io;

use toolyard_contract::Failure;

/// Says why a file was not read or written; names the path as the call gave it, never another one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// Neither `path` nor `input` names a file.
    #[error("no path: name the file in `path`")]
    MissingPath,
    /// The path is longer than any system takes, or has a character that none takes.
    #[error("the path is not usable: {reason}")]
    UnusablePath {
        /// What is wrong with it.
        reason: &'static str,
    },
    /// Neither `content` nor `text` is there; an empty file needs an empty `content`.
    #[error("file {path:?}: no content, so nothing was written: give the text in `content`")]
    MissingContent {
        /// The path as given.
        path: String,
    },
    /// The text to write is too long.
    #[error("file {path:?}: the content has {bytes} bytes and may have {limit}: write it in parts")]
    ContentTooLarge {
        /// The path as given.
        path: String,
        /// How long the text is.
        bytes: u64,
        /// How long it may be.
        limit: u64,
    },
    /// The path leads outside the folder of the file tools.
    #[error("file {path:?}: leads outside the folder of the file tools: give a path inside it")]
    Outside {
        /// The path as given.
        path: String,
    },
    /// The file's extension is not among the allowed ones.
    #[error("file {path:?}: only files with these extensions may be used: {allowed}")]
    Extension {
        /// The path as given.
        path: String,
        /// The allowed extensions.
        allowed: String,
    },
    /// The label names no encoding.
    #[error("encoding {label:?} is not known: use one such as utf-8, utf-16le, windows-1252 or shift_jis")]
    UnknownEncoding {
        /// The label as given.
        label: String,
    },
    /// There is no such file.
    #[error("file {path:?}: not found")]
    NotFound {
        /// The path as given.
        path: String,
    },
    /// The file's folder is not there.
    #[error("file {path:?}: not found, because its folder does not exist")]
    NoFolder {
        /// The path as given.
        path: String,
    },
    /// There is something else than a regular file.
    #[error("file {path:?}: is {kind}, not a regular file")]
    NotRegular {
        /// The path as given.
        path: String,
        /// What it is.
        kind: &'static str,
    },
    /// Links lead to links, too many times.
    #[error("file {path:?}: too many links lead to one another")]
    TooManyLinks {
        /// The path as given.
        path: String,
    },
    /// The file is too large to be read.
    #[error("file {path:?}: has more than {limit} bytes, the most that may be read")]
    TooLarge {
        /// The path as given.
        path: String,
        /// How large a file may be.
        limit: u64,
    },
    /// The bytes are no text in the encoding.
    #[error(
        "file {path:?}: not {encoding} text: byte {offset}, in line {line}, does not fit: give its `encoding`"
    )]
    Undecodable {
        /// The path as given.
        path: String,
        /// The encoding's name.
        encoding: &'static str,
        /// Where the first byte that does not fit stands, from 0.
        offset: usize,
        /// Its line, from 1.
        line: usize,
    },
    /// A running program may take code from such a file.
    #[error(
        "file {path:?}: a running program may take code from it, so it is not written: give it another name or folder, \
         or keep programs outside of the folder of the file tools"
    )]
    Code {
        /// The path as given.
        path: String,
    },
    /// Another call wrote the file until this one's time was up.
    #[error("file {path:?}: not written, because other calls were writing it all the time: try again")]
    Busy {
        /// The path as given.
        path: String,
    },
    /// The call was given up before anything was written.
    #[error("file {path:?}: not written, because the call was given up")]
    GivenUp {
        /// The path as given.
        path: String,
    },
    /// The operating system refuses.
    #[error("file {path:?}: {kind}")]
    System {
        /// The path as given.
        path: String,
        /// The kind of refusal.
        kind: io::ErrorKind,
    },
}

impl FileError {
    /// Words an error of the operating system without its own text, which may hold paths of the host.
    pub(super) fn system(path: &str, error: &io::Error) -> Self {
        let path = path.to_owned();
        match error.kind() {
            io::ErrorKind::NotFound => Self::NotFound { path },
            io::ErrorKind::IsADirectory => Self::NotRegular { path, kind: "a folder" },
            // A refusal without a code of the operating system is the sandbox's own.
            io::ErrorKind::PermissionDenied if error.raw_os_error().is_none() => Self::Outside { path },
            kind => Self::System { path, kind },
        }
    }
}

impl From<FileError> for Failure {
    fn from(error: FileError) -> Self {
        let text = error.to_string();
        match error {
            FileError::MissingPath
            | FileError::UnusablePath { .. }
            | FileError::MissingContent { .. }
            | FileError::ContentTooLarge { .. }
            | FileError::Outside { .. }
            | FileError::Extension { .. }
            | FileError::UnknownEncoding { .. } => Self::bad_arguments(text),
            FileError::Code { .. } => Self::denied(text),
            FileError::Busy { .. } => Self::not_started(text),
            _ => Self::failed(text),
        }
    }
}
