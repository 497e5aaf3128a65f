//! Records as lines of JSON.

use std::io::{self, BufWriter, IntoInnerError, Write};

use super::{EventRecord, RecordSink};

/// Writes each record as one line of JSON. Lines are whole whenever nothing more is there to write, so
/// that others can read along.
#[derive(Debug)]
pub struct EventLines<W: Write>(BufWriter<W>);

impl<W: Write> EventLines<W> {
    /// Writes to `out`, with a buffer of its own.
    pub fn new(out: W) -> Self {
        Self(BufWriter::with_capacity(64 * 1024, out))
    }

    /// Gives back what was written to.
    ///
    /// # Errors
    /// When the last lines cannot be written.
    pub fn into_inner(self) -> Result<W, IntoInnerError<BufWriter<W>>> {
        self.0.into_inner()
    }
}

impl<W: Write + Send + 'static> RecordSink for EventLines<W> {
    fn take(&mut self, record: EventRecord) -> io::Result<()> {
        serde_json::to_writer(&mut self.0, &record)?;
        self.0.write_all(b"\n")
    }

    fn pause(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}
