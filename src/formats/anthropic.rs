//! Anthropic's form: `{"type": "tool_use", "id", "name", "input"}` in, `tool_result` blocks out.

use std::borrow::Cow;

use serde::Serialize;
use toolyard_contract::ToolResult;

use super::{
    answer,
    content::{self, Block, Content},
    node::{Item, Parts},
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
    content: Content<'a, ContentBlock<'a>>,
    is_error: bool,
}

/// The kinds of blocks in a `tool_result` that a tool's answer can have.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ContentBlock<'a> {
    Text { text: Cow<'a, str> },
    Image { source: Source<'a> },
    Document { source: Source<'a> },
}

#[derive(Debug, Serialize)]
struct Source<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    media_type: String,
    data: Cow<'a, str>,
}

/// Gives one `tool_result` block per result.
pub fn blocks(results: &[ToolResult]) -> Vec<ToolResultBlock<'_>> {
    answer::with_ids(results).map(|(id, result)| block(id, result)).collect()
}

fn block<'a>(id: Cow<'a, str>, result: &'a ToolResult) -> ToolResultBlock<'a> {
    ToolResultBlock {
        kind: "tool_result",
        tool_use_id: id,
        content: content_of(result),
        is_error: !result.is_ok(),
    }
}

fn content_of(result: &ToolResult) -> Content<'_, ContentBlock<'_>> {
    match content::blocks(result) {
        None => Content::Text(answer::text(result)),
        // The API refuses anything else in a block with `is_error`.
        Some(blocks) if !result.is_ok() => {
            Content::Text(content::as_text(blocks, "an error takes text alone").into())
        }
        Some(blocks) => Content::Blocks(blocks.into_iter().map(content_block).collect()),
    }
}

fn content_block(block: Block<'_>) -> ContentBlock<'_> {
    let media = match block {
        Block::Media(media) => media,
        Block::Text(text) => return ContentBlock::Text { text },
    };
    let (is_image, is_document) = match media.mime.as_str() {
        "image/jpeg" | "image/png" | "image/gif" | "image/webp" => (true, false),
        "application/pdf" => (false, true),
        _ => (false, false),
    };
    if !is_image && !is_document {
        return ContentBlock::Text { text: media.named("this form takes no such media").into() };
    }
    let source = Source { kind: "base64", data: media.data, media_type: media.mime };
    if is_image { ContentBlock::Image { source } } else { ContentBlock::Document { source } }
}
