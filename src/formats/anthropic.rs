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
    results.iter().map(block).collect()
}

fn block(result: &ToolResult) -> ToolResultBlock<'_> {
    ToolResultBlock {
        kind: "tool_result",
        tool_use_id: answer::id(result),
        content: answer::text(result),
        is_error: !result.is_ok(),
    }
}
