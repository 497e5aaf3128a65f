//! Gemini's form: `{"functionCall": {"name", "args", "id"?}}` in, `functionResponse` parts out.

use std::borrow::Cow;

use serde::Serialize;
use toolyard_contract::{Output, ToolResult};

use super::{
    answer,
    content::{self, Block, Media},
    node::{Node, Parts},
};

pub(super) fn parts<'a>(call: &Node<'a>) -> Result<Parts<'a>, String> {
    let inner = call.object("functionCall")?;
    Ok(Parts { name: inner.name, arguments: inner.args, id: inner.id })
}

/// A part that answers one call.
#[derive(Debug, Serialize)]
pub struct ResponsePart<'a> {
    #[serde(rename = "functionResponse")]
    response: FunctionResponse<'a>,
}

#[derive(Debug, Serialize)]
struct FunctionResponse<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<Cow<'a, str>>,
    name: &'a str,
    response: Response<'a>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    parts: Vec<MediaPart<'a>>,
}

/// The keys that Gemini's reference gives a meaning to.
#[derive(Debug, Serialize)]
struct Response<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<Cow<'a, Output>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
}

/// Gives one `functionResponse` part per result.
pub fn response_parts(results: &[ToolResult]) -> Vec<ResponsePart<'_>> {
    results.iter().map(part).collect()
}

/// Media beside the response.
#[derive(Debug, Serialize)]
struct MediaPart<'a> {
    #[serde(rename = "inlineData")]
    inline_data: Blob<'a>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Blob<'a> {
    mime_type: String,
    data: Cow<'a, str>,
}

fn part(result: &ToolResult) -> ResponsePart<'_> {
    let error = result.error.as_deref();
    let output = result.output.as_ref().filter(|output| !answer::is_error(result, output.to_text()));
    let (mut output, mut parts) = (output.map(Cow::Borrowed), Vec::new());
    if let Some(shown) = content::shown(result) {
        let mut texts = Vec::new();
        for block in shown.blocks {
            match block {
                Block::Text(text) => texts.push(text),
                Block::Media(Media { mime, data, .. }) => {
                    parts.push(MediaPart { inline_data: Blob { mime_type: mime, data } });
                }
            }
        }
        if !texts.is_empty() || !shown.is_beside_output {
            let own = output.filter(|_| shown.is_beside_output).map(|output| output.to_text().to_owned());
            texts.splice(..0, own.map(Cow::Owned));
            output = (!texts.is_empty()).then(|| Cow::Owned(Output::Text(texts.join("\n"))));
        }
    }
    let response = Response { output, error };
    let id = answer::given_id(result);
    ResponsePart { response: FunctionResponse { id, name: &result.tool, response, parts } }
}
