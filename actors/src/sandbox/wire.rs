//! Frames to and from the agent: two lengths of 4 bytes, a header of JSON, a body of bytes.

use serde::{Deserialize, Serialize, de::DeserializeOwned};

/// The longest frame. What comes from inside a container is not trusted, so a longer one ends the link.
const LARGEST: usize = 65 << 20;

/// An order to the agent.
#[derive(Debug, Serialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub(super) enum Order<'a> {
    Hello {
        life_ms: u64,
    },
    Run {
        id: u64,
        kind: &'a str,
        session: Option<&'a str>,
        timeout_ms: u64,
        max_output: usize,
        artifacts: bool,
        code_len: usize,
    },
    Cancel {
        id: u64,
    },
    CloseSession {
        id: u64,
        session: &'a str,
    },
    Put {
        id: u64,
        path: &'a str,
        append: bool,
        executable: bool,
    },
    Get {
        id: u64,
        path: &'a str,
        offset: u64,
        length: u64,
    },
    List {
        id: u64,
        path: &'a str,
    },
    Reset {
        id: u64,
    },
    Ping {
        id: u64,
    },
}

/// What the agent says.
#[derive(Debug, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub(super) enum Said {
    /// It is up.
    Ready,
    /// A run has printed something.
    Out { id: u64, stream: u8 },
    /// An order has been carried out.
    Done(Box<Done>),
}

/// The end of what an order began. Each kind of order fills in its own part.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
#[allow(clippy::struct_excessive_bools)] // as the agent says them
pub(super) struct Done {
    pub(super) id: u64,
    pub(super) error: Option<String>,
    pub(super) code: Option<i32>,
    pub(super) signal: Option<i32>,
    pub(super) value: Option<String>,
    pub(super) timed_out: bool,
    pub(super) cancelled: bool,
    pub(super) oom: bool,
    pub(super) truncated: bool,
    pub(super) session_lost: bool,
    pub(super) elapsed_us: u64,
    pub(super) artifacts: Vec<(String, u64)>,
    pub(super) artifacts_complete: Option<bool>,
    pub(super) size: u64,
    pub(super) entries: Vec<(String, u64, u32)>,
    pub(super) complete: bool,
}

/// Writes a frame.
pub(super) fn frame(header: &impl Serialize, body: &[&[u8]]) -> Vec<u8> {
    // A header of ours has no maps with odd keys, the one thing that cannot be written.
    let head = serde_json::to_vec(header).unwrap_or_default();
    let length: usize = body.iter().map(|part| part.len()).sum();
    let mut frame = Vec::with_capacity(8 + head.len() + length);
    for length in [head.len(), length] {
        frame.extend_from_slice(&u32::try_from(length).unwrap_or(u32::MAX).to_be_bytes());
    }
    frame.extend_from_slice(&head);
    body.iter().for_each(|part| frame.extend_from_slice(part));
    frame
}

/// Puts frames together from the pieces that a stream comes in.
#[derive(Default)]
pub(super) struct Frames {
    buffer: Vec<u8>,
    read: usize,
}

impl Frames {
    pub(super) fn add(&mut self, bytes: &[u8]) {
        self.buffer.drain(..std::mem::take(&mut self.read));
        self.buffer.extend_from_slice(bytes);
    }

    /// Takes the next whole frame; `None` when it has not come yet.
    pub(super) fn take<H: DeserializeOwned>(&mut self) -> Result<Option<(H, Vec<u8>)>, String> {
        let rest = &self.buffer[self.read..];
        let (Some(head), Some(body)) = (length(rest, 0), length(rest, 4)) else { return Ok(None) };
        if head.saturating_add(body) > LARGEST {
            return Err(format!("a frame of {} bytes", head.saturating_add(body)));
        }
        let Some(frame) = rest.get(8..8 + head + body) else { return Ok(None) };
        let said = serde_json::from_slice(&frame[..head]).map_err(|error| error.to_string())?;
        let body = frame[head..].to_vec();
        self.read += 8 + frame.len();
        Ok(Some((said, body)))
    }
}

fn length(bytes: &[u8], at: usize) -> Option<usize> {
    let four: [u8; 4] = bytes.get(at..at + 4)?.try_into().ok()?;
    Some(u32::from_be_bytes(four) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_come_out_whole_whatever_pieces_they_come_in() {
        let mut bytes = frame(&serde_json::json!({"op": "out", "id": 7, "stream": 1}), &[b"a", b"bc"]);
        bytes.extend(frame(&serde_json::json!({"op": "done", "id": 7, "code": 3, "new": [1]}), &[]));
        for piece in 1..bytes.len() {
            let mut frames = Frames::default();
            let mut heard = Vec::new();
            for part in bytes.chunks(piece) {
                frames.add(part);
                while let Some(frame) = frames.take::<Said>().unwrap() {
                    heard.push(frame);
                }
            }
            let [(Said::Out { id: 7, stream: 1 }, body), (Said::Done(done), _)] = &heard[..] else {
                panic!("{heard:?}")
            };
            assert_eq!((body.as_slice(), done.code), (b"abc".as_slice(), Some(3)));
        }
    }

    #[test]
    fn what_is_no_frame_is_an_error_and_a_long_one_is_not_waited_for() {
        let mut frames = Frames::default();
        frames.add(&[0, 0, 0, 2, 0, 0, 0, 0, b'{', b'x']);
        assert!(frames.take::<Said>().is_err());
        let mut frames = Frames::default();
        frames.add(&[255, 255, 255, 255, 0, 0, 0, 0]);
        assert!(frames.take::<Said>().unwrap_err().contains("a frame of 4294967295 bytes"));
    }
}
