use std::{
    io::{self, Write},
    os::unix::fs::fchown,
    path::Path,
    sync::Arc,
};

use cap_std::fs::{Dir, File, MetadataExt, OpenOptions};
use cap_std_ext::dirext::CapStdExtDirExt;
use serde::{Deserialize, Serialize};
use serde_json::json;
use toolyard_contract::{
    Access, CallContext, Execution, Failure, Invocation, Output, PermissionCheck, PermissionContext, Tool,
    ToolFuture, ToolSpec,
};

use super::{
    DEFAULT_MAX_BYTES, Extensions, FileError, FileRoot,
    path_argument::{extract_path, path_argument},
    regular::open_regular,
};

/// The tool `file_write`: writes a text into one file, or appends it.
///
/// The file is replaced as a whole, also when a text is appended: the new one is written beside it, made durable and
/// moved into place. Whoever reads it sees the old text or the new one, whenever the process or the machine stops; a
/// stop just before the move can leave a file with a random name behind. Mode and owner are kept, as far as the
/// process may set them, but not access lists, and other hard links keep the old text. What another program appends at
/// that moment can be lost.
#[derive(Debug)]
pub struct FileWriteTool {
    spec: ToolSpec,
    root: Arc<FileRoot>,
    max_bytes: u64,
    extensions: Extensions,
    create_folders: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    path: Option<String>,
    input: Option<String>,
    content: Option<String>,
    text: Option<String>,
    #[serde(default)]
    append: bool,
}

/// What a call has done.
#[derive(Serialize)]
struct Receipt<'a> {
    /// The path as given.
    path: &'a str,
    /// The bytes of this call's text.
    bytes_written: u64,
    /// The bytes of the whole file.
    total_bytes: u64,
    /// Whether there was a text before this one, which was kept.
    appended: bool,
}

impl FileWriteTool {
    /// Makes the tool over a folder, with the default limits.
    pub fn new(root: Arc<FileRoot>) -> Self {
        Self {
            spec: spec(),
            root,
            max_bytes: DEFAULT_MAX_BYTES,
            extensions: Extensions::any(),
            create_folders: true,
        }
    }

    /// Sets how long the text of one call may be, in bytes of UTF-8. Default: [`DEFAULT_MAX_BYTES`].
    #[must_use]
    pub fn max_bytes(mut self, bytes: u64) -> Self {
        self.max_bytes = bytes;
        self
    }

    /// Sets which files may be written. Default: all, since the folder is chosen for the purpose.
    #[must_use]
    pub fn extensions(mut self, extensions: Extensions) -> Self {
        self.extensions = extensions;
        self
    }

    /// Sets whether the folders of a file are made when they do not exist. Default: true, because a model cannot
    /// make them otherwise.
    #[must_use]
    pub fn create_folders(mut self, create: bool) -> Self {
        self.create_folders = create;
        self
    }

    /// Gives the path that a call's arguments (the text of a JSON object) name: `path`, or else `input`, trimmed; empty
    /// text where there is none.
    #[must_use]
    pub fn extract_path(arguments: &str) -> String {
        extract_path(arguments)
    }

    fn write(&self, arguments: &Arguments, call: &CallContext) -> Result<Output, FileError> {
        let given = arguments.given_path()?;
        let path = || given.to_owned();
        let content = arguments.content.as_ref().or(arguments.text.as_ref());
        let content = content.ok_or_else(|| FileError::MissingContent { path: path() })?;
        let bytes = content.len() as u64;
        if bytes > self.max_bytes {
            return Err(FileError::ContentTooLarge { path: path(), bytes, limit: self.max_bytes });
        }
        let place = self.root.locate(given)?;
        self.extensions.check(&place, given)?;
        let lock = self.root.lock_for_writing(&place, call.deadline);
        let _lock = lock.ok_or_else(|| FileError::Busy { path: path() })?;
        if call.is_cancelled() {
            return Err(FileError::GivenUp { path: path() });
        }
        let (folder, name) = self.root.open_folder_of(&place, self.create_folders, given)?;
        let old = open_old(&folder, name, arguments.append, given)?;
        let appended = arguments.append && old.is_some();
        let total_bytes = replace(&folder, name, old.as_ref(), appended, content)
            .map_err(|error| FileError::system(given, &error))?;
        let receipt = Receipt { path: given, bytes_written: bytes, total_bytes, appended };
        Ok(Output::json(&receipt).expect("texts, numbers and a flag are JSON"))
    }
}

/// Opens the file that is about to be replaced, which proves that it may be written.
fn open_old(folder: &Dir, name: &Path, read: bool, given: &str) -> Result<Option<File>, FileError> {
    let mut options = OpenOptions::new();
    options.read(read).write(true);
    match open_regular(folder, name, options, given) {
        Ok(file) => Ok(Some(file)),
        Err(FileError::NotFound { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Puts a new file in the place of the old one in one step, and gives its size.
fn replace(folder: &Dir, name: &Path, old: Option<&File>, append: bool, content: &str) -> io::Result<u64> {
    folder.atomic_replace_with(name, |new| {
        let mut kept = 0;
        if let Some(mut old) = old {
            keep_owner(old, new.get_ref().as_file())?;
            if append {
                kept = io::copy(&mut old, new)?;
            }
        }
        new.write_all(content.as_bytes())?;
        Ok(kept + content.len() as u64)
    })
}

fn keep_owner(old: &File, new: &File) -> io::Result<()> {
    let (old, made) = (old.metadata()?, new.metadata()?);
    if (old.uid(), old.gid()) == (made.uid(), made.gid()) {
        return Ok(());
    }
    // Only a privileged process may give a file away; for any other, who may write the folder may take it over.
    match fchown(new, Some(old.uid()), Some(old.gid())) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
        result => result,
    }
}

impl Arguments {
    fn parse(text: &str) -> Result<Self, Failure> {
        serde_json::from_str(text).map_err(|error| Failure::bad_arguments(error.to_string()))
    }

    fn given_path(&self) -> Result<&str, FileError> {
        path_argument(self.path.as_deref(), self.input.as_deref())
    }
}

fn spec() -> ToolSpec {
    // Providers refuse `anyOf` at the top of a schema, so the call itself checks that path and content are there.
    ToolSpec::new("file_write")
        .description(
            "Writes a text file: the text in `content` replaces the file, or with `append` is added at its end. \
             Missing folders are made.",
        )
        .input_schema(json!({
            "type": "object",
            "properties": {
                "path": {"type": "string", "description": "Path of the file, relative to the tools' folder."},
                "input": {"type": "string", "description": "The same as `path`, which wins."},
                "content": {"type": "string", "description": "The text; empty text makes the file empty."},
                "text": {"type": "string", "description": "The same as `content`, which wins."},
                "append": {"type": "boolean", "description": "Keep what the file has. Default: false."},
            },
            "additionalProperties": false,
        }))
        .output_schema(json!({
            "type": "object",
            "properties": {
                "path": {"type": "string"},
                "bytes_written": {"type": "integer"},
                "total_bytes": {"type": "integer"},
                "appended": {"type": "boolean"},
            },
            "required": ["path", "bytes_written", "total_bytes", "appended"],
        }))
        .effects(["filesystem"])
        .permission_action("file.write")
        .execution(Execution::Blocking)
        .plain_text_input("input")
}

impl Tool for FileWriteTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn access(&self, arguments: &str) -> Access {
        match Arguments::parse(arguments) {
            Ok(arguments) => {
                arguments.given_path().map_or(Access::nothing(), |path| Access::write(self.root.key(path)))
            }
            Err(_) => Access::nothing(),
        }
    }

    fn permission_check(&self, arguments: &str, _: &PermissionContext<'_>) -> Option<PermissionCheck> {
        let arguments = Arguments::parse(arguments).ok()?;
        let resource = self.root.resource(arguments.given_path().ok()?);
        Some(PermissionCheck { action: "file.write".to_owned(), resource })
    }

    fn call(self: Arc<Self>, invocation: Invocation) -> ToolFuture {
        ToolFuture::new(async move {
            let arguments = Arguments::parse(&invocation.arguments)?;
            let output = self.write(&arguments, &invocation.context)?;
            Ok(output.into())
        })
    }
}
