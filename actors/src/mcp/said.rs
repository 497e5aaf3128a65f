//! What a server said, as it may stand in a reason.

use std::fmt::Write as _;

use serde_json::Value;

/// How many characters of a server's words are repeated.
const MOST: usize = 200;

/// What it said on one line, bounded, with control characters written out.
pub(super) fn said(text: &str) -> String {
    let mut line = String::new();
    let mut rest = text.trim().chars().peekable();
    for _ in 0..MOST {
        let Some(character) = rest.next() else { return line };
        // Writing to a string never fails.
        let _ = match character {
            // Also those that turn the direction of what follows.
            '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}' => {
                write!(line, "{}", character.escape_unicode())
            }
            _ if character.is_control() => write!(line, "{}", character.escape_default()),
            _ => write!(line, "{character}"),
        };
    }
    if rest.peek().is_some() {
        line.push('…');
    }
    line
}

/// The message in the body of an answer that is an error, if it has one.
pub(super) fn message(body: &str, is_text: bool) -> Option<String> {
    let found = match serde_json::from_str::<Value>(body) {
        Ok(value) => in_value(&value)?,
        Err(_) if is_text => body.to_owned(),
        Err(_) => return None,
    };
    Some(said(&found)).filter(|message| !message.is_empty())
}

fn in_value(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Object(fields) => ["message", "error_description", "detail", "error", "title"]
            .iter()
            .find_map(|key| fields.get(*key).filter(|inner| !inner.is_null()).and_then(in_value)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_server_said_is_one_bounded_line() {
        assert_eq!(said(" a\r\nb\u{1b}[31m\u{202e} é "), "a\\r\\nb\\u{1b}[31m\\u{202e} é");
        let long = said(&"é".repeat(1_000));
        assert_eq!(long.chars().count(), MOST + 1);
        assert!(long.ends_with('…'));
    }

    #[test]
    fn the_message_of_an_error_is_found_where_servers_put_it() {
        for body in [
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"no"}}"#,
            r#"{"error":"no"}"#,
            r#"{"error":"invalid_token","error_description":"no"}"#,
            r#"{"detail":"no"}"#,
            r#""no""#,
        ] {
            assert_eq!(message(body, false).as_deref(), Some("no"), "{body}");
        }
        assert_eq!(message("no\n", true).as_deref(), Some("no"));
        assert_eq!(message("<html>no</html>", false), None);
        assert_eq!(message("", true), None);
        assert_eq!(message("[]", true), None);
    }
}
