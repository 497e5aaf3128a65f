//! Tools for Anthropic's messages API.

use serde::Serialize;
use toolyard_contract::{ExactValue, ToolSpec, hidden};

use super::{draft, note, property_names, prose, refs, root, walk};

/// The longest name of a property that the API takes, in characters (from its error messages).
const MAX_PROPERTY_NAME: usize = 64;

/// An entry of a request's `tools`.
#[derive(Clone, Debug, Serialize)]
pub struct Tool {
    /// The exposed name.
    pub name: String,
    /// What the tool does.
    pub description: String,
    /// The schema of its arguments.
    pub input_schema: ExactValue,
}

/// Writes a tool under its exposed name.
///
/// The API takes JSON Schema, but no references, no combinations of schemas at the top, and only simple names of
/// properties.
pub fn tool(spec: &ToolSpec, exposed: &str) -> Tool {
    note::with_digits_of(&spec.input_schema, || write(spec, exposed))
}

fn write(spec: &ToolSpec, exposed: &str) -> Tool {
    let schema = draft::upgrade(spec.parameters().into_value());
    let inlined = refs::inline(&schema, refs::Recursion::Unroll);
    let root = root::object(hidden::without(inlined.schema, &spec.injected));
    let mut schema = root.schema;
    let mut rest = root.rest;
    rest.extend(walk::relax_children(&mut schema, &mut |child| property_names::keep(child, is_simple)).rest);
    rest.extend(property_names::take_others(&mut schema, is_simple));
    let text = prose::take_description(prose::description(spec, exposed), &mut schema);
    let description = note::join(&text, rest);
    let input_schema = spec.input_schema.with_value(schema.into());
    Tool { name: exposed.to_owned(), description, input_schema }
}

fn is_simple(name: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || ['_', '.', '-'].contains(&c);
    !name.is_empty() && name.len() <= MAX_PROPERTY_NAME && name.chars().all(allowed)
}
