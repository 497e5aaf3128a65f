//! The content blocks of a result, of which no more is read than what they are.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{Error, IgnoredAny, SeqAccess, Visitor},
};
use serde_json::value::RawValue;

/// How many content blocks a result may have: far more than a model can be shown, and whatever reads them takes many times
/// as much memory for each as its text has.
pub(super) const MOST_BLOCKS: usize = 10_000;

/// The blocks of a result.
pub(super) struct Blocks {
    /// The text of each; `None` when one of them is something else.
    pub(super) texts: Option<Vec<String>>,
    /// There is at most one, and it has nothing but a text.
    pub(super) is_plain: bool,
}

impl<'de> Deserialize<'de> for Blocks {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(BlocksVisitor)
    }
}

struct BlocksVisitor;

impl<'de> Visitor<'de> for BlocksVisitor {
    type Value = Blocks;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of content blocks")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut blocks: A) -> Result<Blocks, A::Error> {
        let (mut texts, mut is_plain, mut count) = (Some(Vec::new()), true, 0);
        while let Some(block) = blocks.next_element::<&RawValue>()? {
            count += 1;
            if count > MOST_BLOCKS {
                return Err(A::Error::custom(format!("it has more than {MOST_BLOCKS} content blocks")));
            }
            let object = Some(block.get()).filter(|block| block.starts_with('{'));
            let plain = object.and_then(plain_text);
            is_plain = count == 1 && plain.is_some();
            let text = plain.or_else(|| object.and_then(text));
            texts = texts.zip(text).map(|(mut texts, text)| {
                texts.push(text);
                texts
            });
        }
        Ok(Blocks { texts, is_plain })
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PlainText {
    #[serde(rename = "type")]
    kind: Kind,
    text: String,
    annotations: Option<IgnoredAny>,
    #[serde(rename = "_meta")]
    meta: Option<IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Text,
}

/// The text of a list with one block that is a text and nothing else.
pub(super) fn lone_text(content: &str) -> Option<String> {
    let (block,): (&RawValue,) = serde_json::from_str(content).ok()?;
    Some(block.get()).filter(|block| block.starts_with('{')).and_then(plain_text)
}

fn plain_text(block: &str) -> Option<String> {
    serde_json::from_str::<PlainText>(block).ok()?.plain()
}

impl PlainText {
    fn plain(self) -> Option<String> {
        let Self { kind: Kind::Text, text, annotations: None, meta: None } = self else { return None };
        Some(text)
    }
}

/// The text of a block that may have more than that.
fn text(block: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Text {
        #[serde(rename = "type")]
        _kind: Kind,
        text: String,
    }
    serde_json::from_str::<Text>(block).ok().map(|block| block.text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(content: &str) -> (Option<Vec<String>>, bool) {
        let Blocks { texts, is_plain } = serde_json::from_str(content).unwrap();
        (texts, is_plain)
    }

    #[test]
    fn texts_are_told_from_other_blocks_and_from_those_that_have_more() {
        let texts = |texts: &[&str]| Some(texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>());
        for (content, expected, is_plain) in [
            ("[]", texts(&[]), true),
            (r#"[{"type":"text","text":"a"}]"#, texts(&["a"]), true),
            (r#"[{"text":"a","annotations":null,"type":"text"}]"#, texts(&["a"]), true),
            (r#"[{"type":"text","text":"a","annotations":{}}]"#, texts(&["a"]), false),
            (r#"[{"type":"text","text":"a","more":1}]"#, texts(&["a"]), false),
            (r#"[{"type":"text","text":"a"},{"type":"text","text":"b"}]"#, texts(&["a", "b"]), false),
            (r#"[{"type":"text","text":null}]"#, None, false),
            (r#"[{"type":"text","text":"a"},{"type":"hologram","text":"b"}]"#, None, false),
            (r#"["a"]"#, None, false),
            (r#"[["text","a",null,null]]"#, None, false),
        ] {
            assert_eq!(read(content), (expected.clone(), is_plain), "{content}");
            let lone = expected.filter(|texts| is_plain && texts.len() == 1).map(|mut texts| texts.remove(0));
            assert_eq!(lone_text(content), lone, "{content}");
        }
    }

    #[test]
    fn there_may_be_so_many_blocks_and_no_more() {
        let content = |count: usize| format!("[{}]", vec![r#"{"type":"text","text":""}"#; count].join(","));
        assert_eq!(read(&content(MOST_BLOCKS)).0.unwrap().len(), MOST_BLOCKS);
        let error = serde_json::from_str::<Blocks>(&content(MOST_BLOCKS + 1)).err().unwrap().to_string();
        assert!(error.starts_with("it has more than 10000 content blocks"), "{error}");
    }
}
