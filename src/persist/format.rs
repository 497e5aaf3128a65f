//! The text of a state file: one JSON value a line, so that it is written and read as a stream.
//!
//! ```text
//! {"format":"toolyard-state","version":1,"tools":["counter"],"types":{"counter":"python"},"state":{"id":"9f0c…","saves":3}}
//! {"tool":"counter","agent":null,"state":{"state":{"n":3},"meta_state":null}}
//! {"rows":1}
//! ```
//!
//! The first line names the tools whose rows these are, also those that have none, the types of
//! their states, where the tools say them, and which state it is, so that it can be told from other files. The last line says how many rows there are:
//! a file without it was cut off.

use std::{
    collections::{BTreeMap, HashSet},
    io::{self, BufRead, Write},
    sync::Arc,
};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use toolyard_contract::{RowValue, SavedState, name};

use super::StateFileError;

/// The version that is written, and the newest that is read.
pub(super) const VERSION: u32 = 1;
const FORMAT: &str = "toolyard-state";

/// The state of one tool for one agent, or for the whole engine.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StateRow {
    /// The tool's name.
    pub tool: String,
    /// The agent; `None`: the row of the whole engine.
    pub agent: Option<Arc<str>>,
    /// The state as JSON, as the tool's codec wrote it.
    pub state: Box<RawValue>,
}

impl StateRow {
    /// Names the tool of a row.
    pub fn new(tool: impl Into<String>, row: RowValue) -> Self {
        Self { tool: tool.into(), agent: row.agent, state: row.state }
    }

    /// The row without the tool's name.
    pub fn value(self) -> RowValue {
        RowValue { agent: self.agent, state: self.state }
    }
}

/// What a state file begins with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StateHead {
    /// The tools whose rows these are, also those that have none.
    pub tools: Vec<String>,
    /// What the types of their states are called; tools are absent that do not say so.
    pub types: BTreeMap<String, Arc<str>>,
    /// Which state it is; absent where nobody said so.
    pub state: Option<SavedState>,
}

impl From<Vec<String>> for StateHead {
    fn from(tools: Vec<String>) -> Self {
        Self { tools, ..Self::default() }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    format: String,
    version: u32,
    tools: Vec<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    types: BTreeMap<String, Arc<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    state: Option<SavedState>,
}

/// What the first line has in every version.
#[derive(Deserialize)]
struct AnyHeader {
    format: String,
    version: u32,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Footer {
    rows: u64,
}

/// Writes the lines of a state file.
pub(crate) struct StateWriter<W> {
    out: W,
    named: Named,
    rows: u64,
}

impl<W: Write> StateWriter<W> {
    pub(crate) fn new(out: W, StateHead { tools, types, state }: StateHead) -> io::Result<Self> {
        let named = Named::new(&tools, &types).map_err(io::Error::other)?;
        let mut writer = Self { out, named, rows: 0 };
        writer.line(&Header { format: FORMAT.to_owned(), version: VERSION, tools, types, state })?;
        Ok(writer)
    }

    pub(crate) fn row(&mut self, mut row: StateRow) -> io::Result<()> {
        self.named.check(&row.tool).map_err(io::Error::other)?;
        // Between the tokens of JSON a line break is a blank; inside its texts there is none.
        if row.state.get().contains('\n') {
            row.state = RawValue::from_string(row.state.get().replace('\n', " "))?;
        }
        self.rows += 1;
        self.line(&row)
    }

    pub(crate) fn finish(mut self) -> io::Result<u64> {
        let rows = self.rows;
        self.line(&Footer { rows })?;
        Ok(rows)
    }

    fn line(&mut self, value: &impl Serialize) -> io::Result<()> {
        serde_json::to_writer(&mut self.out, value)?;
        self.out.write_all(b"\n")
    }
}

/// Reads the rows of a state file one by one; an error is the last item.
pub(crate) struct StateReader<R> {
    input: R,
    head: StateHead,
    named: Named,
    line: String,
    number: u64,
    done: bool,
}

impl<R: BufRead> StateReader<R> {
    /// Reads the first line.
    pub(crate) fn new(input: R) -> Result<Self, StateFileError> {
        let (head, named) = <(StateHead, Named)>::default();
        let mut reader = Self { input, head, named, line: String::new(), number: 0, done: false };
        let first = reader.next_line()?.unwrap_or_default();
        match serde_json::from_str::<AnyHeader>(first) {
            Ok(AnyHeader { format, .. }) if format != FORMAT => Err(StateFileError::NotAStateFile),
            Err(_) => Err(StateFileError::NotAStateFile),
            Ok(AnyHeader { version, .. }) if version > VERSION => Err(StateFileError::Newer { version }),
            Ok(_) => match serde_json::from_str::<Header>(first) {
                Ok(Header { tools, types, state, .. }) => {
                    reader.named = Named::new(&tools, &types).map_err(|reason| reader.bad(&reason))?;
                    reader.head = StateHead { tools, types, state };
                    Ok(reader)
                }
                Err(error) => Err(reader.bad(&error.to_string())),
            },
        }
    }

    /// What it begins with.
    pub(crate) fn head(&self) -> &StateHead {
        &self.head
    }

    fn next_line(&mut self) -> Result<Option<&str>, StateFileError> {
        self.line.clear();
        self.number += 1;
        match self.input.read_line(&mut self.line) {
            Ok(0) => Ok(None),
            Ok(_) => Ok(Some(&self.line)),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => Err(self.bad("it is not UTF-8")),
            Err(error) => Err(error.into()),
        }
    }

    fn next_row(&mut self) -> Result<Option<StateRow>, StateFileError> {
        if self.next_line()?.is_none() {
            return Err(StateFileError::CutOff);
        }
        // A row is by far the likelier line, and no line is both.
        match serde_json::from_str::<StateRow>(&self.line) {
            Ok(row) => match self.named.check(&row.tool) {
                Ok(()) => Ok(Some(row)),
                Err(reason) => Err(self.bad(&reason)),
            },
            Err(row_error) => match serde_json::from_str::<Footer>(&self.line) {
                Ok(footer) => self.check_end(&footer),
                Err(_) if !self.line.ends_with('\n') => Err(StateFileError::CutOff),
                Err(_) => Err(self.bad(&row_error.to_string())),
            },
        }
    }

    fn check_end(&mut self, footer: &Footer) -> Result<Option<StateRow>, StateFileError> {
        let rows = self.number - 2; // without the first line and this one
        if footer.rows != rows {
            return Err(self.bad(&format!("it counts {} rows, there are {rows}", footer.rows)));
        }
        match self.next_line()? {
            None => Ok(None),
            Some(_) => Err(self.bad("there is more after the last line")),
        }
    }

    pub(super) fn bad(&self, reason: &str) -> StateFileError {
        StateFileError::Line { line: self.number, reason: reason.to_owned() }
    }
}

/// The tools that the first line names, without case.
#[derive(Default)]
struct Named {
    keys: HashSet<String>,
    /// The spelling that was looked at last: rows come tool by tool.
    last: String,
}

impl Named {
    fn new(tools: &[String], types: &BTreeMap<String, Arc<str>>) -> Result<Self, String> {
        let mut named = Self::default();
        for tool in tools {
            if !named.keys.insert(name::key(tool).into_owned()) {
                return Err(format!("it names the tool {tool:?} twice"));
            }
        }
        match types.keys().find(|tool| !tools.contains(tool)) {
            Some(tool) => Err(format!("it gives a type of tool {tool:?}, which it does not name")),
            None => Ok(named),
        }
    }

    fn check(&mut self, tool: &str) -> Result<(), String> {
        if self.last == tool && !tool.is_empty() {
            return Ok(());
        }
        if !self.keys.contains(name::key(tool).as_ref()) {
            return Err(format!("it is a row of tool {tool:?}, which the first line does not name"));
        }
        tool.clone_into(&mut self.last);
        Ok(())
    }
}

impl<R: BufRead> Iterator for StateReader<R> {
    type Item = Result<StateRow, StateFileError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        let row = self.next_row().transpose();
        self.done = !matches!(row, Some(Ok(_)));
        row
    }
}
