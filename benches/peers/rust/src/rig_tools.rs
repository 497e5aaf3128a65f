//! rig's tools, called one after another: no actors, no mailboxes, nothing at once.

use std::{collections::HashMap, convert::Infallible};

use rig_core::tool::{ErasedTool, PortableTool, ToolContext};
use serde_json::{Value, json};

use crate::trivial::{Numbers, RawCall, TOOLS};

struct Add;

impl PortableTool for Add {
    const NAME: &'static str = "add";
    type Args = Numbers;
    type Output = f64;
    type Error = Infallible;

    fn description(&self) -> String {
        "Adds two numbers.".into()
    }

    fn parameters(&self) -> Value {
        json!({"type": "object", "properties": {"a": {"type": "number"}, "b": {"type": "number"}}})
    }

    async fn call(&self, Numbers { a, b }: Numbers) -> Result<f64, Infallible> {
        Ok(a + b)
    }
}

pub(crate) type Tools = HashMap<String, Box<dyn ErasedTool>>;

pub(crate) fn tools() -> Tools {
    (0..TOOLS).map(|i| (format!("tool_{i}"), Box::new(Add) as Box<dyn ErasedTool>)).collect()
}

pub(crate) async fn run(tools: &Tools, calls: Vec<RawCall>) -> Vec<String> {
    let mut texts = Vec::with_capacity(calls.len());
    for (_, name, arguments) in calls {
        let result = tools[&name].execute(arguments, &mut ToolContext::default()).await;
        assert!(result.is_success());
        texts.push(result.output().render());
    }
    texts
}
