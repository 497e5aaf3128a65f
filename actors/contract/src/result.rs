//! The answer to one call.

use std::time::Duration;

use compact_str::CompactString;
use serde::{Deserialize, Deserializer, Serialize, Serializer, ser::SerializeStruct};

use crate::{CallId, Detail, Outcome, Output};

/// The answer to one call of a list. A list has exactly one for each item, in the items' order.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolResult {
    /// The call's position in its list.
    pub index: usize,
    /// The provider's id, as it came.
    pub id: CallId,
    /// The tool's name, as the model spelled it.
    pub tool: CompactString,
    /// How the call ended.
    pub outcome: Outcome,
    /// What the tool gave back.
    pub output: Option<Output>,
    /// What went wrong; `None` exactly when the outcome is `ok`.
    pub error: Option<String>,
    /// Facts beside the output.
    pub detail: Option<Box<Detail>>,
    /// The request that the call waits for; only when the outcome is `suspended`.
    pub request: Option<String>,
    /// From the start of the tool's work to its end; zero when nothing ran.
    pub elapsed: Duration,
}

impl ToolResult {
    /// Tells whether the call worked.
    pub fn is_ok(&self) -> bool {
        self.outcome.is_ok()
    }
}

/// Writes the native form of the documents.
impl Serialize for ToolResult {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let detail = self.detail.as_ref().filter(|detail| !detail.is_empty());
        let optional = usize::from(detail.is_some()) + usize::from(self.request.is_some());
        let mut out = serializer.serialize_struct("ToolResult", 8 + optional)?;
        out.serialize_field("index", &self.index)?;
        out.serialize_field("id", &self.id)?;
        out.serialize_field("tool", &self.tool)?;
        out.serialize_field("ok", &self.is_ok())?;
        out.serialize_field("outcome", &self.outcome)?;
        out.serialize_field("output", &self.output)?;
        out.serialize_field("error", &self.error)?;
        out.serialize_field("elapsed_us", &micros(self.elapsed))?;
        if let Some(detail) = detail {
            out.serialize_field("detail", detail)?;
        }
        if let Some(request) = &self.request {
            out.serialize_field("request", request)?;
        }
        out.end()
    }
}

/// Reads the native form of the documents.
impl<'de> Deserialize<'de> for ToolResult {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Native {
            index: usize,
            id: CallId,
            tool: CompactString,
            outcome: Outcome,
            output: Option<Output>,
            error: Option<String>,
            elapsed_us: u64,
            detail: Option<Box<Detail>>,
            request: Option<String>,
        }
        let Native { index, id, tool, outcome, output, error, elapsed_us, detail, request } =
            Native::deserialize(deserializer)?;
        let detail = detail.filter(|detail| !detail.is_empty());
        let elapsed = Duration::from_micros(elapsed_us);
        Ok(Self { index, id, tool, outcome, output, error, detail, request, elapsed })
    }
}

/// A duration in whole microseconds, for documents.
pub fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}
