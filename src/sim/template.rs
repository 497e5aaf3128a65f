//! Text with places that are filled in by chance.

use std::fmt::Write;

use rand_pcg::Pcg64Mcg;
use serde::{Deserialize, Serialize};

use super::chance::between;

/// Text with places: `{agent}`, the number of the agent; `{list}`, the number of its list; `{int FROM TO}`, a whole
/// number; `{pick A B …}`, one of these words.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Template {
    text: String,
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq)]
enum Part {
    Text(String),
    Agent,
    List,
    Int(u64, u64),
    Pick(Vec<String>),
}

impl Template {
    /// Reads a template of JSON text. A JSON string that is one place that gives a number becomes that number.
    pub(super) fn of_json(text: &str) -> Result<Self, String> {
        let mut parts: Vec<Part> = Vec::new();
        let mut rest = text;
        while let Some((before, place, after)) = next_place(rest, |inside| inside.starts_with(is_word)) {
            let part = place.parse_place()?;
            let quoted = before.ends_with('"') && after.starts_with('"');
            let bare = quoted && !matches!(part, Part::Pick(_));
            parts.push(Part::Text(if bare { &before[..before.len() - 1] } else { before }.to_owned()));
            parts.push(part);
            rest = if bare { &after[1..] } else { after };
        }
        parts.push(Part::Text(rest.to_owned()));
        Ok(Self { text: text.to_owned(), parts })
    }

    /// Fills the places in.
    pub(super) fn fill(&self, agent: u32, list: u32, chance: &mut Pcg64Mcg) -> String {
        let mut out = String::with_capacity(self.text.len());
        for part in &self.parts {
            // Writing to a string cannot fail.
            let _ = match part {
                Part::Text(text) => out.write_str(text),
                Part::Agent => write!(out, "{agent}"),
                Part::List => write!(out, "{list}"),
                Part::Int(from, to) => write!(out, "{}", between(chance, *from, *to)),
                Part::Pick(words) => {
                    let last_word = words.len() as u64 - 1;
                    out.write_str(&words[usize::try_from(between(chance, 0, last_word)).unwrap_or(0)])
                }
            };
        }
        out
    }
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphabetic()
}

/// Finds the first `{…}` whose inside is meant: what is before, inside and after it.
fn next_place(text: &str, is_meant: impl Fn(&str) -> bool) -> Option<(&str, &str, &str)> {
    let mut from = 0;
    loop {
        let open = from + text[from..].find('{')?;
        let inside = &text[open + 1..];
        if is_meant(inside) {
            let close = inside.find('}')?;
            return Some((&text[..open], &inside[..close], &inside[close + 1..]));
        }
        from = open + 1;
    }
}

trait ParsePlace {
    fn parse_place(&self) -> Result<Part, String>;
}

impl ParsePlace for str {
    fn parse_place(&self) -> Result<Part, String> {
        let mut words = self.split_whitespace();
        let kind = words.next().unwrap_or_default();
        let words: Vec<&str> = words.collect();
        match (kind, &words[..]) {
            ("agent", []) => Ok(Part::Agent),
            ("list", []) => Ok(Part::List),
            ("int", [from, to]) => match (from.parse(), to.parse()) {
                (Ok(from), Ok(to)) if from <= to => Ok(Part::Int(from, to)),
                _ => Err(format!("the place {{{self}}} needs two whole numbers, the smaller one first")),
            },
            ("pick", [_, ..]) => Ok(Part::Pick(words.iter().map(|&word| word.to_owned()).collect())),
            _ => Err(format!(
                "the place {{{self}}} is none of {{agent}}, {{list}}, {{int FROM TO}}, {{pick A B …}}"
            )),
        }
    }
}

impl TryFrom<String> for Template {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut rest = &*text;
        while let Some((before, place, after)) = next_place(rest, |_| true) {
            parts.push(Part::Text(before.to_owned()));
            parts.push(place.parse_place()?);
            rest = after;
        }
        parts.push(Part::Text(rest.to_owned()));
        Ok(Self { text, parts })
    }
}

impl From<Template> for String {
    fn from(template: Template) -> Self {
        template.text
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::chance::{Purpose, chance},
        *,
    };

    fn fill(template: &Template) -> String {
        template.fill(7, 3, &mut chance(1, 7, Purpose::First))
    }

    #[test]
    fn places_in_json_become_values_of_their_kind() {
        let template = Template::of_json(
            r#"{"who":"{agent}","note":"list {list}","side":"{pick buy}","n":"{int 5 5}"}"#,
        );
        assert_eq!(fill(&template.unwrap()), r#"{"who":7,"note":"list 3","side":"buy","n":5}"#);
        let nested = Template::of_json(r#"{"a":{"b":{}},"c":[{"d":"{list}"}]}"#).unwrap();
        assert_eq!(fill(&nested), r#"{"a":{"b":{}},"c":[{"d":3}]}"#);
    }

    #[test]
    fn places_in_a_name_are_filled_in() {
        let template = Template::try_from("book_{int 2 2}".to_owned()).unwrap();
        assert_eq!(fill(&template), "book_2");
        assert_eq!(fill(&Template::try_from("plain".to_owned()).unwrap()), "plain");
    }

    #[test]
    fn a_place_that_is_none_is_refused_and_named() {
        for text in ["{nobody}", "{int 2 1}", "{int x y}", "{pick}", "{agent 1}"] {
            let error = Template::try_from(text.to_owned()).unwrap_err();
            assert!(error.contains(text), "{error}");
            let error = Template::of_json(&format!("{{\"a\":\"{text}\"}}")).unwrap_err();
            assert!(error.contains(text), "{error}");
        }
    }
}
