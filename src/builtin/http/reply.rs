//! The answer of a server, as the model gets it.

use std::{collections::BTreeMap, time::Duration};

use reqwest::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderMap};
use serde::Serialize;
use serde_json::{Value, json, value::RawValue};
use toolyard_contract::{
    Detail, Failure, Output, Reply, ToolReturn, canonical::canonical_as_written, strict,
};

use crate::builtin::web::{WebError, WebResponse, essence};

/// How much of the headers is shown, in bytes: usual ones take a twentieth.
const SHOWN_HEADER_BYTES: usize = 16_384;

#[derive(Serialize)]
struct HttpReply {
    status: u16,
    reason: &'static str,
    url: String,
    headers: BTreeMap<String, String>,
    /// The value of a JSON body, the text of any other, `null` where there is no text.
    body: Box<RawValue>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

/// Makes the result of a call: answers that say that it did not work are failures, with everything kept.
pub(super) fn returned(answer: Result<WebResponse, WebError>) -> ToolReturn {
    match answer {
        Ok(response) => {
            let (output, detail) = (HttpReply::of(&response).output(), detail(&response));
            if response.status.as_u16() < 400 {
                return Ok(Reply { output: Some(output), detail });
            }
            let host = response.url.host_str().unwrap_or_default();
            let mut failure =
                Failure::failed(format!("host {host:?}: answers {}", response.status)).output(output);
            failure.detail = detail;
            Err(failure)
        }
        Err(WebError::Broken { host, reason, partial: Some(partial) }) => {
            let error = WebError::Broken { host, reason, partial: None };
            let mut failure = Failure::from(error).output(HttpReply::of(&partial).output());
            failure.detail = detail(&partial);
            Err(failure)
        }
        Err(error) => Err(error.into()),
    }
}

fn detail(response: &WebResponse) -> Option<Box<Detail>> {
    let mut detail = Detail::default();
    detail.truncated = response.body.cut;
    detail.attempts = (response.tries > 1).then_some(response.tries);
    let millis = |pause: Duration| u64::try_from(pause.as_millis()).unwrap_or(u64::MAX);
    detail.retry_after_ms = response.retry_after.filter(|_| response.status.as_u16() >= 400).map(millis);
    (detail != Detail::default()).then(|| Box::new(detail))
}

impl HttpReply {
    fn of(response: &WebResponse) -> Self {
        let mut notes = Vec::new();
        let body = body(response, &mut notes);
        Self {
            status: response.status.as_u16(),
            reason: response.status.canonical_reason().unwrap_or_default(),
            url: response.url.to_string(),
            headers: headers(&response.headers, &mut notes),
            body,
            notes,
        }
    }

    fn output(&self) -> Output {
        Output::json(self).expect("texts, a number and JSON are JSON")
    }
}

fn body(response: &WebResponse, notes: &mut Vec<String>) -> Box<RawValue> {
    let raw = |value: &Value| serde_json::value::to_raw_value(value).expect("a value is JSON");
    let WebResponse { body, headers, .. } = response;
    if body.cut {
        let declared = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok());
        let of = declared.map_or(String::new(), |length| format!(" of {length}"));
        notes.push(format!("the body is cut: these are the first {}{of} bytes", body.bytes.len()));
    }
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or("unknown type");
    let Some((text, replaced)) = body.text(headers) else {
        notes.push(format!("the body is no text: {} bytes of {kind}", body.bytes.len()));
        return raw(&Value::Null);
    };
    if replaced {
        notes.push("bytes of the body that are no text were replaced".to_owned());
    }
    let is_json = essence(kind).ends_with("json") && !body.cut;
    if !is_json {
        return raw(&Value::String(text));
    }
    match canonical_as_written(&text).map(RawValue::from_string) {
        Ok(Ok(json)) => {
            if let Err(error) = strict::check(&text) {
                notes.push(format!("the body has {error}: the last value of each key is given"));
            }
            json
        }
        Ok(Err(_)) | Err(_) => {
            notes.push("the body is no JSON, although its type says so: it is given as text".to_owned());
            raw(&Value::String(text))
        }
    }
}

fn headers(headers: &HeaderMap, notes: &mut Vec<String>) -> BTreeMap<String, String> {
    let mut shown: BTreeMap<String, String> = BTreeMap::new();
    let mut room = SHOWN_HEADER_BYTES;
    for (name, value) in headers {
        let value = String::from_utf8_lossy(value.as_bytes());
        let Some(left) = room.checked_sub(name.as_str().len() + value.len()) else {
            notes.push("some headers are left out, because there are too many".to_owned());
            break;
        };
        room = left;
        shown
            .entry(name.as_str().to_owned())
            .and_modify(|values| {
                values.push_str(", ");
                values.push_str(&value);
            })
            .or_insert_with(|| value.clone().into_owned());
    }
    shown
}

pub(super) fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "status": {"type": "integer"},
            "reason": {"type": "string"},
            "url": {"type": "string"},
            "headers": {"type": "object", "additionalProperties": {"type": "string"}},
            "body": {},
            "notes": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["status", "reason", "url", "headers", "body"],
    })
}
