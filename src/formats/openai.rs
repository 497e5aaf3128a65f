//! OpenAI's chat form: `{"id", "type": "function", "function": {"name", "arguments": text}}` in, `role: "tool"`
//! messages out.

use std::borrow::Cow;

use serde::Serialize;
use toolyard_contract::ToolResult;

use super::{
    answer,
    node::{Item, Node, Parts},
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
    answer::with_ids(results).map(|(id, result)| message(id, result)).collect()
}

fn message<'a>(id: Cow<'a, str>, result: &'a ToolResult) -> ToolMessage<'a> {
    ToolMessage { role: "tool", tool_call_id: id, content: answer::text(result) }
}
