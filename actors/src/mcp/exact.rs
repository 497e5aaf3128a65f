//! Numbers as they were written: the JSON values of the protocol's library keep no integer beyond 64 bits.
//!
//! Arguments travel beside their request, and structured content beside its result, as text.

use std::{collections::BTreeMap, sync::Arc};

use rmcp::{
    RoleClient,
    model::{
        CallToolRequest, CallToolRequestMethod, CallToolRequestParams, CallToolResult, ClientRequest,
        GetMeta, InputResponses, JsonRpcMessage, JsonRpcResponse, JsonRpcVersion2_0, RequestId,
        RequestMetaObject, ServerResult,
    },
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, value::RawValue};
use toolyard_contract::digits;

use super::odd;

/// Where structured content travels beside its result. A server that writes this itself says no more by it than by
/// writing the content.
const BESIDE: &str = "toolyard/structured-content";

/// The longest row of digits that always fits an integer of 64 bits.
const SHORT: usize = 18;

#[derive(Clone)]
struct Arguments(Arc<RawValue>);

/// Makes a call with these arguments. A transport that does not write messages by [`frame`] sees them when they are
/// `mirrored`.
///
/// # Errors
/// When they are no JSON object.
pub(super) fn call(name: String, arguments: String, mirrored: bool) -> serde_json::Result<CallToolRequest> {
    let mut params = CallToolRequestParams::new(name);
    if mirrored {
        params = params.with_arguments(serde_json::from_str(&digits::shortened(&arguments))?);
    }
    // A message is one line on the wire; in JSON, line ends stand between tokens alone.
    let line =
        if arguments.contains(['\n', '\r']) { arguments.replace(['\n', '\r'], " ") } else { arguments };
    let mut call = CallToolRequest::new(params);
    call.extensions.insert(Arguments(RawValue::from_string(line)?.into()));
    Ok(call)
}

#[derive(Serialize)]
struct CallFrame<'a> {
    jsonrpc: JsonRpcVersion2_0,
    id: &'a RequestId,
    method: &'a CallToolRequestMethod,
    params: CallParams<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CallParams<'a> {
    #[serde(rename = "_meta")]
    meta: &'a RequestMetaObject,
    name: &'a str,
    arguments: &'a RawValue,
    #[serde(skip_serializing_if = "Option::is_none")]
    input_responses: Option<&'a InputResponses>,
    #[serde(skip_serializing_if = "Option::is_none")]
    request_state: Option<&'a str>,
}

/// Writes a message as it goes over the wire.
pub(super) fn frame(message: &TxJsonRpcMessage<RoleClient>) -> serde_json::Result<Vec<u8>> {
    if let JsonRpcMessage::Request(request) = message
        && let ClientRequest::CallToolRequest(call) = &request.request
        && let Some(Arguments(arguments)) = call.extensions.get()
    {
        let params = CallParams {
            meta: request.request.get_meta(),
            name: &call.params.name,
            arguments,
            input_responses: call.params.input_responses.as_ref(),
            request_state: call.params.request_state.as_deref(),
        };
        let id = &request.id;
        return serde_json::to_vec(&CallFrame {
            jsonrpc: JsonRpcVersion2_0,
            id,
            method: &call.method,
            params,
        });
    }
    serde_json::to_vec(message)
}

#[derive(Deserialize)]
struct Answer<'a> {
    id: RequestId,
    #[serde(borrow)]
    result: BTreeMap<String, &'a RawValue>,
}

#[derive(Serialize)]
struct Rest<'a> {
    jsonrpc: JsonRpcVersion2_0,
    id: RequestId,
    result: BTreeMap<String, &'a RawValue>,
}

#[derive(Deserialize)]
struct CallAnswer {
    jsonrpc: JsonRpcVersion2_0,
    id: RequestId,
    result: CallToolResult,
}

/// Reads a message from the wire.
pub(super) fn read(text: &[u8]) -> serde_json::Result<RxJsonRpcMessage<RoleClient>> {
    let has_long_number = has_long_number(text);
    // The library would try every other kind of message and of result before this one, which nearly all are.
    if !has_long_number && let Ok(CallAnswer { jsonrpc, id, result }) = serde_json::from_slice(text) {
        let result = ServerResult::CallToolResult(result);
        return Ok(JsonRpcMessage::Response(JsonRpcResponse { jsonrpc, id, result }));
    }
    let read = serde_json::from_slice(text);
    if may_be_odd_list(&read, text)
        && let Some(list) = odd::read(text)
    {
        return Ok(list);
    }
    if !has_long_number {
        return read;
    }
    // Beyond the range of floats nothing was read at all; what is not content of a call is read as far as it can be.
    let read = read.or_else(|error| {
        let text = str::from_utf8(text).map_err(|_| error)?;
        serde_json::from_str(&digits::shortened(text))
    });
    let Ok(Answer { id, mut result }) = serde_json::from_slice(text) else { return read };
    let Some(structured) = result.remove("structuredContent") else { return read };
    let mut message = match read {
        Ok(message) => message,
        Err(_) => {
            serde_json::from_value(serde_json::to_value(Rest { jsonrpc: JsonRpcVersion2_0, id, result })?)?
        }
    };
    if let JsonRpcMessage::Response(answer) = &mut message
        && let ServerResult::CallToolResult(result) = &mut answer.result
    {
        result.structured_content.get_or_insert_default();
        let beside = &mut result.meta.get_or_insert_default().0;
        beside.insert(BESIDE.to_owned(), Value::String(structured.get().to_owned()));
    }
    Ok(message)
}

/// Writes a message from the wire anew, if it has numbers that the library would not keep, or is a list of tools that it
/// would not read.
pub(super) fn rewritten(text: &str) -> Option<String> {
    if has_long_number(text.as_bytes()) {
        return serde_json::to_string(&read(text.as_bytes()).ok()?).ok();
    }
    if !has_tools(text.as_bytes()) {
        return None;
    }
    let as_ever = serde_json::from_str(text);
    let list = may_be_odd_list(&as_ever, text.as_bytes()).then(|| odd::read(text.as_bytes()))?;
    serde_json::to_string(&list?).ok()
}

/// Tells whether a message may be a list of tools some of which the library cannot read, or not exactly.
fn may_be_odd_list(read: &serde_json::Result<RxJsonRpcMessage<RoleClient>>, text: &[u8]) -> bool {
    let is_odd = match read {
        Ok(JsonRpcMessage::Response(answer)) => {
            let is_list = matches!(answer.result, ServerResult::ListToolsResult(_));
            matches!(answer.result, ServerResult::CustomResult(_) | ServerResult::EmptyResult(_))
                || is_list && str::from_utf8(text).is_ok_and(digits::has_inexact)
        }
        Ok(_) => false,
        Err(_) => true,
    };
    is_odd && has_tools(text)
}

fn has_tools(text: &[u8]) -> bool {
    const KEY: &[u8] = b"\"tools\"";
    text.windows(KEY.len()).any(|part| part == KEY)
}

/// Takes out what [`read`] put beside a result.
pub(super) fn taken(result: &mut CallToolResult) -> Option<Box<RawValue>> {
    let beside = &mut result.meta.as_mut()?.0;
    let taken = beside.remove(BESIDE)?;
    if beside.is_empty() {
        result.meta = None;
    }
    RawValue::from_string(taken.as_str()?.to_owned()).ok()
}

fn has_long_number(text: &[u8]) -> bool {
    let mut digits = 0;
    text.iter().any(|byte| {
        digits = if byte.is_ascii_digit() { digits + 1 } else { 0 };
        digits > SHORT
    })
}

#[cfg(test)]
mod tests {
    use rmcp::model::ProgressToken;
    use serde_json::json;

    use super::*;

    fn framed(arguments: &str) -> String {
        let mut call = call("t".to_owned(), arguments.to_owned(), true).unwrap();
        call.params.request_state = Some("s".to_owned());
        call.params.input_responses = Some(serde_json::from_value(json!({})).unwrap());
        let mut request = ClientRequest::CallToolRequest(call);
        request.get_meta_mut().set_progress_token(ProgressToken(RequestId::Number(3)));
        let message = JsonRpcMessage::request(request, RequestId::Number(7));
        let frame = String::from_utf8(frame(&message).unwrap()).unwrap();
        // But for the numbers it is what the library would write.
        assert_eq!(serde_json::from_str::<Value>(&frame).unwrap(), serde_json::to_value(&message).unwrap());
        frame
    }

    #[test]
    fn arguments_go_out_as_they_were_written_on_one_line() {
        let frame = framed("{\"n\":\n 123456789012345678901234567890,\r\n\"s\": \"a\\nb\"}");
        assert!(
            frame.contains(r#""arguments":{"n":  123456789012345678901234567890,  "s": "a\nb"}"#),
            "{frame}"
        );
        assert!(!frame.contains('\n'));
        assert!(call("t".to_owned(), "{".to_owned(), false).is_err());
    }

    fn structured(number: &str) -> (Value, Option<String>) {
        let text = format!(
            r#"{{"jsonrpc":"2.0","id":1,"result":{{"content":[],"structuredContent":{{"n":{number}}},"_meta":{{"m":1}}}}}}"#
        );
        let JsonRpcMessage::Response(answer) = read(text.as_bytes()).unwrap() else { panic!("an answer") };
        let ServerResult::CallToolResult(mut result) = answer.result else { panic!("of a call") };
        let exact = taken(&mut result).map(|raw| raw.get().to_owned());
        assert_eq!(serde_json::to_value(&result.meta).unwrap(), json!({"m": 1}));
        (result.structured_content.unwrap(), exact)
    }

    #[test]
    fn long_numbers_come_in_as_they_were_written() {
        assert_eq!(structured("5"), (json!({"n": 5}), None));
        for number in ["-9223372036854775809", "123456789012345678901234567890", &"9".repeat(400)] {
            assert_eq!(structured(number).1, Some(format!("{{\"n\":{number}}}")));
        }
    }

    #[test]
    fn answers_to_calls_are_read_as_the_library_reads_them() {
        for result in [
            r#"{"content":[{"type":"text","text":"t","annotations":{"priority":0.5}}],"isError":true}"#,
            r#"{"content":[],"structuredContent":null,"resultType":"complete"}"#,
            r#"{"structuredContent":[1.5,"x"],"_meta":{"m":1},"more":2}"#,
            r#"{"resultType":"input_required","requestState":"s","content":[]}"#,
            r#"{"tools":[{"name":"content","inputSchema":{}}]}"#,
            r#"{"content":"no list"}"#,
            "{}",
        ] {
            for id in ["1", "\"one\""] {
                let text = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#);
                let library: RxJsonRpcMessage<RoleClient> = serde_json::from_str(&text).unwrap();
                assert_eq!(format!("{:?}", read(text.as_bytes()).unwrap()), format!("{library:?}"));
            }
        }
    }

    #[test]
    fn what_is_no_answer_to_a_call_is_read_as_ever() {
        let digits = "1".repeat(30);
        let error = format!(r#"{{"jsonrpc":"2.0","id":1,"error":{{"code":-1,"message":"{digits}"}}}}"#);
        assert!(matches!(read(error.as_bytes()), Ok(JsonRpcMessage::Error(_))));
        assert!(read(format!("{{\"a\":{digits}").as_bytes()).is_err());
    }
}
