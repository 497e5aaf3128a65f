//! How large events are, before they are read.

/// How large the event under way is.
#[derive(Default)]
pub(super) struct EventSize {
    bytes: usize,
    is_in_line: bool,
    after_return: bool,
}

impl EventSize {
    /// Counts a piece and tells how large the largest event in it was so far.
    pub(super) fn after(&mut self, piece: &[u8]) -> usize {
        let mut most = 0;
        for byte in piece {
            let after_return = std::mem::replace(&mut self.after_return, *byte == b'\r');
            match byte {
                b'\n' if after_return => {}
                b'\r' | b'\n' => {
                    if !std::mem::take(&mut self.is_in_line) {
                        self.bytes = 0;
                    }
                }
                _ => {
                    self.is_in_line = true;
                    self.bytes += 1;
                    most = most.max(self.bytes);
                }
            }
        }
        most
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_size_of_an_event_counts_all_its_lines_and_no_other_event() {
        for end in ["\n", "\r\n", "\r"] {
            let stream = format!("data: 1{end}data: 2{end}{end}data: 3{end}{end}").repeat(3);
            for size in 1..stream.len() {
                let mut counted = EventSize::default();
                let most = stream.as_bytes().chunks(size).map(|piece| counted.after(piece)).max();
                assert_eq!(most, Some(14), "{end:?}, in pieces of {size}");
            }
        }
    }
}
