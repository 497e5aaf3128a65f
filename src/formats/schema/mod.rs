//! Tools in the form that each provider takes, from one [`ToolSpec`](toolyard_contract::ToolSpec).
//!
//! A form never accepts less than the tool's own schema, and what a provider cannot express moves into the
//! description next to it, as JSON Schema. Three things are said otherwise because there is no way to say them:
//! in OpenAI's strict mode a property that may be left out comes as `null`, which the engine takes for left out;
//! Gemini's arrays of anything end at three in each other; and Gemini sees a tool that lists no parameters as one
//! that takes none.
//!
//! The steps: `draft` brings older drafts to 2020-12, `refs` puts what `$ref` names in its place, `root` makes the
//! top an object without combinations; `shape` then lists the kinds of value that a schema takes, which the
//! narrower providers need.

pub mod anthropic;
pub mod gemini;
pub mod mcp;
pub mod openai;

mod draft;
mod merge;
mod note;
mod property_names;
mod prose;
mod refs;
mod root;
mod shape;
mod strict;
mod walk;

/// A JSON object.
type Object = serde_json::Map<String, serde_json::Value>;
