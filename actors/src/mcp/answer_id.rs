//! The id of an answer that is too large to be kept, or cannot be read.

use rmcp::model::RequestId;

/// The longest id that is looked at, in bytes; ours are short.
const LONGEST: usize = 64;

/// Finds the `id` of a JSON-RPC answer from its bytes, in one pass, wherever it stands.
#[derive(Default)]
pub(super) struct AnswerId {
    depth: u32,
    in_string: bool,
    escaped: bool,
    /// The key or value under way on the first level.
    token: Vec<u8>,
    is_id: bool,
    /// It has a key that only messages have: a line of a log may have an id, too.
    is_message: bool,
    is_request: bool,
    id: Option<RequestId>,
}

impl AnswerId {
    pub(super) fn feed(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.step(*byte));
    }

    pub(super) fn found(&self) -> Option<RequestId> {
        self.id.clone().filter(|_| self.is_message && !self.is_request)
    }

    fn step(&mut self, byte: u8) {
        if self.in_string {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' => self.escaped = true,
                b'"' => self.in_string = false,
                _ => {}
            }
            return self.keep(byte);
        }
        match byte {
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => {
                self.settle();
                self.depth = self.depth.saturating_sub(1);
            }
            b',' => self.settle(),
            b':' if self.depth == 1 => {
                self.is_id = self.token == b"\"id\"";
                self.is_message |=
                    [b"\"jsonrpc\"".as_slice(), b"\"result\"", b"\"error\""].contains(&&*self.token);
                self.is_request |= self.token == b"\"method\"";
                self.token.clear();
            }
            b' ' | b'\t' | b'\r' | b'\n' => {}
            _ => {
                self.in_string = byte == b'"';
                self.keep(byte);
            }
        }
    }

    fn keep(&mut self, byte: u8) {
        if self.depth == 1 && self.token.len() < LONGEST {
            self.token.push(byte);
        }
    }

    /// Takes the value that ends here.
    fn settle(&mut self) {
        if self.depth != 1 {
            return;
        }
        if self.is_id && self.id.is_none() {
            self.id = serde_json::from_slice(&self.token).ok();
        }
        self.is_id = false;
        self.token.clear();
    }
}
