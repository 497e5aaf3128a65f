//! The body of an answer, as far as it may be read.

use encoding_rs::{Encoding, UTF_8};
use reqwest::{
    Response,
    header::{CONTENT_TYPE, HeaderMap},
};

/// The first bytes of an answer's body.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Body {
    /// The bytes, unpacked.
    pub bytes: Vec<u8>,
    /// There were more, which were not read.
    pub cut: bool,
}

impl Body {
    /// Reads up to `limit` bytes into `self` and stops there: what a server sends beyond costs nothing.
    pub(super) async fn read(&mut self, response: &mut Response, limit: usize) -> Result<(), reqwest::Error> {
        while let Some(chunk) = response.chunk().await? {
            let room = limit - self.bytes.len();
            self.bytes.extend_from_slice(&chunk[..chunk.len().min(room)]);
            if chunk.len() > room {
                self.cut = true;
                return Ok(());
            }
        }
        Ok(())
    }

    /// The body as text in the encoding that `headers` say, else UTF-8; a character that was cut through is left out.
    /// The flag tells whether bytes did not fit and were replaced. `None` when it is no text at all.
    pub fn text(&self, headers: &HeaderMap) -> Option<(String, bool)> {
        let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        if !says_text(kind) && (self.bytes.contains(&0) || self.utf8_is_broken()) {
            return None;
        }
        let encoding = charset(kind).unwrap_or(UTF_8);
        let mut decoder = encoding.new_decoder();
        let mut text = String::new();
        text.reserve(decoder.max_utf8_buffer_length(self.bytes.len()).unwrap_or(self.bytes.len()));
        let (.., replaced) = decoder.decode_to_string(&self.bytes, &mut text, !self.cut);
        Some((text, replaced))
    }

    fn utf8_is_broken(&self) -> bool {
        let cut_through = |error: std::str::Utf8Error| self.cut && error.error_len().is_none();
        std::str::from_utf8(&self.bytes).is_err_and(|error| !cut_through(error))
    }
}

/// The media type without its parameters, in lower case.
pub(in crate::builtin) fn essence(kind: &str) -> String {
    kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

fn says_text(kind: &str) -> bool {
    let essence = essence(kind);
    let (kind, subtype) = essence.split_once('/').unwrap_or((&essence, ""));
    kind == "text"
        || subtype.ends_with("+json")
        || subtype.ends_with("+xml")
        || matches!(subtype, "json" | "xml" | "javascript" | "x-www-form-urlencoded" | "yaml" | "x-ndjson")
}

fn charset(kind: &str) -> Option<&'static Encoding> {
    let parameters = kind.split(';').skip(1).filter_map(|parameter| parameter.split_once('='));
    let charset = parameters.into_iter().find(|(name, _)| name.trim().eq_ignore_ascii_case("charset"))?;
    Encoding::for_label(charset.1.trim().trim_matches('"').as_bytes())
}

#[cfg(test)]
mod tests {
    use reqwest::header::HeaderValue;

    use super::*;

    fn text(kind: &'static str, bytes: &[u8], cut: bool) -> Option<(String, bool)> {
        let headers = HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static(kind))]);
        Body { bytes: bytes.to_vec(), cut }.text(&headers)
    }

    #[test]
    fn text_is_decoded_as_the_headers_say_and_cut_between_characters() {
        let whole = |text: &str| Some((text.to_owned(), false));
        assert_eq!(text("text/plain", "grün".as_bytes(), false), whole("grün"));
        assert_eq!(text("text/plain; Charset=\"ISO-8859-1\"", b"gr\xfcn", false), whole("grün"));
        assert_eq!(text("text/plain", "a€".as_bytes().split_last().unwrap().1, true), whole("a"));
        assert_eq!(
            text("text/plain", "a€".as_bytes().split_last().unwrap().1, false).unwrap().0,
            "a\u{fffd}"
        );
        assert_eq!(text("application/json", b"\xff{}", false), Some(("\u{fffd}{}".to_owned(), true)));
    }

    #[test]
    fn what_is_no_text_is_not_shown_as_text() {
        assert_eq!(text("image/png", b"\x89PNG\x00", false), None);
        assert_eq!(text("application/octet-stream", b"\xff\xfe\xfa", false), None);
        assert_eq!(text("application/octet-stream", b"plain", false), Some(("plain".to_owned(), false)));
        assert_eq!(text("", b"plain", false), Some(("plain".to_owned(), false)));
        assert_eq!(text("", "€".as_bytes().split_last().unwrap().1, true), Some((String::new(), false)));
    }
}
