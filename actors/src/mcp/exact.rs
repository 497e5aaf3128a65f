//! What is said in calls and their answers, as it was written: the values of the protocol's library keep no integer beyond
//! 64 bits, no fraction as it was, no key and no block of content that it does not know.
//!
//! Arguments travel beside their request, and the answer to a call inside a result that is empty else, as text. So it takes
//! no more memory than its text does, whatever is in it.

use std::sync::{Arc, LazyLock};

use rmcp::{
    RoleClient,
    model::{
        CallToolRequest, CallToolRequestMethod, CallToolRequestParams, CallToolResult, ClientRequest,
        ContentBlock, GetMeta, InputResponses, JsonRpcMessage, JsonRpcResponse, JsonRpcVersion2_0, RequestId,
        RequestMetaObject, ServerResult,
    },
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
};
use serde::{Deserialize, Serialize, de::Error as _};
use serde_json::{Error, Result, Value, value::RawValue};
use toolyard_contract::{digits, exact::has_inexact};

use super::{
    content::lone_text,
    mend::{Mended, mended},
    odd,
    scan::{DEEPEST, Scan},
};

/// A message from a server.
pub(super) type Incoming = RxJsonRpcMessage<RoleClient>;

/// Said of an answer that is JSON and no message.
pub(super) const MISSHAPEN: &str = "its answer is not what the protocol allows";

/// Where the text of an answer travels in its result. No server can know it, and so write it.
static TEXT: LazyLock<String> = LazyLock::new(|| format!("toolyard/{:x}/text", fastrand::u128(..)));

/// Where it travels what was mended in that text.
static NOTES: LazyLock<String> = LazyLock::new(|| format!("toolyard/{:x}/notes", fastrand::u128(..)));

#[derive(Clone)]
struct Arguments(Arc<RawValue>);

/// Makes a call with these arguments. A transport that does not write messages by [`frame`] sees them when they are
/// `mirrored`.
///
/// # Errors
/// When they are no JSON object.
pub(super) fn call(name: String, arguments: String, mirrored: bool) -> Result<CallToolRequest> {
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
pub(super) fn frame(message: &TxJsonRpcMessage<RoleClient>) -> Result<Vec<u8>> {
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

/// The answer to a request.
#[derive(Deserialize)]
struct Answer<'a> {
    jsonrpc: JsonRpcVersion2_0,
    id: RequestId,
    #[serde(borrow)]
    result: &'a RawValue,
}

/// The parts of a result that say whether it is one of a call.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Parts<'a> {
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    #[serde(borrow)]
    structured_content: Option<&'a RawValue>,
    is_error: Option<&'a RawValue>,
    result_type: Option<&'a RawValue>,
    #[serde(rename = "_meta", borrow)]
    meta: Option<&'a RawValue>,
}

impl Parts<'_> {
    fn is_of_call(&self) -> bool {
        let has_content = self.content.is_some_and(|content| content.get().starts_with('['));
        let is_complete = self.result_type.is_none_or(|kind| kind.get() == "\"complete\"");
        let is_other = self.content.is_some() && !has_content;
        is_complete
            && !is_other
            && (has_content || self.structured_content.is_some() || self.is_error.is_some())
    }

    /// The text of a result that is one text and nothing else, as most are.
    fn lone_text(&self) -> Option<String> {
        let is_ok = self.is_error.is_none_or(|is_error| is_error.get() == "false");
        if !is_ok || self.structured_content.is_some() || self.meta.is_some() {
            return None;
        }
        lone_text(self.content?.get())
    }
}

/// A message, and whether the library would read its text to the same.
struct Understood {
    message: Incoming,
    is_usual: bool,
}

/// Reads a message from the wire; what is harmless is mended.
///
/// # Errors
/// When it cannot be read, or would take too much memory.
pub(super) fn read(text: &[u8]) -> Result<Incoming> {
    look(text).map(|understood| understood.message)
}

/// Writes a message from the wire anew, if the library would not read it, or lose something of it.
///
/// # Errors
/// When it cannot be read, or would take too much memory.
pub(super) fn rewritten(text: &str) -> Result<Option<String>> {
    let Understood { message, is_usual } = look(text.as_bytes())?;
    if is_usual { Ok(None) } else { serde_json::to_string(&message).map(Some) }
}

fn look(text: &[u8]) -> Result<Understood> {
    let error = match understood(text, Vec::new()) {
        Ok(read) => return Ok(read),
        Err(error) => error,
    };
    let Some(Mended { text, notes }) = mended(text) else { return Err(error) };
    let understood = understood(&text, notes)?;
    Ok(Understood { is_usual: false, ..understood })
}

fn understood(text: &[u8], notes: Vec<&'static str>) -> Result<Understood> {
    let scan = Scan::of(text);
    if scan.has_half {
        return Err(Error::custom("a string has half of a character (a lone surrogate)"));
    }
    if let Some(answer) = answer_to_call(text, &scan, notes)? {
        return Ok(answer);
    }
    if let Some(reason) = scan.too_heavy(text.len()) {
        return Err(Error::custom(reason));
    }
    let read = serde_json::from_slice(text);
    if may_be_odd_list(&read, text)
        && let Some(message) = odd::read(text)
    {
        return Ok(Understood { message, is_usual: false });
    }
    let read = match read {
        // Beyond the range of floats nothing was read at all; what is no answer to a call is read as far as it can be.
        Err(error) if scan.has_long_number => {
            let text = str::from_utf8(text).map_err(|_| error)?;
            serde_json::from_str(&digits::shortened(text))
        }
        read => read,
    };
    match read {
        Ok(message) => Ok(Understood { message, is_usual: !scan.has_long_number }),
        Err(_) if scan.depth > DEEPEST => Err(too_deep(&scan)),
        Err(error) if error.is_data() => Err(Error::custom(MISSHAPEN)),
        Err(error) => Err(error),
    }
}

/// Reads the answer to a call, which nearly all messages are. `None`: it is something else.
fn answer_to_call(text: &[u8], scan: &Scan, notes: Vec<&'static str>) -> Result<Option<Understood>> {
    let Ok(Answer { jsonrpc, id, result: text }) = serde_json::from_slice(text) else { return Ok(None) };
    let Ok(parts) = serde_json::from_str::<Parts<'_>>(text.get()) else { return Ok(None) };
    if !text.get().starts_with('{') || !parts.is_of_call() {
        return Ok(None);
    }
    if scan.depth > DEEPEST {
        return Err(too_deep(scan));
    }
    let mut result = CallToolResult::default();
    let lone_text = if notes.is_empty() { parts.lone_text() } else { None };
    let is_usual = lone_text.is_some();
    if let Some(text) = lone_text {
        result.content.push(ContentBlock::text(text));
    } else {
        let beside = &mut result.meta.get_or_insert_default().0;
        beside.insert(TEXT.clone(), Value::String(text.get().to_owned()));
        if !notes.is_empty() {
            beside.insert(NOTES.clone(), notes.into());
        }
    }
    let result = ServerResult::CallToolResult(result);
    let message = JsonRpcMessage::Response(JsonRpcResponse { jsonrpc, id, result });
    Ok(Some(Understood { message, is_usual }))
}

fn too_deep(scan: &Scan) -> Error {
    Error::custom(format!("it is nested {} deep, and {DEEPEST} is the most", scan.depth))
}

/// Tells whether a message may be a list of tools some of which the library cannot read, or not exactly.
fn may_be_odd_list(read: &Result<Incoming>, text: &[u8]) -> bool {
    let is_odd = match read {
        Ok(JsonRpcMessage::Response(answer)) => {
            let is_list = matches!(answer.result, ServerResult::ListToolsResult(_));
            matches!(answer.result, ServerResult::CustomResult(_) | ServerResult::EmptyResult(_))
                || is_list && str::from_utf8(text).is_ok_and(has_inexact)
        }
        Ok(_) => false,
        Err(_) => true,
    };
    is_odd && odd::may_be_list(text)
}

/// The answer to a call as the server wrote it.
pub(super) struct Written {
    pub(super) text: String,
    /// What was mended in it.
    pub(super) notes: Vec<String>,
}

/// Takes the text of an answer out of what [`read`] made of it. `None`: it is as the library reads it.
pub(super) fn taken(result: &mut CallToolResult) -> Option<Written> {
    let beside = &mut result.meta.as_mut()?.0;
    let Value::String(text) = beside.remove(&*TEXT)? else { return None };
    let notes =
        beside.remove(&*NOTES).and_then(|notes| serde_json::from_value(notes).ok()).unwrap_or_default();
    Some(Written { text, notes })
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

    fn answer(result: &str) -> String {
        format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#)
    }

    fn result_of(message: Incoming) -> CallToolResult {
        let JsonRpcMessage::Response(answer) = message else { panic!("an answer") };
        let ServerResult::CallToolResult(result) = answer.result else { panic!("of a call") };
        result
    }

    /// The text of an answer and its notes, as they come over a pipe or in a body, and as they come in an event.
    fn carried(text: &[u8]) -> (String, usize) {
        let mut piped = result_of(read(text).unwrap());
        let piped = taken(&mut piped).unwrap();
        if let Ok(text) = str::from_utf8(text) {
            let anew = rewritten(text).unwrap().unwrap();
            let mut event = result_of(serde_json::from_str(&anew).unwrap());
            let event = taken(&mut event).unwrap();
            assert_eq!((&event.text, &event.notes), (&piped.text, &piped.notes));
        }
        (piped.text, piped.notes.len())
    }

    #[test]
    fn all_of_an_answer_comes_in_as_it_was_written() {
        for result in [
            r#"{"content":[{"type":"text","text":"t","annotations":{"priority":0.1}}],"more":1e400}"#,
            r#"{"content":[{"type":"hologram","n":-9223372036854775809},{"type":"text","text":null}]}"#,
            r#"{"structuredContent":{"n":123456789012345678901234567890},"_meta":{"m":1.10}}"#,
            r#"{"content":[{"type":"text","text":"t"}],"isError":true}"#,
            r#"{"content":[],"structuredContent":null,"resultType":"complete"}"#,
            r#"{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}"#,
        ] {
            assert_eq!(carried(answer(result).as_bytes()), (result.to_owned(), 0));
        }
    }

    #[test]
    fn a_lone_text_is_carried_as_the_library_has_it() {
        for result in [
            r#"{"content":[{"type":"text","text":"t"}]}"#,
            r#"{"isError":false,"structuredContent":null,"content":[{"text":"t","type":"text"}],"_meta":null}"#,
        ] {
            let text = answer(result);
            let mut read = result_of(read(text.as_bytes()).unwrap());
            assert!(taken(&mut read).is_none());
            assert_eq!(read.content[0].as_text().unwrap().text, "t");
            assert!(rewritten(&text).unwrap().is_none());
        }
    }

    #[test]
    fn what_is_harmless_is_mended_wherever_it_stands_and_noted() {
        let deep = format!("{}{}", "[".repeat(300), "]".repeat(300));
        for (faulty, mended) in
            [(b"\\ud83d".as_slice(), "\u{fffd}"), (b"a\xffb", "a\u{fffd}b"), (b"a\tb", "a\\u0009b")]
        {
            for shape in [
                r#"{"content":[{"type":"text","text":"@"}]}"#,
                r#"{"content":[{"type":"text","text":"t","_meta":{"@":1}}]}"#,
                r#"{"structuredContent":{"a":"@"}}"#,
                r#"{"content":[],"_meta":{"a":["@"]}}"#,
            ] {
                let shape = answer(shape);
                let (before, after) = shape.split_once('@').unwrap();
                let text = [before.as_bytes(), faulty, after.as_bytes()].concat();
                let (text, notes) = carried(&text);
                assert!(text.contains(mended) && notes == 1, "{text}");
            }
        }
        for shape in
            [r#"{"content":[],"structuredContent":@}"#, r#"{"content":[{"type":"text","text":"t","a":@}]}"#]
        {
            for (value, reason) in
                [("NaN", "expected value"), ("-Infinity", "invalid number"), (&*deep, "it is nested 30")]
            {
                let text = answer(&shape.replace('@', value));
                let error = read(text.as_bytes()).unwrap_err().to_string();
                assert!(error.starts_with(reason), "{error}");
                assert!(rewritten(&text).is_err());
            }
        }
        let begun = format!("\u{feff} starting... {}", answer(r#"{"content":[{"type":"text","text":"t"}]}"#));
        assert_eq!(result_of(read(begun.as_bytes()).unwrap()).content.len(), 1);
    }

    #[test]
    fn answers_that_are_none_of_a_call_are_read_as_the_library_reads_them() {
        for result in [
            r#"{"resultType":"input_required","requestState":"s","content":[]}"#,
            r#"{"tools":[{"name":"content","inputSchema":{}}]}"#,
            r#"{"content":"no list"}"#,
            r#"{"_meta":{"m":1}}"#,
            "{}",
        ] {
            for id in ["1", "\"one\""] {
                let text = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#);
                let library: Incoming = serde_json::from_str(&text).unwrap();
                assert_eq!(format!("{:?}", read(text.as_bytes()).unwrap()), format!("{library:?}"));
                assert!(rewritten(&text).unwrap().is_none());
            }
        }
    }

    #[test]
    fn no_server_can_write_what_carries_an_answer() {
        let forged = answer(r#"{"content":[],"_meta":{"toolyard/text":"{}","toolyard/0/text":"{}"}}"#);
        assert!(carried(forged.as_bytes()).0.contains("toolyard/0/text"));
    }

    #[test]
    fn a_tool_whose_schema_is_too_deep_is_left_out_alone() {
        let deep = format!("{}{{}}{}", r#"{"properties":{"x":"#.repeat(400), "}}".repeat(400));
        let tools =
            format!(r#"{{"tools":[{{"name":"a","inputSchema":{{}}}},{{"name":"b","inputSchema":{deep}}}]}}"#);
        let JsonRpcMessage::Response(answer) = read(answer(&tools).as_bytes()).unwrap() else {
            panic!("an answer")
        };
        let ServerResult::ListToolsResult(list) = answer.result else { panic!("a list") };
        assert_eq!((list.tools.len(), odd::problems(list.meta.as_ref()).len()), (1, 1));
    }

    #[test]
    fn what_would_take_too_much_memory_is_not_read() {
        let objects = r#"{"a":1},"#.repeat(400_000);
        let heavy = format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/message","params":{{"data":[{objects}1]}}}}"#
        );
        assert!(read(heavy.as_bytes()).unwrap_err().to_string().starts_with("reading its 3"));
    }

    #[test]
    fn what_is_no_answer_to_a_call_is_read_as_ever() {
        let digits = "1".repeat(30);
        let error = format!(r#"{{"jsonrpc":"2.0","id":1,"error":{{"code":-1,"message":"{digits}"}}}}"#);
        assert!(matches!(read(error.as_bytes()), Ok(JsonRpcMessage::Error(_))));
        assert!(read(format!("{{\"a\":{digits}").as_bytes()).is_err());
    }
}
