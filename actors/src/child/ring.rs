//! The last bytes that a child wrote, however much it writes.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncReadExt};

/// Keeps the last bytes of a stream for error texts. Clones share one ring.
#[derive(Debug, Clone)]
pub struct OutputRing {
    capacity: usize,
    bytes: Arc<Mutex<VecDeque<u8>>>,
}

impl OutputRing {
    /// Makes an empty ring that holds at most `capacity` bytes.
    pub fn new(capacity: usize) -> Self {
        Self { capacity, bytes: Arc::default() }
    }

    /// Reads a stream to its end, so that its writer never blocks, and keeps the last of it.
    pub async fn fill_from(self, mut stream: impl AsyncRead + Unpin) {
        let mut chunk = vec![0; 4096];
        while let Ok(read) = stream.read(&mut chunk).await {
            if read == 0 {
                return;
            }
            self.push(&chunk[..read]);
        }
    }

    /// Keeps the last of these bytes.
    pub(crate) fn push(&self, new: &[u8]) {
        let new = &new[new.len().saturating_sub(self.capacity)..];
        let mut bytes = self.bytes.lock();
        let surplus = (bytes.len() + new.len()).saturating_sub(self.capacity);
        bytes.drain(..surplus);
        bytes.extend(new);
    }

    /// The kept bytes as text; a first line that lost its beginning is left out.
    pub fn text(&self) -> String {
        let bytes = self.bytes.lock();
        let full = bytes.len() == self.capacity;
        let kept: Vec<u8> = bytes.iter().copied().collect();
        let whole_lines = match kept.iter().position(|byte| *byte == b'\n') {
            Some(end) if full => &kept[end + 1..],
            _ => &kept[..],
        };
        String::from_utf8_lossy(whole_lines).trim_end().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ring_keeps_the_last_whole_lines() {
        let ring = OutputRing::new(16);
        ring.push(b"first line\n");
        assert_eq!(ring.text(), "first line");
        ring.push(b"second\nthird\n");
        assert_eq!(ring.text(), "second\nthird");
    }

    #[test]
    fn a_write_larger_than_the_ring_leaves_its_end() {
        let ring = OutputRing::new(4);
        ring.push(b"abcdefgh");
        assert_eq!(ring.text(), "efgh");
    }
}
