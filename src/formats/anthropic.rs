//! Anthropic's form: `{"type": "tool_use", "id", "name", "input"}` in, `tool_result` blocks out.

use std::borrow::Cow;

use serde::Serialize;
use toolyard_contract::ToolResult;

use super::{
    answer,
    item::{Item, Parts},
};

pub(super) fn parts<'a>(item: &Item<'a>) -> Parts<'a> {
    Parts { name: item.name, arguments: item.input, id: item.id }
}

/// A block that answers one call.
#[derive(Debug, Serialize)]
pub struct ToolResultBlock<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    tool_use_id: Cow<'a, str>,
    content: Cow<'a, str>,
    is_error: bool,
}

/// Gives one `tool_result` block per result.
pub fn blocks(results: &[ToolResult]) -> Vec<ToolResultBlock<'_>> {
    answer::with_ids(results).map(|(id, result)| block(id, result)).collect()
}

fn block<'a>(id: Cow<'a, str>, result: &'a ToolResult) -> ToolResultBlock<'a> {
    ToolResultBlock {
        kind: "tool_result",
        tool_use_id: id,
        content: answer::text(result),
        is_error: !result.is_ok(),
    }
}
