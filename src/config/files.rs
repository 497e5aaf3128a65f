//! `[file_read]` and `[file_write]`: what the file tools may do inside their folder.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::builtin::file::{Extensions, FileReadTool, FileRoot, FileWriteTool};

/// The `[file_read]` part.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct FileReadSection {
    /// How large a file may be, in bytes. Default 1,000,000.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_bytes: Option<u64>,
    /// The extensions of the files that may be read, without dot, in any case. Default: any file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extensions: Option<Vec<String>>,
}

/// The `[file_write]` part.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct FileWriteSection {
    /// How long the text of one call may be, in bytes. Default 1,000,000.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_bytes: Option<u64>,
    /// The extensions of the files that may be written, without dot, in any case. Default: any file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extensions: Option<Vec<String>>,
    /// Whether folders that a path names are made. Default true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub create_folders: Option<bool>,
}

impl FileReadSection {
    pub(super) fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Makes the tool.
    pub(super) fn tool(&self, root: Arc<FileRoot>) -> FileReadTool {
        let tool = FileReadTool::new(root).extensions(only(self.extensions.as_deref()));
        self.max_bytes.into_iter().fold(tool, FileReadTool::max_bytes)
    }
}

impl FileWriteSection {
    pub(super) fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Makes the tool.
    pub(super) fn tool(&self, root: Arc<FileRoot>) -> FileWriteTool {
        let tool = FileWriteTool::new(root).extensions(only(self.extensions.as_deref()));
        let tool = self.create_folders.into_iter().fold(tool, FileWriteTool::create_folders);
        self.max_bytes.into_iter().fold(tool, FileWriteTool::max_bytes)
    }
}

fn only(extensions: Option<&[String]>) -> Extensions {
    extensions.map_or_else(Extensions::any, Extensions::only)
}
