//! Gemini's form: `{"functionCall": {"name", "args", "id"?}}` in, `functionResponse` parts out.

use std::borrow::Cow;

use serde::Serialize;
use toolyard_contract::{Output, ToolResult};

use super::{
    answer,
    item::{Node, Parts},
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
}

/// The keys that Gemini's reference gives a meaning to.
#[derive(Debug, Serialize)]
struct Response<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<&'a Output>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
}

/// Gives one `functionResponse` part per result.
pub fn response_parts(results: &[ToolResult]) -> Vec<ResponsePart<'_>> {
    results.iter().map(part).collect()
}

fn part(result: &ToolResult) -> ResponsePart<'_> {
    let response = Response { output: result.output.as_ref(), error: result.error.as_deref() };
    ResponsePart { response: FunctionResponse { id: answer::given_id(result), name: &result.tool, response } }
}
