//! A result as the text and id that a provider's answer carries.

use std::{borrow::Cow, collections::HashSet};

use toolyard_contract::ToolResult;

use super::content;

/// The provider's id as text; `None` when there was none, or a blank one.
pub(super) fn given_id(result: &ToolResult) -> Option<Cow<'_, str>> {
    result.id.to_text()
}

/// Ids for providers that need one, each with its result: the given one, or `call_<index>`, which gets a number of
/// its own (`call_<index>_1`) where another call was given that very id.
pub(super) fn with_ids(results: &[ToolResult]) -> impl Iterator<Item = (Cow<'_, str>, &ToolResult)> {
    let given: Vec<_> = results.iter().map(given_id).collect();
    let all_have_one = given.iter().all(Option::is_some);
    let taken: HashSet<String> =
        if all_have_one { HashSet::new() } else { given.iter().flatten().map(ToString::to_string).collect() };
    given.into_iter().zip(results).map(move |(id, result)| {
        let id = id.unwrap_or_else(|| {
            let plain = format!("call_{}", result.index);
            let numbered = (1_usize..).map(|number| format!("call_{}_{number}", result.index));
            let mut free = std::iter::once(plain).chain(numbered).filter(|id| !taken.contains(id));
            free.next().unwrap_or_default().into()
        });
        (id, result)
    })
}

/// What the model reads where there is text alone: the output, or how the call ended and what there is of
/// an output. Images and the like are named.
pub(super) fn text(result: &ToolResult) -> Cow<'_, str> {
    if let Some(blocks) = content::blocks(result) {
        return content::as_text(blocks, "an answer of this form takes text alone").into();
    }
    let output = result.output.as_ref().map_or("", |output| output.to_text());
    match &result.error {
        None => output.into(),
        Some(error) if output.is_empty() || is_error(result, output) => {
            format!("{}: {error}", result.outcome).into()
        }
        Some(error) => format!("{}: {error}\n\n{output}", result.outcome).into(),
    }
}

/// Tells whether a text only says the error once more, as that of a failed MCP call does.
pub(super) fn is_error(result: &ToolResult, text: &str) -> bool {
    result.error.as_deref().is_some_and(|error| error.trim() == text.trim())
}
