//! The frames between engine and worker: four bytes of length, then JSON.

use std::{io, path::PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::io::{AsyncRead, AsyncReadExt};
use toolyard_contract::ExactValue;

use crate::code::CodePlace;

/// Room in a frame beside the result itself: state, printed text, traceback.
const FRAME_EXTRA_BYTES: usize = 16 * 1024 * 1024;

/// A frame from a worker.
#[derive(Debug, Deserialize)]
pub(super) struct FromWorker {
    pub(super) op: Op,
    #[serde(default)]
    pub(super) id: u64,
    /// Of `ended`: the result; absent when there is none.
    pub(super) value: Option<Box<RawValue>>,
    /// Of `ended`: the function's inner state after it.
    pub(super) state: Option<Box<RawValue>>,
    /// Of `ended`: the arguments do not fit, nothing ran.
    pub(super) refused: Option<String>,
    /// Of `ended` and `refused`: what went wrong.
    pub(super) error: Option<String>,
    pub(super) traceback: Option<String>,
    pub(super) printed: Option<String>,
    #[serde(default)]
    pub(super) notes: Vec<String>,
    /// Of `progress`.
    #[serde(default)]
    pub(super) payload: Value,
    /// Of `loaded`.
    #[serde(default)]
    pub(super) tools: Vec<Described>,
    /// Of `loaded`: what was left out, and why.
    #[serde(default)]
    pub(super) problems: Vec<String>,
    /// Of `loaded`: folders that the worker imports modules from.
    #[serde(default)]
    pub(super) module_folders: Vec<PathBuf>,
    /// Of `loaded`: folders of installed libraries.
    #[serde(default)]
    pub(super) library_folders: Vec<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Op {
    Loaded,
    /// The file could not be loaded.
    Refused,
    Progress,
    Ended,
}

impl FromWorker {
    /// What the worker takes code from.
    pub(super) fn code(&self) -> Vec<CodePlace> {
        let modules = self.module_folders.iter().cloned().map(CodePlace::Python);
        modules.chain(self.library_folders.iter().cloned().map(CodePlace::Library)).collect()
    }
}

/// What a worker says about one function.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Described {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) schema: ExactValue,
    pub(super) is_async: bool,
    pub(super) parallel_safe: bool,
    pub(super) takes: Vec<String>,
    pub(super) state_per_agent: bool,
    /// What its state is at the first time, as the text of JSON.
    pub(super) initial_state: Option<String>,
    /// The parameters that a model neither sees nor sets.
    pub(super) excluded: Vec<String>,
    /// `None`: the function says nothing about them.
    pub(super) effects: Option<Vec<String>>,
    pub(super) permission_action: Option<String>,
}

/// The first frame: the worker's own program.
#[derive(Serialize)]
pub(super) struct Boot<'a> {
    pub(super) modules: &'a [(&'a str, &'a str)],
    /// Whether the worker must see to its own end when the engine is killed.
    pub(super) watch: bool,
    /// Where the worker works once it runs; it starts elsewhere.
    pub(super) folder: Option<PathBuf>,
}

/// The second frame: what to load.
#[derive(Serialize)]
pub(super) struct Load<'a> {
    pub(super) op: &'static str,
    pub(super) file: &'a str,
    pub(super) patterns: &'a [String],
    pub(super) parallel_safe: &'a [String],
    pub(super) options: FunctionOptions<'a>,
    pub(super) threads: usize,
    pub(super) nan: &'static str,
    pub(super) largest_reply: usize,
}

/// What of a function becomes part of its tool.
#[derive(Serialize)]
pub(super) struct FunctionOptions<'a> {
    pub(super) exclude: &'a [String],
    pub(super) long_description: bool,
    pub(super) varargs: bool,
    pub(super) varkwargs: bool,
}

/// Makes a frame of JSON text.
pub(super) fn frame(json: &[u8]) -> Vec<u8> {
    let length = u32::try_from(json.len()).unwrap_or(u32::MAX);
    let mut bytes = Vec::with_capacity(4 + json.len());
    bytes.extend_from_slice(&length.to_be_bytes());
    bytes.extend_from_slice(json);
    bytes
}

/// Makes the frame of a call. The arguments are the text of a JSON object, which is passed on as it is.
pub(super) fn call_frame(id: u64, tool_json: &str, arguments: &str, state: Option<&RawValue>) -> Vec<u8> {
    let mut json = format!(r#"{{"op":"call","id":{id},"tool":{tool_json},"args":{arguments}"#);
    if let Some(state) = state {
        json.push_str(r#","state":"#);
        json.push_str(state.get());
    }
    json.push('}');
    frame(json.as_bytes())
}

/// Makes the frame that tells an async call to stop.
pub(super) fn cancel_frame(id: u64) -> Vec<u8> {
    frame(format!(r#"{{"op":"cancel","id":{id}}}"#).as_bytes())
}

/// Reads one frame; `None` at the end of the stream.
///
/// # Errors
/// When the stream breaks, or what came is no frame.
pub(super) async fn read_frame(
    stream: &mut (impl AsyncRead + Unpin),
    largest_result: usize,
) -> io::Result<Option<FromWorker>> {
    let mut length = [0; 4];
    match stream.read_exact(&mut length).await {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        other => other?,
    };
    let length = u32::from_be_bytes(length) as usize;
    if length > largest_result.saturating_mul(4).saturating_add(FRAME_EXTRA_BYTES) {
        return Err(io::Error::other(format!("a frame of {length} bytes is too long")));
    }
    // Grows as bytes come, so that a length alone takes no memory.
    let mut body = Vec::with_capacity(length.min(64 * 1024));
    stream.take(length as u64).read_to_end(&mut body).await?;
    if body.len() < length {
        return Ok(None);
    }
    serde_json::from_slice(&body).map(Some).map_err(io::Error::other)
}
