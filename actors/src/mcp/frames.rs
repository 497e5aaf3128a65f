//! The messages in a line: one, as the protocol has it, or what clumsy servers write in its place.

use rmcp::model::JsonRpcMessage;

use super::{
    answer_id::AnswerId,
    exact::{self, Incoming, MISSHAPEN},
    request_error::RequestError,
};

/// How a message begins that stands behind something else.
const BEGIN: &[u8] = b"{\"jsonrpc\"";

/// A line, of which the messages before `at` are taken.
pub(super) struct Frames {
    line: Vec<u8>,
    at: usize,
    /// How often a message is still looked for inside something else: each time the rest of the line is read.
    tries: usize,
}

impl Frames {
    pub(super) fn new(line: Vec<u8>) -> Self {
        Self { line, at: 0, tries: 8 }
    }
}

impl Iterator for Frames {
    /// A message, or `None` for what is none.
    type Item = Option<Incoming>;

    /// Looks at the next object. What is no message is passed over, but for answers, which end their call.
    fn next(&mut self) -> Option<Option<Incoming>> {
        let rest = &self.line[self.at..];
        let begin = rest.iter().position(|byte| *byte == b'{')?;
        let rest = &rest[begin..];
        let len = len_of(rest);
        let piece = &rest[..len.unwrap_or(rest.len())];
        let read = exact::read(piece);
        // What is never closed may be no message, and hide one.
        let hides = len.is_none() && read.is_err() && self.tries > 0;
        let inner = hides.then(|| find(&piece[1..], BEGIN)).flatten();
        self.tries -= usize::from(inner.is_some());
        self.at += begin + inner.map_or(piece.len(), |inner| inner + 1);
        Some(match read {
            Ok(message) => Some(message),
            Err(_) if inner.is_some() => None,
            Err(error) => unreadable(piece, &error),
        })
    }
}

/// Writes a message from an event anew, if the library would not read it, or lose something of it; one that cannot be read
/// becomes what ends its call.
pub(super) fn rewritten(text: &str) -> Option<String> {
    match exact::rewritten(text) {
        Ok(rewritten) => rewritten,
        Err(error) => {
            // An object and nothing else is not looked at again: it may be large.
            let is_whole = text.starts_with('{') && len_of(text.as_bytes()) == Some(text.len());
            let ends = if is_whole { unreadable(text.as_bytes(), &error) } else { answer(text.as_bytes()) };
            serde_json::to_string(&ends?).ok()
        }
    }
}

/// The answer in a text that is no single message, or what ends its call; else the first message in it.
pub(super) fn answer(text: &[u8]) -> Option<Incoming> {
    let is_answer =
        |message: &Incoming| matches!(message, JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_));
    let mut first = None;
    for message in Frames::new(text.to_vec()).flatten() {
        if is_answer(&message) {
            return Some(message);
        }
        first.get_or_insert(message);
    }
    first
}

/// How long the object is with which a text begins; `None` when it has no end.
fn len_of(text: &[u8]) -> Option<usize> {
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    for (at, byte) in text.iter().enumerate() {
        match byte {
            _ if std::mem::take(&mut escaped) => {}
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'{' | b'[' if !in_string => depth += 1,
            b'}' | b']' if !in_string => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
    }
    None
}

fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    text.windows(part.len()).position(|window| window == part)
}

/// What ends the call of an answer that cannot be read. `None`: it is no answer.
pub(super) fn unreadable(text: &[u8], error: &serde_json::Error) -> Option<Incoming> {
    let mut id = AnswerId::default();
    id.feed(text);
    let Some(id) = id.found() else {
        // Servers print other things than messages, and many of them.
        tracing::debug!(%error, bytes = text.len(), "an MCP server sent something that is no message");
        return None;
    };
    let reason = match error.to_string() {
        reason if reason == MISSHAPEN => reason,
        reason if error.is_data() => format!("its answer cannot be read: {reason}"),
        reason => format!("its answer is no JSON: {reason}{}", near(text, error)),
    };
    Some(RequestError::Lost(reason).in_place_of_answer(id))
}

/// The text about the place of an error.
fn near(text: &[u8], error: &serde_json::Error) -> String {
    const BEFORE: usize = 8;
    const AFTER: usize = 16;
    let at = error.column().saturating_sub(1).min(text.len());
    let about = &text[at.saturating_sub(BEFORE)..(at + AFTER).min(text.len())];
    if error.line() == 1 && !about.is_empty() {
        format!(", near {:?}", String::from_utf8_lossy(about))
    } else {
        String::new()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// Ids, and why their calls end where they do not have a result.
    fn read(line: &str) -> Vec<(Value, Option<String>)> {
        let told = |message| {
            let value = serde_json::to_value(&message).unwrap();
            (value["id"].clone(), value["error"]["message"].as_str().map(str::to_owned))
        };
        Frames::new(line.as_bytes().to_vec()).flatten().map(told).collect()
    }

    fn answer(id: u32) -> String {
        format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{{"type":"text","text":"}}{{"}}]}}}}"#)
    }

    #[test]
    fn several_messages_on_a_line_are_read_one_by_one_and_what_stands_between_them_is_passed_over() {
        let (one, two) = (answer(1), answer(2));
        for line in [
            format!("{one}{two}\n"),
            format!(" {one} \t {two}\r\n"),
            format!("[{one},{two}]\n"),
            format!("\u{feff}{one}{{}}debug {{x}} {two} done\n"),
            format!("loading {{ {one}{two}"),
            format!("it's \"{{ {one}\n{two}"),
        ] {
            assert_eq!(read(&line), [(json!(1), None), (json!(2), None)], "{line}");
        }
        for line in
            ["", "\n", "noise\n", "{", "{}", "{\"level\":\"info\",\"id\":7}\n", "[]", "{\"id\":7}", "}{"]
        {
            assert!(read(line).is_empty(), "{line}");
        }
    }

    #[test]
    fn an_answer_that_cannot_be_read_ends_its_call_and_says_why() {
        let said = |result: &str| {
            let line = format!(r#"{{"jsonrpc":"2.0","id":7,"result":{result}}}"#);
            let mut read = read(&format!("{line}{}", answer(8)));
            assert_eq!((read.len(), &read[1]), (2, &(json!(8), None)), "{line}");
            let (id, reason) = read.swap_remove(0);
            assert_eq!(id, 7);
            reason.unwrap()
        };
        let reason = said(r#"{"structuredContent":{"x":NaN}}"#);
        assert!(reason.starts_with("its answer is no JSON: expected value at line 1 column"), "{reason}");
        assert!(reason.contains("NaN"), "{reason}");
        assert!(said(r#"{"structuredContent":{"x":Infinity}}"#).contains("Infinity"));
        let deep = format!(r#"{{"structuredContent":{}{}}}"#, "[".repeat(300), "]".repeat(300));
        assert_eq!(said(&deep), "its answer cannot be read: it is nested 302 deep, and 127 is the most");
        assert_eq!(read(r#"{"id":4,"error":"boom"}"#)[0].0, 4);
        // Requests and notices that cannot be read end nothing.
        assert!(read(r#"{"jsonrpc":"2.0","id":7,"method":"ping","params":NaN}"#).is_empty());
    }

    #[test]
    fn an_answer_that_is_cut_ends_its_call() {
        let cut = r#"{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"te"#;
        let read = read(cut);
        assert!(read.len() == 1 && read[0].1.as_deref().unwrap().contains("EOF"), "{read:?}");
    }
}
