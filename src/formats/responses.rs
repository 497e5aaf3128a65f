//! OpenAI's responses form: `{"type": "function_call", "call_id", "name", "arguments": text}` in,
//! `function_call_output` items out.

use std::borrow::Cow;

use serde::Serialize;
use toolyard_contract::ToolResult;

use super::{
    answer,
    item::{Item, Parts},
};

/// An item has an `id` of its own; answers refer to `call_id`.
pub(super) fn parts<'a>(item: &Item<'a>) -> Parts<'a> {
    Parts { name: item.name, arguments: item.arguments, id: item.call_id.or(item.id) }
}

/// An item that answers one call.
#[derive(Debug, Serialize)]
pub struct FunctionCallOutput<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    call_id: Cow<'a, str>,
    output: Cow<'a, str>,
}

/// Gives one `function_call_output` item per result.
pub fn items(results: &[ToolResult]) -> Vec<FunctionCallOutput<'_>> {
    answer::with_ids(results).map(|(id, result)| item(id, result)).collect()
}

fn item<'a>(id: Cow<'a, str>, result: &'a ToolResult) -> FunctionCallOutput<'a> {
    FunctionCallOutput { kind: "function_call_output", call_id: id, output: answer::text(result) }
}
