//! Calls that are read at a glance, without a parser: in the native form or in OpenAI's, with nothing unusual in them.

use toolyard_contract::{Arguments, CallId, ToolCall, strict::Scan};

/// The fields that such a call has.
#[derive(Default)]
struct Fields<'a> {
    name: Option<&'a str>,
    arguments: Option<Arguments>,
    id: Option<&'a str>,
    is_function: bool,
    has_function: bool,
}

/// Takes a call; nothing when it takes a parser to tell what it is.
pub(super) fn call(scan: &mut Scan<'_>) -> Option<ToolCall> {
    let mut call = Fields::default();
    scan.fields(|key, scan| match key {
        "name" if !call.has_function => once(&mut call.name, scan.string()),
        "arguments" if !call.has_function => once(&mut call.arguments, arguments(scan)),
        "id" => once(&mut call.id, scan.string()),
        "type" if !call.is_function => {
            call.is_function = scan.string()? == "function";
            call.is_function.then_some(())
        }
        "function" if call.name.is_none() && call.arguments.is_none() && !call.has_function => {
            call.has_function = true;
            scan.fields(|key, scan| match key {
                "name" => once(&mut call.name, scan.string()),
                "arguments" => once(&mut call.arguments, arguments(scan)),
                _ => None,
            })
        }
        _ => None,
    })?;
    let name = call.name.filter(|name| !name.trim_start().is_empty())?.into();
    let id = call.id.map_or(CallId::Absent, CallId::from);
    Some(ToolCall { name, arguments: call.arguments.unwrap_or_default(), id })
}

/// Fills a field in, unless it was there before.
fn once<T>(field: &mut Option<T>, value: Option<T>) -> Option<()> {
    field.replace(value?).is_none().then_some(())
}

fn arguments(scan: &mut Scan<'_>) -> Option<Arguments> {
    let at = *scan;
    if let Some(object) = scan.object() {
        return Some(Arguments::Plain(object));
    }
    *scan = at;
    scan.quoting().map(Arguments::from_text)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::value::RawValue;
    use toolyard_contract::CompactString;

    use super::*;
    use crate::formats::item::read_call;

    const GOOD: [&str; 5] = [
        r#"{"id":"call_1","name":"add","arguments":{"a":12.5,"b":-2}}"#,
        r#"{ "name" : "Zoë" , "arguments" : "{\"a\": {\"path\": \"C:\\\\x\"}}" }"#,
        r#"{"id":"c","type":"function","function":{"name":"add","arguments":"{\"a\":1,\"b\":[true]}"}}"#,
        r#"{"type":"function","name":"add"}"#,
        r#"{"function":{"name":"add","arguments":{}},"id":""}"#,
    ];

    type Parts = (CompactString, Arguments, CallId);

    /// What a glance makes of it where that is enough, and a parser.
    fn both(text: &str) -> Option<[Parts; 2]> {
        let parts = |ToolCall { name, arguments, id }| (name, arguments, id);
        let mut scan = Scan::new(text);
        let call = call(&mut scan)?;
        if !scan.is_at_end() {
            return None;
        }
        let raw: &RawValue = serde_json::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        let parsed = read_call(raw, 0).unwrap_or_else(|error| panic!("{text}: {error}"));
        Some([call, parsed].map(parts))
    }

    #[test]
    fn usual_calls_are_read_at_a_glance_and_as_a_parser_reads_them() {
        for text in GOOD {
            let [glanced, parsed] = both(text).unwrap_or_else(|| panic!("takes a parser: {text}"));
            assert_eq!(glanced, parsed);
        }
    }

    #[test]
    fn what_is_unusual_takes_a_parser() {
        for text in [
            r#"{"id":null,"name":"add"}"#,
            r#"{"id":7,"name":"add"}"#,
            r#"{"name":" "}"#,
            r#"{"name":"add","name":"add"}"#,
            r#"{"name":"a\u0064d"}"#,
            r#"{"name":"add","arguments":{"a":1,"a":2}}"#,
            r#"{"name":"add","arguments":"a\nb"}"#,
            r#"{"name":"add","arguments":[1]}"#,
            r#"{"name":"add","status":"incomplete"}"#,
            r#"{"name":"add","function":{"name":"other"}}"#,
            r#"{"function":{"name":"add"},"arguments":{}}"#,
            r#"{"function":{"name":"add","id":"x"}}"#,
            r#"{"type":"tool_use","name":"add"}"#,
            r#"{"name":"add"} x"#,
            r#"{"name":"add""#,
        ] {
            assert!(both(text).is_none(), "{text}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        #[test]
        fn a_call_that_was_changed_anywhere_is_read_as_a_parser_reads_it(
            good in prop::sample::select(&GOOD[..]),
            changes in prop::collection::vec((0_usize..100, 0_usize..3, prop::sample::select(vec![
                "", "\"", "\\", "\\\"", "{", "}", "[", "]", ",", ":", " ", "null", "\"id\":\"x\",", "\"name\":\"y\",",
                "\"arguments\":{},", "\"type\":\"function\",", "\"function\":{\"name\":\"z\"},", "\n", "\u{1}", "ë", "0",
            ])), 1..4),
        ) {
            let mut text = good.to_owned();
            for (at, cut, inserted) in changes {
                let at = (0..=at % text.len().max(1)).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
                let end = (at + cut..=text.len()).find(|&end| text.is_char_boundary(end)).unwrap_or(text.len());
                text.replace_range(at.min(end)..end, inserted);
            }
            if let Some([glanced, parsed]) = both(&text) {
                prop_assert_eq!(glanced, parsed, "{}", text);
            }
        }
    }
}
