//! Answers that are not quite JSON, or not quite what they should be: over every link, each ends its call at once.

use std::time::Duration;

use serde_json::{Value, json};
use toolyard::{Engine, Outcome, ToolResult};

use super::{
    engine_with, output,
    rogue::{LINKS, Rogue},
    run, status, within,
};

/// A character for each byte, as the server wants it.
fn latin(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| char::from(*byte)).collect()
}

async fn raw(engine: &Engine, line: &[u8]) -> ToolResult {
    within("an answer", run(engine, "s_raw", json!({"line": latin(line)}))).await
}

/// An answer whose result is this text.
fn answer(result: &[u8]) -> Vec<u8> {
    [br#"{"jsonrpc":"2.0","id":@,"result":"#.as_slice(), result, b"}"].concat()
}

fn text(text: &[u8]) -> Vec<u8> {
    answer(&[br#"{"content":[{"type":"text","text":""#.as_slice(), text, br#""}]}"#].concat())
}

#[tokio::test]
async fn what_is_harmless_is_mended_and_noted_over_every_link() {
    for link in LINKS {
        let rogue = Rogue::start(link).await;
        let engine = engine_with([("s", rogue.config.clone())]).await;
        let mut faults = vec![
            (text(br"cut \ud83d"), "cut \u{fffd}", "surrogate"),
            (text(b"a\tb"), "a\tb", "control character"),
            (text(b"a\x01b"), "a\u{1}b", "control character"),
        ];
        // Elsewhere events are taken apart by the protocol's library, which takes UTF-8 alone.
        if link != "events" {
            faults.push((text(b"a\xff\xfeb"), "a\u{fffd}\u{fffd}b", "UTF-8"));
        }
        for (line, expected, note) in faults {
            let result = raw(&engine, &line).await;
            assert_eq!(
                result.output.clone().map(|output| output.to_value()),
                Some(json!(expected)),
                "{link}: {result:?}"
            );
            let notes = result.detail.unwrap().notes;
            assert!(notes.len() == 1 && notes[0].contains(note), "{link}: {notes:?}");
        }
        let good = text(b"good");
        for line in [
            [b"\xef\xbb\xbf", &*good].concat(),
            [b"starting... ", &*good].concat(),
            [b" \t", &*good].concat(),
        ] {
            let result = raw(&engine, &line).await;
            assert_eq!(result.output, Some("good".into()), "{link}: {result:?}");
        }
        assert_eq!(status(&engine)["s"].generation, 1, "{link}");
        engine.shutdown(Duration::ZERO).await;
    }
}

#[tokio::test]
async fn an_answer_that_cannot_be_read_ends_its_call_over_every_link() {
    let deep = [b"[".repeat(300), b"]".repeat(300)].concat();
    for link in LINKS {
        let rogue = Rogue::start(link).await;
        let engine = engine_with([("s", rogue.config.clone())]).await;
        for value in [b"NaN".as_slice(), b"-Infinity", &deep, b"01", b"{"] {
            let line = answer(&[br#"{"content":[],"structuredContent":{"v":"#, value, b"}}"].concat());
            let result = raw(&engine, &line).await;
            assert_eq!(result.outcome, Outcome::Lost, "{link}: {result:?}");
        }
        assert_eq!(output(&engine, "s_echo", json!({})).await, "echo");
        assert_eq!(status(&engine)["s"].generation, 1, "{link}");
        engine.shutdown(Duration::ZERO).await;
    }
}

#[tokio::test]
async fn an_unreadable_answer_says_why_and_several_messages_on_a_line_are_read() {
    let rogue = Rogue::start("stdio").await;
    let engine = engine_with([("s", rogue.config.clone())]).await;
    let result = raw(&engine, &answer(br#"{"content":[],"structuredContent":{"v":NaN}}"#)).await;
    let error = result.error.unwrap();
    assert!(error.contains("its answer cannot be read: expected value") && error.contains("NaN"), "{error}");
    let ping = br#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#;
    for between in [b"".as_slice(), b" \t ", b","] {
        let line = [ping, between, &*text(b"second")].concat();
        assert_eq!(raw(&engine, &line).await.output, Some("second".into()));
        let line = [b"[".as_slice(), &*text(b"first"), between, ping, b"]"].concat();
        assert_eq!(raw(&engine, &line).await.output, Some("first".into()));
    }
    engine.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn all_of_an_answer_is_passed_as_it_was_written_over_every_link() {
    let content = r#"[{"type":"text","text":"t","annotations":{"priority":0.1},"more":1.10},{"type":"hologram","n":123456789012345678901},{"type":"text","text":null}]"#;
    let meta = r#"{"cost":0.10,"toolyard/structured-content":"{}"}"#;
    for link in LINKS {
        let rogue = Rogue::start(link).await;
        let engine = engine_with([("s", rogue.config.clone())]).await;
        let result =
            raw(&engine, &answer(format!(r#"{{"content":{content},"_meta":{meta}}}"#).as_bytes())).await;
        let detail = result.detail.unwrap();
        assert_eq!(result.output.unwrap().to_text(), content, "{link}");
        assert_eq!(detail.content.unwrap().to_text(), content, "{link}");
        assert_eq!(detail.meta.unwrap().to_text(), meta, "{link}");
        let line = answer(
            br#"{"content":[{"type":"text","text":"9999999999999999999999"}],"structuredContent":null}"#,
        );
        assert_eq!(raw(&engine, &line).await.output, Some("9999999999999999999999".into()), "{link}");
        engine.shutdown(Duration::ZERO).await;
    }
}

#[tokio::test]
async fn a_tool_whose_schema_is_too_deep_is_left_out_alone_over_every_link() {
    for link in LINKS {
        let rogue = Rogue::start(link).await;
        let engine = engine_with([("s", rogue.config.clone())]).await;
        assert_eq!(output(&engine, "s_echo", json!({})).await, Value::from("echo"), "{link}");
        let problems = &status(&engine)["s"].problems;
        assert!(problems.len() == 1 && problems[0].contains("\"deep\" is left out"), "{link}: {problems:?}");
        engine.shutdown(Duration::ZERO).await;
    }
}
