use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    sync::Arc,
};

use futures::FutureExt;
use serde_json::Value;
use tempfile::TempDir;
use toolyard::{
    Failure, Invocation, Output, Tool,
    builtin::file::{FileReadTool, FileRoot, FileWriteTool},
};

/// A folder for the file tools, `inside`, and beside it one that they must not touch, `outside`.
pub(super) struct Playground {
    base: TempDir,
    pub(super) root: Arc<FileRoot>,
    reader: Arc<FileReadTool>,
    writer: Arc<FileWriteTool>,
}

const SECRET: &str = "the secret outside";

impl Playground {
    pub(super) fn new() -> Self {
        let base = tempfile::tempdir().expect("a temporary folder");
        for folder in ["inside", "outside"] {
            fs::create_dir(base.path().join(folder)).expect("an empty folder");
        }
        fs::write(base.path().join("outside/secret.txt"), SECRET).expect("a new file");
        let root = FileRoot::open(base.path().join("inside")).expect("the folder was just made");
        let reader = Arc::new(FileReadTool::new(root.clone()));
        let writer = Arc::new(FileWriteTool::new(root.clone()));
        Self { base, root, reader, writer }
    }

    pub(super) fn inside(&self, path: &str) -> PathBuf {
        self.base.path().join("inside").join(path)
    }

    pub(super) fn outside(&self, path: &str) -> PathBuf {
        self.base.path().join("outside").join(path)
    }

    /// Makes a file inside, with its folders.
    pub(super) fn file(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.inside(path);
        fs::create_dir_all(path.parent().expect("a file has a folder")).expect("folders can be made");
        fs::write(path, content).expect("a file can be made");
    }

    /// Makes a link inside.
    pub(super) fn link(&self, path: &str, target: impl AsRef<Path>) {
        symlink(target, self.inside(path)).expect("a link can be made");
    }

    pub(super) fn text(&self, path: &str) -> String {
        fs::read_to_string(self.inside(path)).expect("a text file inside")
    }

    pub(super) fn read(&self, arguments: &Value) -> Result<String, Failure> {
        read(&self.reader, arguments)
    }

    pub(super) fn write(&self, arguments: &Value) -> Result<Value, Failure> {
        write(&self.writer, arguments)
    }

    /// Everything outside is as it was made.
    pub(super) fn outside_is_untouched(&self) -> bool {
        let names: Vec<_> = fs::read_dir(self.outside(""))
            .expect("the folder is there")
            .map(|entry| entry.expect("an entry").file_name())
            .collect();
        names == ["secret.txt"]
            && fs::read_to_string(self.outside("secret.txt")).is_ok_and(|text| text == SECRET)
    }
}

pub(super) fn read(tool: &Arc<FileReadTool>, arguments: &Value) -> Result<String, Failure> {
    Ok(call(tool, Invocation::detached(arguments.to_string()))?.to_text().to_owned())
}

pub(super) fn write(tool: &Arc<FileWriteTool>, arguments: &Value) -> Result<Value, Failure> {
    Ok(call(tool, Invocation::detached(arguments.to_string()))?.to_value())
}

/// Runs one call, as a thread of the blocking pool would.
pub(super) fn call<T: Tool>(tool: &Arc<T>, invocation: Invocation) -> Result<Output, Failure> {
    let reply = tool.clone().call(invocation).now_or_never().expect("a blocking tool does not wait")?;
    Ok(reply.output.expect("the file tools always give an output"))
}
