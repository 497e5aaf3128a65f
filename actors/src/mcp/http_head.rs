//! What the head of an HTTP answer says of the request that was answered with it.

use std::time::Duration;

use jiff::{Timestamp, fmt::rfc2822::DateTimeParser};
use reqwest::{
    Response, StatusCode, Url,
    header::{CONTENT_TYPE, HeaderMap, HeaderName, LOCATION, RETRY_AFTER, WWW_AUTHENTICATE},
};
use tokio::time::timeout;

use super::{
    request_error::RequestError,
    said::{message, said},
};

/// How much is read of an answer that is an error, in bytes, and how long it may take.
const MOST_OF_ERROR: usize = 64 * 1024;
const ERROR_PATIENCE: Duration = Duration::from_secs(5);

/// The head of an answer that is not what was asked for.
pub(super) struct Head {
    pub(super) status: StatusCode,
    /// The media type, in small letters, without parameters.
    pub(super) kind: String,
    /// Origin and path alone: what follows may be a secret.
    location: Option<String>,
    retry_after: Option<Duration>,
    /// The first scheme of authentication that is wanted.
    scheme: Option<String>,
}

impl Head {
    pub(super) fn of(answer: &Response) -> Self {
        Self::read(answer.status(), answer.url(), answer.headers())
    }

    /// A head of which nothing is known but its status.
    pub(super) fn bare(status: StatusCode, challenge: Option<&str>) -> Self {
        let scheme = challenge.and_then(scheme);
        Self { status, kind: String::new(), location: None, retry_after: None, scheme }
    }

    fn read(status: StatusCode, asked: &Url, headers: &HeaderMap) -> Self {
        let text = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
        let location = text(LOCATION).and_then(|location| asked.join(location).ok());
        Self {
            status,
            kind: media_type(headers),
            location: location.map(|to| said(&format!("{}{}", to.origin().ascii_serialization(), to.path()))),
            retry_after: text(RETRY_AFTER).and_then(|asked| pause(asked, Timestamp::now())),
            scheme: text(WWW_AUTHENTICATE).and_then(scheme),
        }
    }

    /// What became of a request that was answered with an HTTP error.
    pub(super) fn refusal(&self, body: &str) -> RequestError {
        let words = message(body, self.is_text());
        let words = words.map_or_else(String::new, |words| format!(": {words}"));
        let status = self.status.as_u16();
        let not_run = |text: String| {
            let retry_after = self.retry_after.filter(|_| matches!(status, 429 | 503));
            RequestError::NotRun { reason: text + &words, retry_after }
        };
        let scheme = self.scheme.as_ref().map(|scheme| format!(", {scheme}")).unwrap_or_default();
        match status {
            300..400 => {
                let to = self.location.as_deref().unwrap_or("an address that it does not say");
                not_run(format!(
                    "it sends the request on to {to} (HTTP {status}), which is not followed; if that is right, \
                     configure that address"
                ))
            }
            401 => not_run(format!(
                "it wants to know who is asking (HTTP 401{scheme}); set a header or a login for it in the \
                 configuration"
            )),
            403 => not_run(format!(
                "it does not allow this (HTTP 403{scheme}); check the headers or the login that the \
                 configuration has for it"
            )),
            404 | 410 => RequestError::NotSent(format!(
                "it knows no such address (HTTP {status}); check the URL in the configuration{words}"
            )),
            405 => RequestError::NotSent(format!(
                "it takes no such requests at this address (HTTP 405); check the URL in the configuration; an older \
                 server with server-sent events has the type `sse`{words}"
            )),
            429 => not_run("it takes no more requests for now (HTTP 429)".to_owned()),
            // A gateway that says when to come back has not let the request through; without that, a server may have
            // broken over it.
            503 if self.retry_after.is_some() => {
                not_run("it takes no requests for now (HTTP 503)".to_owned())
            }
            400..500 => RequestError::Refused(format!("it refused the request (HTTP {status}){words}")),
            _ => RequestError::Lost(format!("it answered with an error (HTTP {status}){words}")),
        }
    }

    /// As [`refusal`](Self::refusal), of a request in a session.
    pub(super) fn refusal_in_session(&self, body: &str) -> RequestError {
        match self.refusal(body) {
            RequestError::NotSent(_) => {
                let words =
                    message(body, self.is_text()).map_or_else(String::new, |words| format!(": {words}"));
                let reason =
                    format!("it knows no such address or session (HTTP {}){words}", self.status.as_u16());
                RequestError::NotRun { reason, retry_after: None }
            }
            refusal => refusal,
        }
    }

    /// What became of a request whose answer is of a kind that none may be.
    pub(super) fn misfit(&self) -> RequestError {
        let kind = if self.kind.is_empty() { "no content type" } else { &self.kind };
        let hint = if self.kind == "text/html" {
            "; this may be a page for people, such as a login: check the URL and the headers"
        } else {
            ""
        };
        let status = self.status.as_u16();
        RequestError::Lost(format!(
            "its answer has {kind} where application/json or text/event-stream is due (HTTP {status}){hint}"
        ))
    }

    fn is_text(&self) -> bool {
        matches!(self.kind.as_str(), "" | "text/plain")
    }
}

/// What became of a request that was answered with an HTTP error, with the server's words.
pub(super) async fn refusal(answer: Response) -> RequestError {
    let head = Head::of(&answer);
    head.refusal(&error_body(answer).await)
}

/// The body of an answer that is an error, as far as it is of use.
pub(super) async fn error_body(mut answer: Response) -> String {
    let mut body = Vec::new();
    let reading = async {
        while let Ok(Some(piece)) = answer.chunk().await
            && body.len() < MOST_OF_ERROR
        {
            body.extend_from_slice(&piece);
        }
    };
    // What came until then is used.
    let _ = timeout(ERROR_PATIENCE, reading).await;
    String::from_utf8_lossy(&body).into_owned()
}

/// The media type of an answer, in small letters and without parameters.
pub(super) fn media_type(headers: &HeaderMap) -> String {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    said(kind.split(';').next().unwrap_or_default()).to_ascii_lowercase()
}

fn scheme(challenge: &str) -> Option<String> {
    let first = challenge.split([' ', ',']).next().unwrap_or_default();
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    Some(first.to_owned()).filter(|name| (1..=32).contains(&name.len()) && name.bytes().all(is_name))
}

/// The pause that a server asks for, in seconds or until a date.
fn pause(asked: &str, now: Timestamp) -> Option<Duration> {
    let asked = asked.trim();
    if !asked.is_empty() && asked.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(Duration::from_secs(asked.parse().unwrap_or(u64::MAX)));
    }
    let until = DateTimeParser::new().parse_timestamp(asked).ok()?;
    // One that is over is none.
    Some(Duration::try_from(until.duration_since(now)).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(status: u16, headers: &[(&str, &str)]) -> Head {
        let pairs = headers.iter().map(|(name, value)| {
            (HeaderName::try_from(*name).unwrap(), reqwest::header::HeaderValue::from_str(value).unwrap())
        });
        let url = Url::parse("http://host/mcp").unwrap();
        Head::read(StatusCode::from_u16(status).unwrap(), &url, &pairs.collect())
    }

    #[test]
    fn each_status_says_what_became_of_the_request_and_what_to_do() {
        let challenge = ("www-authenticate", "Bearer realm=\"x\", token=\"hush\"");
        let text = ("content-type", "TEXT/Plain; charset=utf-8");
        for (status, headers, body, start, end) in [
            (401, vec![challenge], "", "NotRun", "login"),
            (403, vec![text], "not\nyou", "NotRun", "not\\nyou"),
            (302, vec![("location", "/login?token=hush")], "", "NotRun", "http://host/login (HTTP 302)"),
            (307, vec![("location", "https://u:hush@other:1/x#hush")], "", "NotRun", "https://other:1/x"),
            (404, vec![], "", "NotSent", "HTTP 404"),
            (405, vec![], "", "NotSent", "HTTP 405"),
            (400, vec![], r#"{"error":{"message":"bad"}}"#, "Refused", "(HTTP 400): bad"),
            (500, vec![text], "oops", "Lost", "(HTTP 500): oops"),
            (500, vec![("content-type", "text/html")], "<html>", "Lost", "(HTTP 500)"),
            (503, vec![], "", "Lost", "(HTTP 503)"),
            (503, vec![("retry-after", "1")], "", "NotRun", "(HTTP 503)"),
        ] {
            let error = format!("{:?}", read(status, &headers).refusal(body));
            let error = error.replace("\\\\", "\\");
            assert!(error.starts_with(start) && error.contains(end), "{status}: {error}");
            assert!(!error.contains("hush"), "{error}");
        }
        let RequestError::NotRun { reason, .. } = read(401, &[challenge]).refusal("") else { panic!() };
        assert!(reason.contains("(HTTP 401, Bearer)"), "{reason}");
        let page = read(200, &[("content-type", "Text/HTML; charset=x")]).misfit().to_string();
        assert!(page.contains("text/html") && page.contains("login"), "{page}");
    }

    #[test]
    fn a_pause_is_asked_for_in_seconds_or_until_a_date() {
        let now: Timestamp = "2026-12-01T10:00:00Z".parse().unwrap();
        for (asked, seconds) in [
            ("7", Some(7)),
            (" 0 ", Some(0)),
            ("Tue, 01 Dec 2026 10:01:00 GMT", Some(60)),
            ("Tue, 01 Dec 2026 09:00:00 GMT", Some(0)),
            ("99999999999999999999999", Some(u64::MAX)),
            ("soon", None),
            ("-1", None),
            ("", None),
        ] {
            assert_eq!(pause(asked, now).map(|pause| pause.as_secs()), seconds, "{asked}");
        }
        let RequestError::NotRun { retry_after, .. } = read(429, &[("retry-after", "2")]).refusal("") else {
            panic!()
        };
        assert_eq!(retry_after, Some(Duration::from_secs(2)));
    }
}
