//! What a result holds beside text: the content blocks of an MCP server, as providers may take them.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::Value;
use toolyard_contract::{Output, ToolResult};

use super::answer::is_error;

/// A text, or the blocks of a provider's form.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Content<'a, B> {
    Text(Cow<'a, str>),
    Blocks(Vec<B>),
}

/// One part of an answer.
#[derive(Debug, PartialEq)]
pub(super) enum Block<'a> {
    Text(Cow<'a, str>),
    Media(Media<'a>),
}

/// An image, a sound or a file.
#[derive(Debug, PartialEq)]
pub(super) struct Media<'a> {
    /// Lower-cased, without parameters.
    pub(super) mime: String,
    /// In base64.
    pub(super) data: Cow<'a, str>,
    /// What it is called, where it is called something.
    pub(super) name: Option<Cow<'a, str>>,
}

/// What a result with media shows.
pub(super) struct Shown<'a> {
    /// In the order in which the tool gave them.
    pub(super) blocks: Vec<Block<'a>>,
    /// True: the output is something else, and stands for the texts among what the tool gave.
    pub(super) is_beside_output: bool,
}

/// What a result shows that has media; `None` for any other. What only repeats the error is left out.
pub(super) fn shown(result: &ToolResult) -> Option<Shown<'_>> {
    let Value::Array(content) = result.detail.as_ref()?.content.as_ref()?.to_value() else { return None };
    if !content.iter().any(is_media) {
        return None;
    }
    let is_beside_output = result.output.as_ref().is_some_and(|output| !is_list_of(output, &content));
    let is_shown = |block: &Block<'_>| match block {
        Block::Text(text) => !text.is_empty() && !is_error(result, text),
        Block::Media(_) => true,
    };
    let is_text = |block: &Value| block["type"] == "text";
    let blocks = content.into_iter().filter(|block| !(is_beside_output && is_text(block))).map(read);
    Some(Shown { blocks: blocks.filter(is_shown).collect(), is_beside_output })
}

/// The parts of an answer with media: the error if there is one, an output beside the blocks, the blocks.
pub(super) fn blocks(result: &ToolResult) -> Option<Vec<Block<'_>>> {
    let Shown { blocks, is_beside_output } = shown(result)?;
    let error = result.error.as_deref().map(|error| format!("{}: {error}", result.outcome).into());
    let output = result
        .output
        .as_ref()
        .map(Output::to_text)
        .filter(|text| is_beside_output && !text.is_empty() && !is_error(result, text));
    let said = error.into_iter().chain(output.map(Cow::from)).map(Block::Text);
    Some(said.chain(blocks).collect())
}

/// The parts as one text, in which media are named.
pub(super) fn as_text(blocks: Vec<Block<'_>>, why: &str) -> String {
    let texts: Vec<_> = blocks.into_iter().map(|block| block.into_text(why)).collect();
    texts.join("\n")
}

impl<'a> Block<'a> {
    /// The text, or the name of media that cannot be shown, and why.
    pub(super) fn into_text(self, why: &str) -> Cow<'a, str> {
        match self {
            Self::Text(text) => text,
            Self::Media(media) => media.named(why).into(),
        }
    }
}

impl Media<'_> {
    /// Says in text what there is.
    pub(super) fn named(&self, why: &str) -> String {
        let name = self.name.as_ref().map_or_else(String::new, |name| format!(" {name:?}"));
        let padding = self.data.bytes().rev().take_while(|byte| *byte == b'=').count();
        let bytes = self.data.len() / 4 * 3 - padding;
        format!("[{}{name}, {bytes} bytes, not shown: {why}]", self.mime)
    }

    /// The media as an address of its own.
    pub(super) fn data_url(&self) -> String {
        format!("data:{};base64,{}", self.mime, self.data)
    }
}

fn is_list_of(output: &Output, content: &[Value]) -> bool {
    matches!(output, Output::Json(_)) && output.to_value().as_array().is_some_and(|items| items == content)
}

fn is_media(block: &Value) -> bool {
    matches!(block["type"].as_str(), Some("image" | "audio")) || block["resource"]["blob"].is_string()
}

fn read(mut block: Value) -> Block<'static> {
    match block["type"].as_str() {
        Some("text") if block["text"].is_string() => {
            Block::Text(taken(&mut block, "text").unwrap_or_default())
        }
        Some("image" | "audio") => media(&mut block, "data"),
        Some("resource") => {
            let resource = &mut block["resource"];
            match taken(resource, "text") {
                Some(text) => Block::Text(text),
                None => media(resource, "blob"),
            }
        }
        _ => Block::Text(block.to_string().into()),
    }
}

fn media(holder: &mut Value, data: &str) -> Block<'static> {
    let said = holder["mimeType"]
        .as_str()
        .unwrap_or_default()
        .split(';')
        .next()
        .unwrap_or_default()
        .trim()
        .to_lowercase();
    let mime = match said.as_str() {
        "" => "application/octet-stream".to_owned(),
        "image/jpg" => "image/jpeg".to_owned(),
        _ => said,
    };
    let data = taken(holder, data).unwrap_or_default();
    // One block that cannot be read makes a provider refuse the whole request.
    if is_base64(&data) {
        Block::Media(Media { mime, data, name: taken(holder, "uri") })
    } else {
        Block::Text(format!("[{mime}, not shown: its data is not base64]").into())
    }
}

fn is_base64(data: &str) -> bool {
    let digits = data.trim_end_matches('=');
    !digits.is_empty()
        && data.len().is_multiple_of(4)
        && data.len() - digits.len() <= 2
        && digits.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/".contains(&byte))
}

/// Takes a text out of a block.
fn taken(holder: &mut Value, key: &str) -> Option<Cow<'static, str>> {
    match holder.get_mut(key).map(Value::take)? {
        Value::String(text) => Some(text.into()),
        _ => None,
    }
}
