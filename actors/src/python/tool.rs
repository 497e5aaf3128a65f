//! A function of a Python file as a tool.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use toolyard_contract::{
    EffectTags, Failure, Invocation, StateScope, StateWork, Stateful, StatefulTool, Tool, ToolFuture,
    ToolSpec, digits,
};

use super::frames::Described;
use super::lanes::{Function, Lane};
use super::workers::Workers;

/// The parameter that carries a function's inner state.
const STATE: &str = "inner_state";

/// Makes the tool of a function.
pub(super) fn python_tool(described: Described, workers: Arc<Workers>) -> Arc<dyn Tool> {
    let takes_state = described.takes.iter().any(|parameter| parameter == STATE);
    let scope = if described.state_per_agent { StateScope::Agent } else { StateScope::Engine };
    // The worker wrote it as JSON of this shape.
    let initial = described.initial_state.as_deref().and_then(|text| serde_json::from_str(text).ok());
    let initial = initial.unwrap_or_default();
    let tool = PythonTool::new(described, workers);
    if takes_state {
        Arc::new(Stateful::new(PythonStatefulTool { tool, scope, initial }))
    } else {
        Arc::new(tool)
    }
}

/// How many digits an integer may have that goes to Python: reading one takes time that grows with the square of its
/// length, 20 ms for this many, and holds up every call in the process.
const MOST_DIGITS: usize = 100_000;

fn too_long(arguments: &str) -> Option<Failure> {
    let digits = digits::longest(arguments);
    let error = || format!("an integer has {digits} digits: Python functions take at most {MOST_DIGITS}");
    (digits > MOST_DIGITS).then(|| Failure::bad_arguments(error()))
}

/// A function without inner state.
struct PythonTool {
    spec: ToolSpec,
    function: Arc<Function>,
    lane: Lane,
    workers: Arc<Workers>,
}

impl PythonTool {
    fn new(described: Described, workers: Arc<Workers>) -> Self {
        let Described { name, description, schema, is_async, parallel_safe, takes, .. } = described;
        // Named in the schema, so that a model that gives them all the same is not refused; hidden, as they are
        // listed as injected. The worker passes them in; what a model gives is dropped.
        let mut value = schema.value().clone();
        if let Some(Value::Object(properties)) = value.get_mut("properties") {
            properties.extend(takes.iter().map(|parameter| (parameter.clone(), json!({}))));
        }
        let mut spec = ToolSpec::new(name.clone())
            .input_schema(schema.with_value(value))
            .parallel_safe(parallel_safe)
            .effects(EffectTags::from(described.effects))
            .injected(takes)
            .fills_in(true);
        spec.description = Some(description).filter(|text| !text.is_empty());
        spec.permission_action = described.permission_action;
        let lane = match (is_async, parallel_safe) {
            (true, _) => Lane::Task,
            (false, true) => Lane::Thread,
            (false, false) => Lane::Alone,
        };
        let name_json = Value::String(name.clone()).to_string();
        Self { spec, function: Arc::new(Function { name, name_json }), lane, workers }
    }
}

impl Tool for PythonTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call(self: Arc<Self>, invocation: Invocation) -> ToolFuture {
        if let Some(failure) = too_long(&invocation.arguments) {
            return ToolFuture::ready(Err(failure));
        }
        let run = self.workers.clone().run(self.function.clone(), self.lane, invocation, None);
        ToolFuture::new(async { run.await.returned })
    }
}

/// A function with inner state. Its row lives with the engine, so that it survives the process.
struct PythonStatefulTool {
    tool: PythonTool,
    scope: StateScope,
    initial: PythonState,
}

/// What a function finds in its `inner_state`: JSON kept as text, so that integers stay exact.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PythonState {
    /// Must be there, if only as `null`, so that nothing else is taken for an empty state.
    #[serde(deserialize_with = "Option::deserialize")]
    state: Option<Box<RawValue>>,
    #[serde(default)]
    meta_state: Option<Box<RawValue>>,
}

impl StatefulTool for PythonStatefulTool {
    type State = PythonState;

    fn spec(&self) -> &ToolSpec {
        &self.tool.spec
    }

    fn scope(&self) -> StateScope {
        self.scope
    }

    fn state_type(&self) -> Option<&str> {
        Some("python")
    }

    fn initial(&self, _: Option<&str>) -> PythonState {
        self.initial.clone()
    }

    fn work(self: Arc<Self>, invocation: Invocation, state: PythonState) -> StateWork<PythonState> {
        if let Some(failure) = too_long(&invocation.arguments) {
            return StateWork::Done(Err(failure), state);
        }
        let PythonTool { function, lane, workers, .. } = &self.tool;
        let given = match serde_json::value::to_raw_value(&state) {
            Ok(given) => given,
            Err(error) => {
                let name = &function.name;
                let failure =
                    Failure::failed(format!("tool {name:?}: its inner state cannot be read: {error}"));
                return StateWork::Done(Err(failure), state);
            }
        };
        let run = workers.clone().run(function.clone(), *lane, invocation, Some(given));
        StateWork::Waits(Box::pin(async move {
            let answer = run.await;
            let changed = answer.state.and_then(|text| serde_json::from_str(text.get()).ok());
            (answer.returned, changed.unwrap_or(state))
        }))
    }
}
