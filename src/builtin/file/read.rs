use std::{io::Read, sync::Arc};

use cap_std::fs::OpenOptions;
use serde::Deserialize;
use serde_json::json;
use toolyard_contract::{
    Access, Execution, Failure, Invocation, PermissionCheck, PermissionContext, Tool, ToolFuture, ToolSpec,
};

use super::{
    DEFAULT_MAX_BYTES, Extensions, FileError, FileRoot, encoding,
    path_argument::{extract_path, path_argument},
    regular::open_regular,
};

/// The tool `file_read`: gives the text of one file.
#[derive(Debug)]
pub struct FileReadTool {
    spec: ToolSpec,
    root: Arc<FileRoot>,
    max_bytes: u64,
    extensions: Extensions,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    path: Option<String>,
    input: Option<String>,
    encoding: Option<String>,
}

impl FileReadTool {
    /// Makes the tool over a folder, with the default limits.
    pub fn new(root: Arc<FileRoot>) -> Self {
        Self { spec: spec(), root, max_bytes: DEFAULT_MAX_BYTES, extensions: Extensions::any() }
    }

    /// Sets how large a file may be, in bytes. Default: [`DEFAULT_MAX_BYTES`].
    #[must_use]
    pub fn max_bytes(mut self, bytes: u64) -> Self {
        self.max_bytes = bytes;
        self
    }

    /// Sets which files may be read. Default: all, since the folder is chosen for the purpose.
    #[must_use]
    pub fn extensions(mut self, extensions: Extensions) -> Self {
        self.extensions = extensions;
        self
    }

    /// Gives the path that a call's arguments (the text of a JSON object) name: `path`, or else `input`, trimmed; empty
    /// text where there is none.
    #[must_use]
    pub fn extract_path(arguments: &str) -> String {
        extract_path(arguments)
    }

    fn read(&self, arguments: &Arguments) -> Result<String, FileError> {
        let given = arguments.given_path()?;
        let encoding = encoding::named(arguments.encoding.as_deref().unwrap_or("utf-8"))?;
        let place = self.root.locate(given)?;
        self.extensions.check(&place, given)?;
        let mut options = OpenOptions::new();
        options.read(true);
        let (folder, name) = self.root.open_folder_of(&place, false, given)?;
        let file = open_regular(&folder, name, options, given)?;
        let system = |error| FileError::system(given, &error);
        let too_large = || FileError::TooLarge { path: given.to_owned(), limit: self.max_bytes };
        if file.metadata().map_err(system)?.len() > self.max_bytes {
            return Err(too_large());
        }
        // The file can grow while it is read.
        let mut bytes = Vec::new();
        file.take(self.max_bytes.saturating_add(1)).read_to_end(&mut bytes).map_err(system)?;
        if bytes.len() as u64 > self.max_bytes {
            return Err(too_large());
        }
        encoding::decode(bytes, encoding, given)
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
    // Providers refuse `anyOf` at the top of a schema, so the call itself checks that there is a path.
    ToolSpec::new("file_read")
        .description("Reads a text file and gives its text. Name the file in `path`.")
        .input_schema(json!({
            "type": "object",
            "properties": {
                "path": {"type": "string", "description": "Path of the file, relative to the tools' folder."},
                "input": {"type": "string", "description": "The same as `path`, which wins."},
                "encoding": {"type": "string", "description": "Encoding of the file. Default: utf-8."},
            },
            "additionalProperties": false,
        }))
        .output_schema(json!({"type": "string"}))
        .effects(["filesystem"])
        .permission_action("file.read")
        .execution(Execution::Blocking)
        .plain_text_input("input")
        .parallel_safe(true)
        .idempotent(true)
}

impl Tool for FileReadTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn access(&self, arguments: &str) -> Access {
        match Arguments::parse(arguments) {
            Ok(arguments) => {
                arguments.given_path().map_or(Access::nothing(), |path| Access::read(self.root.key(path)))
            }
            Err(_) => Access::nothing(),
        }
    }

    fn permission_check(&self, arguments: &str, _: &PermissionContext<'_>) -> Option<PermissionCheck> {
        let arguments = Arguments::parse(arguments).ok()?;
        let resource = self.root.resource(arguments.given_path().ok()?);
        Some(PermissionCheck { action: "file.read".to_owned(), resource })
    }

    fn call(self: Arc<Self>, invocation: Invocation) -> ToolFuture {
        ToolFuture::new(async move {
            let arguments = Arguments::parse(&invocation.arguments)?;
            Ok(self.read(&arguments)?.into())
        })
    }
}
