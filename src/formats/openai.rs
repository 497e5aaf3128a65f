//! OpenAI's chat form: `{"id", "type": "function", "function": {"name", "arguments": text}}` in, `role: "tool"`
//! messages out.

use std::borrow::Cow;

use serde::Serialize;
use toolyard_contract::ToolResult;

use super::{
    answer,
    item::{Item, Node, Parts},
};

pub(super) fn parts<'a>(function: &Node<'a>, item: &Item<'a>) -> Result<Parts<'a>, String> {
    let inner = function.object("function")?;
    Ok(Parts { name: inner.name, arguments: inner.arguments, id: item.id })
}

/// A message that answers one call.
#[derive(Debug, Serialize)]
pub struct ToolMessage<'a> {
    role: &'static str,
    tool_call_id: Cow<'a, str>,
    content: Cow<'a, str>,
}

/// Gives one `role: "tool"` message per result.
pub fn messages(results: &[ToolResult]) -> Vec<ToolMessage<'_>> {
    results.iter().map(message).collect()
}

fn message(result: &ToolResult) -> ToolMessage<'_> {
    ToolMessage { role: "tool", tool_call_id: answer::id(result), content: answer::text(result) }
}
