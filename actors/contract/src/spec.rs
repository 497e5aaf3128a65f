//! What a tool says about itself.

use std::time::Duration;

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::{EffectTags, ExactValue, Rate, hidden};

/// What a tool says about itself. Built by chaining; every field has a default.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
#[allow(clippy::struct_excessive_bools)] // each is a promise of its own
pub struct ToolSpec {
    /// The name, in the tool's own spelling.
    pub name: String,
    /// What the tool does, for the model. Default: none.
    pub description: Option<String>,
    /// The JSON Schema of the arguments. Default: any object.
    pub input_schema: ExactValue,
    /// The JSON Schema of the output. Default: none, anything goes.
    pub output_schema: Option<ExactValue>,
    /// Calls may overlap with any other call. Default: false, because a tool that does not say may
    /// change something.
    pub parallel_safe: bool,
    /// What kinds of effect a call has (`network`, `filesystem`). Default: the tool says nothing about it.
    pub effects: EffectTags,
    /// The action that a permission policy judges. Default: the tool's name.
    pub permission_action: Option<String>,
    /// How the body runs. Default: [`Execution::Async`].
    pub execution: Execution,
    /// The parameter that plain-text arguments go to. Default: none, plain text is refused.
    pub plain_text_input: Option<String>,
    /// Parameters that the runtime may fill in; never shown to a model. Default: none.
    pub injected: Vec<String>,
    /// The tool fills these in itself, whoever gives them a value: what a model gives is dropped, and not refused.
    /// Default: false.
    pub fills_in: bool,
    /// The tool checks its arguments while parsing them, as strictly as the schema does, so that the
    /// engine need not check them before. Default: false.
    pub checks_arguments: bool,
    /// Doing the same call twice is as good as once, so that it may be sent again. Default: false.
    pub idempotent: bool,
    /// How long one call may take. Default: the engine's.
    pub timeout: Option<Duration>,
    /// How many calls may run at once. Default: the engine's limit alone.
    pub max_in_flight: Option<usize>,
    /// How often a call may begin. Default: no limit.
    pub rate: Option<Rate>,
    /// The name was made for providers already, as tools of MCP servers have it: it is shown as it is, also where it looks
    /// like one with a suffix. Default: false.
    pub name_is_exposed: bool,
}

/// How a tool's body runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Execution {
    /// As a future on the tool's actor: it waits, it does not compute for long.
    #[default]
    Async,
    /// On a thread of the bounded blocking pool: it may block or compute.
    Blocking,
}

impl ToolSpec {
    /// Starts a spec with all defaults.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            description: None,
            input_schema: json!({"type": "object"}).into(),
            output_schema: None,
            parallel_safe: false,
            effects: EffectTags::default(),
            permission_action: None,
            execution: Execution::default(),
            plain_text_input: None,
            injected: Vec::new(),
            fills_in: false,
            checks_arguments: false,
            idempotent: false,
            timeout: None,
            max_in_flight: None,
            rate: None,
            name_is_exposed: false,
        }
    }

    /// Sets what the tool does.
    #[must_use]
    pub fn description(mut self, text: impl Into<String>) -> Self {
        self.description = Some(text.into());
        self
    }

    /// Sets the schema of the arguments: a [`Value`], or [text that was read](ExactValue::read), which keeps the digits of
    /// numbers beyond 64 bits.
    #[must_use]
    pub fn input_schema(mut self, schema: impl Into<ExactValue>) -> Self {
        self.input_schema = schema.into();
        self
    }

    /// Sets the schema of the output, as [`input_schema`](Self::input_schema) does.
    #[must_use]
    pub fn output_schema(mut self, schema: impl Into<ExactValue>) -> Self {
        self.output_schema = Some(schema.into());
        self
    }

    /// Says that the name was made for providers already.
    #[must_use]
    pub fn name_is_exposed(mut self, exposed: bool) -> Self {
        self.name_is_exposed = exposed;
        self
    }

    /// Declares that calls may overlap with any other call.
    #[must_use]
    pub fn parallel_safe(mut self, safe: bool) -> Self {
        self.parallel_safe = safe;
        self
    }

    /// Sets the kinds of effect.
    #[must_use]
    pub fn effects(mut self, effects: impl Into<EffectTags>) -> Self {
        self.effects = effects.into();
        self
    }

    /// Sets the action that a permission policy judges.
    #[must_use]
    pub fn permission_action(mut self, action: impl Into<String>) -> Self {
        self.permission_action = Some(action.into());
        self
    }

    /// Sets how the body runs.
    #[must_use]
    pub fn execution(mut self, execution: Execution) -> Self {
        self.execution = execution;
        self
    }

    /// Names the parameter that plain-text arguments go to.
    #[must_use]
    pub fn plain_text_input(mut self, parameter: impl Into<String>) -> Self {
        self.plain_text_input = Some(parameter.into());
        self
    }

    /// Names the parameters that the runtime may fill in.
    #[must_use]
    pub fn injected<I: Into<String>>(mut self, parameters: impl IntoIterator<Item = I>) -> Self {
        self.injected = parameters.into_iter().map(Into::into).collect();
        self
    }

    /// Declares that the tool fills in its injected parameters itself.
    #[must_use]
    pub fn fills_in(mut self, fills_in: bool) -> Self {
        self.fills_in = fills_in;
        self
    }

    /// Declares that the tool checks its own arguments.
    #[must_use]
    pub fn checks_arguments(mut self, checks: bool) -> Self {
        self.checks_arguments = checks;
        self
    }

    /// Declares that a call may be sent again.
    #[must_use]
    pub fn idempotent(mut self, idempotent: bool) -> Self {
        self.idempotent = idempotent;
        self
    }

    /// Sets how long one call may take.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Sets how many calls may run at once.
    #[must_use]
    pub fn max_in_flight(mut self, calls: usize) -> Self {
        self.max_in_flight = Some(calls);
        self
    }

    /// Sets how often a call may begin.
    #[must_use]
    pub fn rate(mut self, rate: Rate) -> Self {
        self.rate = Some(rate);
        self
    }

    /// The description, or empty text.
    pub fn description_text(&self) -> &str {
        self.description.as_deref().map_or("", str::trim)
    }

    /// The form that function-calling interfaces take: name, description, parameters. An empty
    /// description falls back to the name, then to the word `tool`.
    pub fn to_schema(&self) -> FunctionSchema {
        let description = [self.description_text(), self.name.trim(), "tool"];
        FunctionSchema {
            name: self.name.clone(),
            description: description.into_iter().find(|text| !text.is_empty()).unwrap_or_default().to_owned(),
            parameters: self.parameters(),
        }
    }

    /// The whole description as JSON, for text: the keys of [`to_value`](Self::to_value), with all digits of numbers.
    pub fn listing(&self) -> impl Serialize + use<> {
        #[derive(Serialize)]
        struct Listing {
            description: String,
            #[serde(skip_serializing_if = "Option::is_none")]
            effects: Option<Value>,
            input_schema: ExactValue,
            name: String,
            output_schema: Option<ExactValue>,
            parameters: ExactValue,
            returns: ExactValue,
        }
        Listing {
            description: self.description_text().to_owned(),
            effects: self.effects.said().map(Into::into),
            input_schema: self.shown_schema(),
            name: self.name.clone(),
            output_schema: self.output_schema.clone(),
            parameters: self.parameters(),
            returns: self.output_schema.clone().unwrap_or_else(|| json!({}).into()),
        }
    }

    /// The whole description in six keys: name, description (may be empty), `input_schema` and
    /// `output_schema` as declared, `parameters` and `returns` in normal form; and `effects`, where the tool says
    /// something about them. Parameters that the runtime fills in are in neither schema. A [`Value`] has no numbers beyond
    /// 64 bits: [`listing`](Self::listing) writes them.
    pub fn to_value(&self) -> Value {
        let mut whole = json!({
            "name": self.name,
            "description": self.description_text(),
            "input_schema": self.shown_schema().value(),
            "output_schema": self.output_schema.as_deref(),
            "parameters": self.parameters().value(),
            "returns": self.output_schema.as_deref().unwrap_or(&json!({})),
        });
        if let Some(effects) = self.effects.said() {
            whole["effects"] = effects.into();
        }
        whole
    }

    /// The input schema as declared, without the parameters that the runtime fills in.
    pub fn shown_schema(&self) -> ExactValue {
        self.input_schema.with_value(hidden::without(self.input_schema.value().clone(), &self.injected))
    }

    /// The input schema as an object schema that always has `type` and `properties`, without the
    /// parameters that the runtime fills in.
    pub fn parameters(&self) -> ExactValue {
        let mut schema = match self.shown_schema().into_value() {
            Value::Object(schema) => schema,
            _ => Map::new(),
        };
        schema.entry("type").or_insert_with(|| "object".into());
        schema.entry("properties").or_insert_with(|| json!({}));
        self.input_schema.with_value(Value::Object(schema))
    }
}

/// The form of a tool that function-calling interfaces take.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FunctionSchema {
    /// The tool's name.
    pub name: String,
    /// What it does; never empty.
    pub description: String,
    /// The schema of its arguments.
    pub parameters: ExactValue,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_description_falls_back_to_the_name_then_to_a_word() {
        assert_eq!(ToolSpec::new("add").description("  ").to_schema().description, "add");
        assert_eq!(ToolSpec::new(" ").to_schema().description, "tool");
        assert_eq!(ToolSpec::new("add").to_value()["description"], "");
    }

    #[test]
    fn injected_parameters_are_not_shown() {
        let spec = ToolSpec::new("t").injected(["user"]).input_schema(json!({
            "properties": {"user": {"type": "string"}, "n": {"type": "integer"}}, "required": ["user", "n"]
        }));
        assert_eq!(
            spec.parameters(),
            json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]})
        );
        let whole = spec.to_value();
        assert!(!whole.to_string().contains("user"), "{whole}");
    }

    #[test]
    fn the_full_form_has_six_keys() {
        let value = ToolSpec::new("t").to_value();
        let keys: Vec<_> = value.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(keys, ["description", "input_schema", "name", "output_schema", "parameters", "returns"]);
        assert_eq!(ToolSpec::new("t").effects(["Disk"]).to_value()["effects"], json!(["disk"]));
        assert_eq!(ToolSpec::new("t").effects(EffectTags::none()).to_value()["effects"], json!([]));
    }
}
