//! A result as the text and id that a provider's answer carries.

use std::borrow::Cow;

use toolyard_contract::ToolResult;

/// The provider's id as text; `None` when there was none, or a blank one.
pub(super) fn given_id(result: &ToolResult) -> Option<Cow<'_, str>> {
    result.id.to_text()
}

/// An id for providers that need one: the given one, or `call_<index>`.
pub(super) fn id(result: &ToolResult) -> Cow<'_, str> {
    given_id(result).unwrap_or_else(|| format!("call_{}", result.index).into())
}

/// What the model reads: the output, or how the call ended and what there is of an output.
pub(super) fn text(result: &ToolResult) -> Cow<'_, str> {
    let output = result.output.as_ref().map_or("", |output| output.to_text());
    match &result.error {
        None => output.into(),
        Some(error) if output.is_empty() => format!("{}: {error}", result.outcome).into(),
        Some(error) => format!("{}: {error}\n\n{output}", result.outcome).into(),
    }
}
