//! OpenAI's responses form: `{"type": "function_call", "call_id", "name", "arguments": text}` in,
//! `function_call_output` items out.

use std::borrow::Cow;

use serde::Serialize;
use toolyard_contract::ToolResult;

use super::{
    answer,
    content::{self, Block, Content},
    node::{Item, Parts},
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
    output: Content<'a, InputPart<'a>>,
}

/// The kinds of parts that an output can have.
#[derive(Debug, Serialize)]
#[serde(tag = "type")]
enum InputPart<'a> {
    #[serde(rename = "input_text")]
    Text { text: Cow<'a, str> },
    #[serde(rename = "input_image")]
    Image { image_url: String },
    #[serde(rename = "input_file")]
    File { filename: String, file_data: String },
}

/// Gives one `function_call_output` item per result.
pub fn items(results: &[ToolResult]) -> Vec<FunctionCallOutput<'_>> {
    answer::with_ids(results).map(|(id, result)| item(id, result)).collect()
}

fn item<'a>(id: Cow<'a, str>, result: &'a ToolResult) -> FunctionCallOutput<'a> {
    FunctionCallOutput {
        kind: "function_call_output",
        call_id: id,
        output: match content::blocks(result) {
            None => Content::Text(answer::text(result)),
            Some(blocks) => Content::Blocks(blocks.into_iter().map(part).collect()),
        },
    }
}

fn part(block: Block<'_>) -> InputPart<'_> {
    let media = match block {
        Block::Media(media) => media,
        Block::Text(text) => return InputPart::Text { text },
    };
    match media.mime.as_str() {
        "image/jpeg" | "image/png" | "image/gif" | "image/webp" => {
            InputPart::Image { image_url: media.data_url() }
        }
        "application/pdf" => {
            let name = media.name.as_deref();
            let file = name.and_then(|name| name.rsplit('/').next()).filter(|file| !file.is_empty());
            InputPart::File { filename: file.unwrap_or("file.pdf").to_owned(), file_data: media.data_url() }
        }
        _ => InputPart::Text { text: media.named("this form takes no such media").into() },
    }
}
