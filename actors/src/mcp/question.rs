//! What servers ask people, and what is made of the answers.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json, value::RawValue};
use toolyard_contract::Failure;

/// The longest question that is shown, in bytes; a server may say anything.
const LONGEST: usize = 8 * 1024;

/// What a call that waits for answers keeps in the record of its list.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Asked {
    /// Where this process holds the request that the server waits with; only with a server that has a session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) held: Option<String>,
    /// What the server wants back; only with one that has no session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) state: Option<String>,
    /// The parameters of `elicitation/create`, each under the server's key.
    pub(super) questions: BTreeMap<String, Value>,
    /// What the host has answered already.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) answered: BTreeMap<String, Value>,
}

impl Asked {
    /// One question of a server with a session.
    pub(super) fn held(key: String, question: Value) -> Self {
        let questions = BTreeMap::from([(String::new(), question)]);
        Self { held: Some(key), questions, ..Self::default() }
    }

    /// What a call gives back that waits for the answers.
    pub(super) fn needs_input(&self, server: &str, arguments: String) -> Failure {
        let memo = serde_json::to_value(self).unwrap_or_default();
        Failure::needs_input(arguments, self.text(server)).keep(memo)
    }

    /// The only question.
    pub(super) fn only(&self) -> Option<&Value> {
        self.questions.values().next()
    }

    /// What people are asked.
    pub(super) fn text(&self, server: &str) -> String {
        let mut text = match self.questions.len() {
            1 => format!("MCP server {server:?} asks: {}", self.only().map(shown).unwrap_or_default()),
            _ => {
                let each =
                    self.questions.iter().map(|(key, question)| format!("{key:?}: {}", shown(question)));
                let each = each.collect::<Vec<_>>().join("; ");
                format!("MCP server {server:?} asks, and wants an object with an answer for each key: {each}")
            }
        };
        if text.len() > LONGEST {
            text.truncate(text.floor_char_boundary(LONGEST));
            text.push('…');
        }
        text
    }

    /// Makes the results of `elicitation/create` of what people answered.
    ///
    /// # Errors
    /// Says what does not fit.
    pub(super) fn results(&self, answer: &RawValue) -> Result<BTreeMap<String, Value>, String> {
        let answer: Value = serde_json::from_str(answer.get()).map_err(|error| error.to_string())?;
        if let (1, Some((key, question))) = (self.questions.len(), self.questions.first_key_value()) {
            return Ok(BTreeMap::from([(key.clone(), result(question, answer)?)]));
        }
        let Value::Object(mut answers) = answer else {
            return Err("an object with an answer for each key is wanted".to_owned());
        };
        let each = self.questions.iter().map(|(key, question)| {
            let answer = answers.remove(key).ok_or_else(|| format!("there is no answer for {key:?}"))?;
            Ok((key.clone(), result(question, answer).map_err(|error| format!("{key:?}: {error}"))?))
        });
        each.collect()
    }
}

/// One question as people see it.
fn shown(question: &Value) -> String {
    let message = question["message"].as_str().unwrap_or_default();
    match question["url"].as_str() {
        Some(url) => format!("{message} (at {url}; answer true when that is done)"),
        None => format!("{message} (the answer fits {})", question["requestedSchema"]),
    }
}

/// The result of one question: an answer is the content itself, or a whole result with its `action`.
fn result(question: &Value, answer: Value) -> Result<Value, String> {
    let action = answer.get("action").and_then(Value::as_str);
    let is_whole = answer.as_object().is_some_and(|fields| {
        fields.keys().all(|key| ["action", "content", "_meta"].contains(&key.as_str()))
    });
    let content = match action {
        Some(action @ ("decline" | "cancel")) if is_whole => return Ok(json!({"action": action})),
        Some("accept") if is_whole => answer.get("content").cloned().unwrap_or_else(|| json!({})),
        _ => answer,
    };
    if question["url"].is_string() {
        let action = if content == Value::Bool(false) { "decline" } else { "accept" };
        return Ok(json!({"action": action}));
    }
    let Value::Object(content) = content else { return Err("an object is wanted".to_owned()) };
    let schema = &question["requestedSchema"];
    let content = Value::Object(with_defaults(content, schema));
    let validator = jsonschema::validator_for(schema)
        .map_err(|_| "the server's own schema for it cannot be used".to_owned())?;
    match validator.validate(&content) {
        Ok(()) => Ok(json!({"action": "accept", "content": content})),
        Err(error) => Err(format!("{} at {:?}", error, error.instance_path().to_string())),
    }
}

/// Fills in the defaults of what was left out.
fn with_defaults(mut content: Map<String, Value>, schema: &Value) -> Map<String, Value> {
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        if let Some(default) = property.get("default").filter(|_| !content.contains_key(name)) {
            content.insert(name.clone(), default.clone());
        }
    }
    content
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(questions: &[(&str, Value)]) -> Asked {
        let questions =
            questions.iter().map(|(key, question)| ((*key).to_owned(), question.clone())).collect();
        Asked { questions, ..Asked::default() }
    }

    fn form() -> Value {
        json!({"message": "Who?", "requestedSchema": {
            "type": "object",
            "properties": {"name": {"type": "string"}, "age": {"type": "integer", "default": 30}},
            "required": ["name"],
        }})
    }

    fn results(asked: &Asked, answer: &Value) -> Result<Value, String> {
        let raw = serde_json::value::to_raw_value(answer).unwrap();
        asked.results(&raw).map(|results| serde_json::to_value(results).unwrap())
    }

    #[test]
    fn the_content_alone_is_an_answer_and_defaults_are_filled_in() {
        let one = asked(&[("k", form())]);
        let accepted = json!({"k": {"action": "accept", "content": {"name": "Ada", "age": 30}}});
        assert_eq!(results(&one, &json!({"name": "Ada"})), Ok(accepted.clone()));
        assert_eq!(results(&one, &json!({"action": "accept", "content": {"name": "Ada"}})), Ok(accepted));
        assert_eq!(results(&one, &json!({"action": "decline"})), Ok(json!({"k": {"action": "decline"}})));
        assert!(results(&one, &json!({"name": 5})).unwrap_err().contains("/name"));
        assert_eq!(results(&one, &json!("Ada")), Err("an object is wanted".to_owned()));
    }

    #[test]
    fn several_questions_want_an_answer_each() {
        let two = asked(&[("a", form()), ("b", json!({"message": "Log in", "url": "https://x/"}))]);
        let both = json!({"a": {"name": "Ada"}, "b": true});
        let expected = json!({
            "a": {"action": "accept", "content": {"name": "Ada", "age": 30}},
            "b": {"action": "accept"},
        });
        assert_eq!(results(&two, &both), Ok(expected));
        assert_eq!(results(&two, &json!({"b": 1})), Err("there is no answer for \"a\"".to_owned()));
        let text = two.text("s");
        assert!(text.contains("Who?") && text.contains("https://x/"), "{text}");
    }

    #[test]
    fn a_question_of_any_length_is_shown_in_bounds() {
        let long = asked(&[("k", json!({"message": "ü".repeat(LONGEST), "requestedSchema": {}}))]);
        assert!(long.text("s").len() <= LONGEST + 3);
    }
}
