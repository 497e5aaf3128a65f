//! Reading and writing text files below one folder, which no call leaves.
//!
//! A path is first resolved without opening anything ([`FileRoot`]), so that a permission policy, the planner and the
//! tool speak of the same file, whatever links lead to it. The file is then opened relative to a handle of the
//! folder by operations that refuse to leave it and follow no link, and only when it is the file that was judged: a link
//! swapped in between, also while a call waits for approval, has the call denied.

mod encoding;
mod error;
mod extensions;
mod path_argument;
mod read;
mod regular;
mod root;
mod write;

pub use error::FileError;
pub use extensions::Extensions;
pub use read::FileReadTool;
pub use root::FileRoot;
pub use write::FileWriteTool;

/// The largest file that is read, and the longest text that is written, unless a tool is set otherwise: about what
/// fits into a large context window.
pub const DEFAULT_MAX_BYTES: u64 = 1_000_000;
