//! What a tool gives back.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Value, value::RawValue};

use crate::{Completion, Outcome, digits};

/// What a tool's future resolves to.
pub type ToolReturn = Result<Reply, Failure>;

/// The payload of a result: text, or JSON kept as text so that integers stay exact.
#[derive(Clone, Debug)]
pub enum Output {
    /// Text for the model.
    Text(String),
    /// A JSON value.
    Json(Box<RawValue>),
}

impl Output {
    /// Serialises `value` as structured output.
    ///
    /// # Errors
    /// When the value cannot be written as JSON (a map with keys that are no text, say).
    pub fn json<T: Serialize + ?Sized>(value: &T) -> Result<Self, serde_json::Error> {
        const SHORT: usize = 64;
        // Most outputs are short, and for those the copy costs less than to shrink a large buffer.
        let mut buffer = [0; SHORT];
        let mut free = &mut buffer[..];
        let written = serde_json::to_writer(&mut free, value).map(|()| SHORT - free.len());
        if let Ok(written) = written
            && let Ok(text) = str::from_utf8(&buffer[..written])
        {
            return RawValue::from_string(text.to_owned()).map(Self::Json);
        }
        serde_json::value::to_raw_value(value).map(Self::Json)
    }

    /// Takes text that is JSON as structured output.
    ///
    /// # Errors
    /// When the text is not one JSON value.
    pub fn from_json_text(text: String) -> Result<Self, serde_json::Error> {
        RawValue::from_string(text).map(Self::Json)
    }

    /// The text of a text output.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Json(_) => None,
        }
    }

    /// The output as one text: text as it is, JSON as it is written.
    pub fn to_text(&self) -> &str {
        match self {
            Self::Text(text) => text,
            Self::Json(raw) => raw.get(),
        }
    }

    /// The output as a JSON value (integers beyond 64 bits become floats here).
    pub fn to_value(&self) -> Value {
        match self {
            Self::Text(text) => Value::String(text.clone()),
            Self::Json(raw) => serde_json::from_str(raw.get())
                .or_else(|_| serde_json::from_str(&digits::shortened(raw.get())))
                .unwrap_or(Value::Null),
        }
    }
}

impl PartialEq for Output {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Text(a), Self::Text(b)) => a == b,
            (Self::Json(a), Self::Json(b)) => a.get() == b.get(),
            _ => false,
        }
    }
}

impl From<String> for Output {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&str> for Output {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<Value> for Output {
    fn from(value: Value) -> Self {
        match value {
            Value::String(text) => Self::Text(text),
            other => match serde_json::value::to_raw_value(&other) {
                Ok(raw) => Self::Json(raw),
                Err(_) => Self::Text(other.to_string()),
            },
        }
    }
}

impl Serialize for Output {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => serializer.serialize_str(text),
            Self::Json(raw) => raw.serialize(serializer),
        }
    }
}

/// Reads a JSON string as text and anything else as it is written; needs `serde_json`'s reader.
impl<'de> Deserialize<'de> for Output {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        match raw.get().as_bytes().first() {
            Some(b'"') => serde_json::from_str(raw.get()).map(Self::Text).map_err(serde::de::Error::custom),
            _ => Ok(Self::Json(raw)),
        }
    }
}

/// A tool's word that it worked.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reply {
    /// The payload; `None` is written as `null`.
    pub output: Option<Output>,
    /// Facts beside the payload.
    pub detail: Option<Box<Detail>>,
}

impl<T: Into<Output>> From<T> for Reply {
    fn from(output: T) -> Self {
        Self { output: Some(output.into()), detail: None }
    }
}

impl Reply {
    /// The tool's work ends the agent loop: `patch` goes into the agent's state, and `status` to
    /// whoever started the loop.
    #[must_use]
    pub fn complete(mut self, completion: Completion) -> Self {
        self.detail.get_or_insert_default().complete = Some(completion);
        self
    }
}

/// A tool's word that it did not work, or could not be run to its end.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{error}")]
pub struct Failure {
    /// How the call ended; set by the constructors.
    pub outcome: Outcome,
    /// What went wrong, for the model: names the thing, without internals.
    pub error: String,
    /// What the tool had produced all the same.
    pub output: Option<Output>,
    /// Facts beside it.
    pub detail: Option<Box<Detail>>,
}

impl Failure {
    /// The tool ran and says that it did not work.
    pub fn failed(error: impl Into<String>) -> Self {
        Self::with(Outcome::Failed, error)
    }

    /// The arguments do not fit; nothing was done.
    pub fn bad_arguments(error: impl Into<String>) -> Self {
        Self::with(Outcome::BadArguments, error)
    }

    /// The arguments do not fit, as a tool that checks its own found while parsing `arguments`;
    /// nothing was done. The engine takes their text to word the error by the tool's schema.
    pub fn unfit(arguments: String, error: impl Into<String>) -> Self {
        Self { output: Some(Output::Text(arguments)), ..Self::with(Outcome::BadArguments, error) }
    }

    /// A rule of the tool's own forbids it; nothing was done.
    pub fn denied(error: impl Into<String>) -> Self {
        Self::with(Outcome::Denied, error)
    }

    /// Nothing was done, and trying again later is safe.
    pub fn not_started(error: impl Into<String>) -> Self {
        Self::with(Outcome::NotStarted, error)
    }

    /// The work was under way when what carried it went away.
    pub fn lost(error: impl Into<String>) -> Self {
        Self::with(Outcome::Lost, error)
    }

    /// The work was stopped by a deadline of the tool's own.
    pub fn timed_out(error: impl Into<String>) -> Self {
        Self::with(Outcome::TimedOut, error)
    }

    /// The tool needs a value before it can go on, and has done nothing yet that must not be done
    /// twice: with the answer, the call runs again from its start and finds the value in
    /// [`CallContext::input`](crate::CallContext::input). `arguments` are those that it was called
    /// with; `question` says what is wanted.
    pub fn needs_input(arguments: String, question: impl Into<String>) -> Self {
        Self { output: Some(Output::Text(arguments)), ..Self::with(Outcome::Suspended, question) }
    }

    /// Keeps `memo` with the request of [`needs_input`](Self::needs_input): the call finds it in
    /// [`CallContext::kept`](crate::CallContext::kept) when it goes on, also in another process. It is
    /// part of the record of the list, so it must hold no secrets.
    #[must_use]
    pub fn keep(self, memo: Value) -> Self {
        self.detail(|detail| detail.kept = Some(memo))
    }

    fn with(outcome: Outcome, error: impl Into<String>) -> Self {
        Self { outcome, error: error.into(), output: None, detail: None }
    }

    /// Keeps what the tool had produced.
    #[must_use]
    pub fn output(mut self, output: impl Into<Output>) -> Self {
        self.output = Some(output.into());
        self
    }

    /// Changes the detail, making it when there was none.
    #[must_use]
    pub fn detail(mut self, set: impl FnOnce(&mut Detail)) -> Self {
        set(self.detail.get_or_insert_default());
        self
    }
}

impl Detail {
    /// Tells whether there is nothing to write.
    pub fn is_empty(&self) -> bool {
        let Self {
            kept: _, traceback, still_running, retry_after_ms, truncated, full, printed, notes, ..
        } = self;
        let Self { schema_error, output_mismatch, content, meta, attempts, complete, .. } = self;
        let texts = [traceback, full, printed, schema_error, output_mismatch];
        !still_running
            && !truncated
            && texts.iter().all(|text| text.is_none())
            && notes.is_empty()
            && (retry_after_ms.is_none() && attempts.is_none() && complete.is_none())
            && (content.is_none() && meta.is_none())
    }
}

/// Facts beside a result. Absent ones are not written.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Detail {
    /// Where in the user's code it broke.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub traceback: Option<String>,
    /// True: the work could not be stopped and may still have effects.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub still_running: bool,
    /// When trying again may help, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
    /// True: the output was cut.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
    /// The path of the whole output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub full: Option<String>,
    /// What the tool's code printed while it ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub printed: Option<String>,
    /// What was lost or changed when the output was written as JSON.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Where the arguments break the schema, as a JSON pointer and what was expected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema_error: Option<String>,
    /// Where the output breaks the declared output schema.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_mismatch: Option<String>,
    /// All content blocks of an MCP result, as the server wrote them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<Output>,
    /// What an MCP server said beside its result, as it wrote it.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Output>,
    /// What a call that waits for a value wants to find again; moved to the record of its list.
    #[serde(skip)]
    pub kept: Option<Value>,
    /// How often the call was tried, when more than once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempts: Option<u32>,
    /// The call ends the agent loop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub complete: Option<Completion>,
}
