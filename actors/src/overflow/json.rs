//! Shortens JSON so that it stays JSON: whoever parses it finds the beginning of everything, and is told what is missing.

use std::fmt;

use serde::{
    Deserializer,
    de::{MapAccess, Visitor},
};
use serde_json::value::RawValue;

/// How deep a value is looked into; what is deeper and too long is left out as a whole.
const DEEPEST: usize = 64;
/// About what it takes to say what is left out.
const NOTE: usize = 64;

/// Shortens a value to about `room` bytes. Numbers and short parts keep their spelling.
pub(super) fn shorten(json: &RawValue, room: usize) -> String {
    let mut out = String::with_capacity(room + NOTE);
    put(&mut out, json, room, 0);
    out
}

fn put(out: &mut String, json: &RawValue, room: usize, depth: usize) {
    let text = json.get();
    if text.len() <= room {
        return out.push_str(text);
    }
    let room = room.saturating_sub(NOTE);
    let kind = text.as_bytes().first().filter(|_| depth < DEEPEST);
    let done = match kind {
        Some(b'"') => serde_json::from_str(text).map(|text: String| put_text(out, &text, room)),
        Some(b'[') => serde_json::from_str(text).map(|items: Vec<&RawValue>| {
            put_items(out, &items, room, depth);
        }),
        Some(b'{') => serde_json::Deserializer::from_str(text)
            .deserialize_map(Fields)
            .map(|fields| put_fields(out, &fields, room, depth)),
        _ => {
            put_quoted(out, &format!("[… {} bytes are left out …]", text.len()));
            Ok(())
        }
    };
    if done.is_err() {
        // Something that was JSON before cannot be none now; whatever comes of it has to be JSON.
        out.push_str("null");
    }
}

/// Writes the head and the tail of a text.
fn put_text(out: &mut String, text: &str, room: usize) {
    let mut kept = room.min(text.len());
    loop {
        let short = super::head_and_tail(text, kept);
        let quoted = quoted(&short);
        // What has to be escaped takes more room.
        if kept == 0 || quoted.len() <= room + NOTE {
            return out.push_str(&quoted);
        }
        kept /= 2;
    }
}

fn put_items(out: &mut String, items: &[&RawValue], room: usize, depth: usize) {
    let end = out.len() + room;
    out.push('[');
    let mut shown = 0;
    for item in items {
        let left = end.saturating_sub(out.len());
        if left < NOTE && item.get().len() > left {
            break;
        }
        put(out, item, left, depth + 1);
        out.push(',');
        shown += 1;
        if item.get().len() > left {
            break; // nothing else fits
        }
    }
    if shown < items.len() {
        let (missing, all) = (items.len() - shown, items.len());
        put_quoted(out, &format!("[… {missing} of {all} items are left out …]"));
    } else if shown > 0 {
        out.pop();
    }
    out.push(']');
}

fn put_fields(out: &mut String, fields: &[(String, &RawValue)], room: usize, depth: usize) {
    let end = out.len() + room;
    out.push('{');
    let mut shown = 0;
    for (name, value) in fields {
        let name = quoted(name);
        let left = end.saturating_sub(out.len() + name.len() + 1);
        if left < NOTE && value.get().len() > left {
            break;
        }
        out.push_str(&name);
        out.push(':');
        put(out, value, left, depth + 1);
        out.push(',');
        shown += 1;
        if value.get().len() > left {
            break;
        }
    }
    if shown < fields.len() {
        let mut key = "…".to_owned();
        while fields.iter().any(|(name, _)| *name == key) {
            key.push('…');
        }
        put_quoted(out, &key);
        out.push(':');
        let (missing, all) = (fields.len() - shown, fields.len());
        put_quoted(out, &format!("[… {missing} of {all} fields are left out …]"));
    } else if shown > 0 {
        out.pop();
    }
    out.push('}');
}

fn put_quoted(out: &mut String, text: &str) {
    out.push_str(&quoted(text));
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Reads the fields of an object in their order, each value as it is written.
struct Fields;

impl<'de> Visitor<'de> for Fields {
    type Value = Vec<(String, &'de RawValue)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
        let mut fields = Vec::new();
        while let Some(field) = map.next_entry()? {
            fields.push(field);
        }
        Ok(fields)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn short(json: &str, room: usize) -> String {
        shorten(&RawValue::from_string(json.to_owned()).unwrap(), room)
    }

    #[test]
    fn what_is_left_out_is_said_at_its_place() {
        let numbers = json!((0..1_000).collect::<Vec<_>>()).to_string();
        let shown: Value = serde_json::from_str(&short(&numbers, 200)).unwrap();
        let shown = shown.as_array().unwrap();
        let (last, first) = shown.split_last().unwrap();
        assert!(first.len() > 20 && first.iter().enumerate().all(|(n, item)| *item == n));
        assert_eq!(*last, json!(format!("[… {} of 1000 items are left out …]", 1_000 - first.len())));

        let text = json!({"id": 7, "text": "é".repeat(1_000), "z": 1}).to_string();
        let shown: Value = serde_json::from_str(&short(&text, 300)).unwrap();
        assert_eq!((&shown["id"], &shown["…"]), (&json!(7), &json!("[… 1 of 3 fields are left out …]")));
        let text = shown["text"].as_str().unwrap();
        assert!(
            text.starts_with("éé") && text.ends_with("éé") && text.contains("of 2000 bytes are left out")
        );
    }

    #[test]
    fn integers_keep_their_digits_and_a_number_that_is_too_long_is_named() {
        let digits = "7".repeat(400);
        let shown = short(&format!("[123456789012345678901234567890,{digits},2]"), 200);
        assert!(
            shown.starts_with("[123456789012345678901234567890,\"[… 400 bytes are left out …]\""),
            "{shown}"
        );
    }

    /// Values of every shape, by a number.
    fn value(seed: &mut u64, depth: usize) -> Value {
        let mut next = |below: u64| {
            *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (*seed >> 33) % below
        };
        let (kind, many) = (next(if depth == 0 { 4 } else { 7 }), next(9));
        match kind {
            0 => Value::Null,
            1 => json!(many * 1_000_003),
            2 => json!("\u{1}\"é…x".repeat(usize::try_from(many * many * 3).unwrap())),
            3 => json!(0.5),
            4 => (0..many).map(|_| value(seed, depth - 1)).collect(),
            5 => (0..many * 10).map(|n| json!(n)).collect(),
            _ => {
                let fields = (0..many).map(|n| {
                    (format!("{}…", "k".repeat(usize::try_from(n).unwrap() * 9)), value(seed, depth - 1))
                });
                Value::Object(fields.collect())
            }
        }
    }

    #[test]
    fn whatever_is_shortened_stays_json_and_gets_short() {
        for mut seed in 0..2_000 {
            let json = value(&mut seed, 5).to_string();
            for room in [0, 1, 20, 100, 300, 1_000] {
                let short = short(&json, room);
                assert!(serde_json::from_str::<Value>(&short).is_ok(), "{room}: {json} became {short}");
                assert!(short.len() <= room.max(NOTE) + 3 * NOTE, "{room}: {} bytes: {short}", short.len());
                assert!(json.len() > room || short == json);
            }
        }
        let deep = format!("{}{}", "[".repeat(20_000), "]".repeat(20_000));
        assert!(serde_json::from_str::<Value>(&short(&deep, 10_000)).is_ok());
    }
}
