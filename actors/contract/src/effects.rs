//! What kinds of effect a tool says that it has.

use serde::{Deserialize, Serialize};

/// Kinds of effect (`network`, `filesystem`): trimmed, lower-case, in the order given, duplicates kept.
///
/// A tool may say nothing, say that it has none, or name them. Saying nothing is no promise: such a tool may do
/// anything. In documents: `null`, `[]`, or a list of texts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Option<Vec<String>>")]
pub struct EffectTags(Option<Vec<String>>);

impl EffectTags {
    /// Says that there are none.
    pub fn none() -> Self {
        Self(Some(Vec::new()))
    }

    /// What the tool says; `None` when it says nothing.
    pub fn said(&self) -> Option<&[String]> {
        self.0.as_deref()
    }

    /// The tags; none, too, when the tool says nothing.
    pub fn as_slice(&self) -> &[String] {
        self.said().unwrap_or_default()
    }
}

/// Says so many, also when it is none.
impl<S: ToString> FromIterator<S> for EffectTags {
    fn from_iter<I: IntoIterator<Item = S>>(tags: I) -> Self {
        let clean = tags.into_iter().map(|tag| tag.to_string().trim().to_lowercase());
        Self(Some(clean.filter(|tag| !tag.is_empty()).collect()))
    }
}

impl From<Option<Vec<String>>> for EffectTags {
    fn from(said: Option<Vec<String>>) -> Self {
        said.map_or(Self(None), Self::from_iter)
    }
}

/// A lone text is one tag.
impl From<&str> for EffectTags {
    fn from(tag: &str) -> Self {
        Self::from_iter([tag])
    }
}

impl<S: ToString, const N: usize> From<[S; N]> for EffectTags {
    fn from(tags: [S; N]) -> Self {
        Self::from_iter(tags)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_cleaned_and_keep_order_and_duplicates() {
        let tags = EffectTags::from([" Network ", "", "FS", "network"]);
        assert_eq!(tags.as_slice(), ["network", "fs", "network"]);
        assert_eq!(EffectTags::from("One").as_slice(), ["one"]);
    }

    #[test]
    fn nothing_said_is_not_the_same_as_none() {
        let unsaid = EffectTags::default();
        assert_eq!((unsaid.said(), unsaid.as_slice()), (None, &[][..]));
        assert_eq!(EffectTags::none().said(), Some(&[][..]));
        assert_ne!(unsaid, EffectTags::none());
        for (tags, text) in
            [(unsaid, "null"), (EffectTags::none(), "[]"), (EffectTags::from("disk"), r#"["disk"]"#)]
        {
            assert_eq!(serde_json::to_string(&tags).unwrap(), text);
            assert_eq!(serde_json::from_str::<EffectTags>(text).unwrap(), tags);
        }
    }
}
