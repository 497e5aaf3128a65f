//! The log of a simulation: what happened in all worlds, in the order of time, then of the worlds' numbers.

use std::{
    cmp::Reverse,
    collections::BinaryHeap,
    fs::File,
    io::{self, BufRead, BufReader, BufWriter, Seek, Write},
    path::Path,
};

use parking_lot::Mutex;

use super::Difference;

/// What happens on one arbiter, on its way to a file of its own.
pub(super) struct LogStream(Mutex<Inside>);

struct Inside {
    out: BufWriter<File>,
    /// The moment of what waits.
    at: u64,
    /// Lines of one moment, to be put in the order of their worlds.
    waiting: Vec<(u32, String)>,
    failed: Option<io::Error>,
}

impl LogStream {
    pub(super) fn new() -> io::Result<Self> {
        let out = BufWriter::new(tempfile::tempfile()?);
        Ok(Self(Mutex::new(Inside { out, at: 0, waiting: Vec::new(), failed: None })))
    }

    /// Takes a line; `false` when no more can be written.
    pub(super) fn write(&self, at: u64, group: u32, line: String) -> bool {
        let mut inside = self.0.lock();
        if at > inside.at {
            inside.flush();
            inside.at = at;
        }
        inside.waiting.push((group, line));
        inside.failed.is_none()
    }

    /// Ends the stream and gives what was written, from its beginning.
    fn read_back(&self) -> io::Result<BufReader<File>> {
        let mut inside = self.0.lock();
        inside.flush();
        if let Some(error) = inside.failed.take() {
            return Err(error);
        }
        inside.out.flush()?;
        let mut file = inside.out.get_ref().try_clone()?;
        file.rewind()?;
        Ok(BufReader::new(file))
    }
}

impl Inside {
    fn flush(&mut self) {
        let Self { out, at, waiting, failed } = self;
        waiting.sort_by_key(|(group, _)| *group);
        for (group, line) in waiting.drain(..) {
            if let Err(error) = writeln!(out, "{at}\t{group}\t{line}") {
                failed.get_or_insert(error);
            }
        }
    }
}

/// The lines of all arbiters, merged.
pub(super) struct Merged {
    streams: Vec<BufReader<File>>,
    next: BinaryHeap<Reverse<(u64, u32, usize, String)>>,
}

impl Merged {
    pub(super) fn of<'a>(streams: impl IntoIterator<Item = &'a LogStream>) -> io::Result<Self> {
        let streams: io::Result<Vec<_>> = streams.into_iter().map(LogStream::read_back).collect();
        let mut merged = Self { streams: streams?, next: BinaryHeap::new() };
        for stream in 0..merged.streams.len() {
            merged.read(stream)?;
        }
        Ok(merged)
    }

    fn read(&mut self, stream: usize) -> io::Result<()> {
        let mut line = String::new();
        if self.streams[stream].read_line(&mut line)? == 0 {
            return Ok(());
        }
        let mut parts = line.trim_end_matches('\n').splitn(3, '\t');
        let (at, group, text) = (parts.next(), parts.next(), parts.next());
        if let (Some(Ok(at)), Some(Ok(group)), Some(text)) = (at.map(str::parse), group.map(str::parse), text)
        {
            self.next.push(Reverse((at, group, stream, text.to_owned())));
        }
        Ok(())
    }

    fn next_line(&mut self) -> io::Result<Option<String>> {
        let Some(Reverse((_, _, stream, line))) = self.next.pop() else { return Ok(None) };
        self.read(stream)?;
        Ok(Some(line))
    }

    /// Writes the log to a file.
    pub(super) fn write(mut self, file: &Path) -> io::Result<()> {
        let mut out = BufWriter::new(File::create(file)?);
        while let Some(line) = self.next_line()? {
            writeln!(out, "{line}")?;
        }
        out.flush()
    }

    /// Compares the log with one that was written before; gives the first difference.
    pub(super) fn compare(mut self, before: &Path) -> io::Result<Option<Difference>> {
        let mut before = BufReader::new(File::open(before)?).lines();
        for line in 1.. {
            let (then, now) = (before.next().transpose()?, self.next_line()?);
            match (then, now) {
                (None, None) => break,
                (then, now) if then == now => {}
                (then, now) => return Ok(Some(Difference { line, then, now })),
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merged(streams: &[LogStream]) -> String {
        let file = tempfile::NamedTempFile::new().unwrap();
        Merged::of(streams).unwrap().write(file.path()).unwrap();
        std::fs::read_to_string(file.path()).unwrap()
    }

    #[test]
    fn lines_are_ordered_by_time_then_world_then_as_they_came() {
        let streams = [LogStream::new().unwrap(), LogStream::new().unwrap()];
        for (stream, at, group, line) in
            [(0, 1, 2, "c"), (0, 1, 0, "a"), (0, 1, 2, "d"), (1, 1, 1, "b"), (1, 9, 1, "f"), (0, 5, 0, "e\t")]
        {
            assert!(streams[stream].write(at, group, line.to_owned()));
        }
        assert_eq!(merged(&streams), "a\nb\nc\nd\ne\t\nf\n");
    }

    #[test]
    fn the_first_difference_is_named_with_both_lines() {
        let compare = |before: &str| {
            let stream = LogStream::new().unwrap();
            ["a", "b"].into_iter().for_each(|line| assert!(stream.write(0, 0, line.to_owned())));
            let mut file = tempfile::NamedTempFile::new().unwrap();
            file.write_all(before.as_bytes()).unwrap();
            Merged::of([&stream]).unwrap().compare(file.path()).unwrap()
        };
        assert_eq!(compare("a\nb\n"), None);
        let difference = |line, then: Option<&str>, now: Option<&str>| {
            Some(Difference { line, then: then.map(str::to_owned), now: now.map(str::to_owned) })
        };
        assert_eq!(compare("a\nx\n"), difference(2, Some("x"), Some("b")));
        assert_eq!(compare("a\n"), difference(2, None, Some("b")));
        assert_eq!(compare("a\nb\nc\n"), difference(3, Some("c"), None));
    }
}
