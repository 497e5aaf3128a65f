//! The arguments of a call, read in one way by everybody who asks about it.

use std::collections::BTreeMap;

use reqwest::{
    Method,
    header::{
        CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, HOST, HeaderMap, HeaderName, HeaderValue, TE, TRAILER,
        TRANSFER_ENCODING, UPGRADE,
    },
};
use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};
use toolyard_contract::Failure;

use crate::builtin::web::{MOST_HEADERS, WebRequest, read_url};

/// One call, checked.
pub(super) struct HttpCall {
    pub(super) request: WebRequest,
    /// How often it may be tried, where the call says.
    pub(super) attempts: Option<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Given {
    url: Option<String>,
    input: Option<String>,
    method: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    body: Option<Box<RawValue>>,
    json: Option<Box<RawValue>>,
    retries: Option<u32>,
}

/// Headers that say how a message is sent, which is not for a call to say.
const OURS: [HeaderName; 7] = [HOST, CONTENT_LENGTH, TRANSFER_ENCODING, CONNECTION, UPGRADE, TE, TRAILER];

const METHODS: [Method; 7] =
    [Method::GET, Method::HEAD, Method::POST, Method::PUT, Method::PATCH, Method::DELETE, Method::OPTIONS];

impl HttpCall {
    /// Reads the text of an arguments object.
    pub(super) fn read(arguments: &str) -> Result<Self, Failure> {
        let given: Given =
            serde_json::from_str(arguments).map_err(|error| Failure::bad_arguments(error.to_string()))?;
        let url = [&given.url, &given.input].into_iter().flatten().find(|url| !url.trim().is_empty());
        let url = url.ok_or_else(|| Failure::bad_arguments("no URL: name it in `url`"))?;
        let mut request = WebRequest::new(method(given.method.as_deref())?, read_url(url)?);
        request.headers = headers(&given.headers)?;
        let body = body(given.body.as_deref(), given.json.as_deref())?;
        if let Some((kind, bytes)) = body {
            if matches!(request.method, Method::GET | Method::HEAD) {
                let text = format!("a {} request has no body: leave it out, or use POST", request.method);
                return Err(Failure::bad_arguments(text));
            }
            request.headers.entry(CONTENT_TYPE).or_insert(HeaderValue::from_static(kind));
            request.body = bytes;
        }
        Ok(Self { request, attempts: given.retries.map(|tries| tries.max(1)) })
    }

    /// Tells whether the call only looks.
    pub(super) fn only_reads(&self) -> bool {
        matches!(self.request.method, Method::GET | Method::HEAD)
    }

    /// The resource that the call touches: host and path.
    pub(super) fn resource(&self) -> String {
        let url = &self.request.url;
        let (host, port) =
            (url.host_str().unwrap_or_default(), url.port_or_known_default().unwrap_or_default());
        format!("http/{host}:{port}{}", url.path())
    }
}

fn method(given: Option<&str>) -> Result<Method, Failure> {
    let given = given.map(str::trim).filter(|given| !given.is_empty()).unwrap_or("GET");
    let upper = given.to_ascii_uppercase();
    METHODS.into_iter().find(|method| *method == *upper).ok_or_else(|| {
        let known = METHODS.map(|method| method.to_string()).join(", ");
        Failure::bad_arguments(format!("method {given:?} is not known: use one of {known}"))
    })
}

fn headers(given: &BTreeMap<String, String>) -> Result<HeaderMap, Failure> {
    if given.len() > MOST_HEADERS {
        let text = format!("{} headers are too many: a request has at most {MOST_HEADERS}", given.len());
        return Err(Failure::bad_arguments(text));
    }
    let header = |(name, value): (&String, &String)| {
        let bad = |reason: &str| Failure::bad_arguments(format!("header {name:?}: {reason}"));
        let key =
            HeaderName::try_from(name.trim()).map_err(|_| bad("this cannot be the name of a header"))?;
        if OURS.contains(&key) {
            return Err(bad("the tool sets it itself: leave it out"));
        }
        // The value may be a secret, so it is not repeated.
        let value = HeaderValue::try_from(value.trim()).map_err(|_| bad("its value cannot be sent"))?;
        Ok((key, value))
    };
    given.iter().map(header).collect()
}

/// The kind of a body and its bytes: JSON as it was written, or a text as it is.
fn body(
    body: Option<&RawValue>,
    json: Option<&RawValue>,
) -> Result<Option<(&'static str, Vec<u8>)>, Failure> {
    const JSON: &str = "application/json";
    let (raw, is_json) = match (body, json) {
        (Some(_), Some(_)) => return Err(Failure::bad_arguments("give `body` or `json`, not both")),
        (None, None) => return Ok(None),
        (None, Some(raw)) => (raw, true),
        (Some(raw), None) => (raw, false),
    };
    let text: Option<String> = if is_json { None } else { serde_json::from_str(raw.get()).ok() };
    Ok(Some(match text {
        Some(text) => ("text/plain; charset=utf-8", text.into_bytes()),
        None => (JSON, raw.get().as_bytes().to_vec()),
    }))
}

pub(super) fn schema() -> Value {
    // Providers refuse `anyOf` at the top of a schema, so the call itself checks that there is a URL.
    json!({
        "type": "object",
        "properties": {
            "url": {"type": "string", "description": "Where to: a whole URL, such as `https://example.org/a?b=c`."},
            "input": {"type": "string", "description": "The same as `url`, which wins."},
            "method": {"type": "string", "description": "GET (the default), HEAD, POST, PUT, PATCH, DELETE or OPTIONS."},
            "headers": {
                "type": "object",
                "additionalProperties": {"type": "string"},
                "description": "Headers. With an `Idempotency-Key` any request may be tried again.",
            },
            "body": {"description": "A text is sent as it is, anything else as JSON. Not with GET and HEAD."},
            "json": {"description": "Sent as JSON, a text too; instead of `body`."},
            "retries": {
                "type": "integer",
                "minimum": 0,
                "maximum": 10,
                "description": "How often the request is tried at most, when that cannot do anything twice.",
            },
        },
        "additionalProperties": false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(arguments: &Value) -> Result<WebRequest, String> {
        HttpCall::read(&arguments.to_string()).map(|call| call.request).map_err(|failure| failure.error)
    }

    fn sent(request: &WebRequest) -> (&str, &str) {
        let kind = request.headers[CONTENT_TYPE].to_str().unwrap();
        (std::str::from_utf8(&request.body).unwrap(), kind)
    }

    #[test]
    fn the_url_comes_from_url_else_input_and_the_method_is_trimmed_and_upper_case() {
        let request = read(&json!({"url": " ", "input": " http://a/b ", "method": " pOst "})).unwrap();
        assert_eq!((request.url.as_str(), request.method), ("http://a/b", Method::POST));
        let request = read(&json!({"url": "http://u", "input": "http://i", "method": " "})).unwrap();
        assert_eq!((request.url.as_str(), request.method), ("http://u/", Method::GET));
    }

    #[test]
    fn every_method_that_may_have_a_body_gets_it_as_it_was_written() {
        let big = r#"{"url": "http://a", "method": "patch", "body": {"n": 123456789012345678901234567890}}"#;
        let request = HttpCall::read(big).unwrap().request;
        assert_eq!(request.body, br#"{"n": 123456789012345678901234567890}"#);
        for method in ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"] {
            let request = read(&json!({"url": "http://a", "method": method, "json": {}})).unwrap();
            assert_eq!(sent(&request), ("{}", "application/json"));
        }
        let text =
            json!({"url": "http://a", "method": "POST", "body": "a=b", "headers": {"content-type": "x/y"}});
        let request = read(&text).unwrap();
        assert_eq!(sent(&request), ("a=b", "x/y"));
        let quoted = read(&json!({"url": "http://a", "method": "POST", "json": "a"})).unwrap();
        assert_eq!(quoted.body, b"\"a\"");
        assert!(read(&json!({"url": "http://a", "body": null})).unwrap().body.is_empty());
    }

    #[test]
    fn what_cannot_be_sent_is_refused_by_its_name() {
        for (arguments, expected) in [
            (json!({}), "no URL"),
            (json!({"url": "  "}), "no URL"),
            (json!({"url": "a/b"}), "the URL cannot be used: relative URL"),
            (json!({"url": "file:///etc/passwd"}), "only http and https can be reached"),
            (json!({"url": "http://a", "method": "TRACE"}), "method \"TRACE\" is not known"),
            (json!({"url": "http://a", "method": "CONNECT"}), "method \"CONNECT\" is not known"),
            (json!({"url": "http://a", "body": {}}), "a GET request has no body"),
            (json!({"url": "http://a", "method": "PUT", "body": 1, "json": 1}), "not both"),
            (
                json!({"url": "http://a", "headers": {"Host": "b"}}),
                "header \"Host\": the tool sets it itself",
            ),
            (json!({"url": "http://a", "headers": {"a b": "c"}}), "header \"a b\": this cannot be the name"),
            (
                json!({"url": "http://a", "headers": {"x": "secret\r\ny: z"}}),
                "header \"x\": its value cannot be sent",
            ),
        ] {
            let error = read(&arguments).unwrap_err();
            assert!(error.contains(expected), "{arguments}: {error}");
            assert!(!error.contains("secret"));
        }
    }

    #[test]
    fn host_and_path_are_what_a_call_touches() {
        let resource = |url: &str| HttpCall::read(&json!({"url": url}).to_string()).unwrap().resource();
        assert_eq!(resource("https://a.example/x/y?z#w"), "http/a.example:443/x/y");
        assert_eq!(resource("http://u:p@0x7f.1:8080"), "http/127.0.0.1:8080/");
    }
}
