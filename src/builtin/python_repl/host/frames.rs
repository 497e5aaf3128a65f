//! The bytes between the engine and a session's process. What comes from there is written by the session's code if it
//! wants to, so it is believed in nothing.

use std::io;

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};
use tokio::io::{AsyncRead, AsyncReadExt};

use crate::builtin::python_repl::{Snapshot, answer::CellAnswer};

/// The longest frame from a session beside what was asked for, in bytes: a traceback, names and reasons fit.
const EXTRA_BYTES: usize = 1 << 20;

/// The first frame to a session.
#[derive(Serialize)]
pub(super) struct Setup<'a> {
    /// Whether the process must see to its own end when the engine is killed.
    pub(super) watch: bool,
    pub(super) allowed_modules: Option<&'a [String]>,
    pub(super) globals: &'a Map<String, Value>,
}

/// What a session is told to do; `id` comes back in the answer.
#[derive(Serialize)]
pub(super) struct Command<'a> {
    pub(super) id: u64,
    #[serde(flatten)]
    pub(super) order: Order<'a>,
}

#[derive(Serialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub(super) enum Order<'a> {
    Run { code: &'a str, most_output: usize },
    Save { most_bytes: usize },
    Load { snapshot: &'a Snapshot },
}

/// What came of a run.
#[derive(Deserialize)]
pub(super) struct RunAnswer {
    #[serde(flatten)]
    pub(super) cell: CellAnswer,
    pub(super) stdout_bytes: u64,
    pub(super) stderr_bytes: u64,
}

/// One frame from a session.
pub(super) enum Frame {
    Stdout(Vec<u8>),
    Stderr(Vec<u8>),
    Answer(Vec<u8>),
}

/// Makes a frame of what can be written as JSON.
pub(super) fn frame(content: &impl Serialize) -> Vec<u8> {
    let json = serde_json::to_vec(content).unwrap_or_default();
    let length = u32::try_from(json.len()).unwrap_or(u32::MAX);
    let mut bytes = Vec::with_capacity(4 + json.len());
    bytes.extend_from_slice(&length.to_be_bytes());
    bytes.extend_from_slice(&json);
    bytes
}

/// Reads the content of an answer; `None` when it answers another command than the one with this id.
pub(super) fn answer<T: DeserializeOwned>(content: &[u8], id: u64) -> io::Result<Option<T>> {
    #[derive(Deserialize)]
    struct Answering {
        id: u64,
    }
    let answering: Answering = serde_json::from_slice(content)?;
    if answering.id != id {
        return Ok(None);
    }
    Ok(Some(serde_json::from_slice(content)?))
}

/// Reads one frame whose content is not much longer than `expected`.
///
/// # Cancellation
/// What was read of a frame is lost, so the stream cannot be used any more.
pub(super) async fn read(stream: &mut (impl AsyncRead + Unpin), expected: usize) -> io::Result<Frame> {
    let mut head = [0; 5];
    stream.read_exact(&mut head).await?;
    let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
    // Text in JSON can be six times as long.
    if length > expected.saturating_mul(6).saturating_add(EXTRA_BYTES) {
        return Err(io::ErrorKind::InvalidData.into());
    }
    // Grows as bytes come, so that a length alone takes no memory.
    let mut content = Vec::with_capacity(length.min(64 * 1024));
    stream.take(length as u64).read_to_end(&mut content).await?;
    if content.len() < length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    match head[0] {
        b'o' => Ok(Frame::Stdout(content)),
        b'e' => Ok(Frame::Stderr(content)),
        b'r' => Ok(Frame::Answer(content)),
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
}
