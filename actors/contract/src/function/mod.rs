//! Tools made of functions.

mod answer;
mod body;
mod parse;
#[cfg(feature = "macros")]
mod schema;
mod state_body;
mod stateful;

use std::{fmt, sync::Arc};

use serde::de::DeserializeOwned;

use crate::{Execution, Invocation, Tool, ToolFuture, ToolSpec};

pub use answer::{IntoReturn, Json};
pub use body::{Answer, NoArguments, ToolFunction};
#[cfg(feature = "macros")]
pub use schema::schema_of;
pub use state_body::{StateAnswer, StateFunction};
pub use stateful::StatefulFunction;

/// A tool whose work is a function.
///
/// The function takes nothing, its arguments, or its arguments and the
/// [`CallContext`](crate::CallContext); it returns whatever is an [`IntoReturn`]: text, a number, a
/// list, a [`Json`] value, a [`Reply`](crate::Reply), or a `Result` whose error becomes the text of
/// a failure. An async function is awaited. A plain one may block or compute, so it runs on the
/// blocking pool unless it is said to be [`quick`](Self::quick).
///
/// ```
/// use toolyard_contract::{FunctionTool, Invocation, Tool, ToolSpec};
/// # use std::sync::Arc;
///
/// let echo = FunctionTool::with_schema(ToolSpec::new("echo"), |any: serde_json::Value| any);
/// let reply = futures::executor::block_on(Arc::new(echo).call(Invocation::detached(r#"{"a": 1}"#)));
/// assert_eq!(reply.unwrap().output.unwrap().to_text(), r#"{"a":1}"#);
/// ```
pub struct FunctionTool {
    spec: ToolSpec,
    body: Box<dyn Fn(Invocation) -> ToolFuture + Send + Sync>,
}

impl FunctionTool {
    /// Makes a tool of a function whose arguments are a type; their schema is the type's, unless
    /// `spec` has one. Doc comments on the fields describe the arguments to the model; the one on
    /// the type is for readers of the code.
    ///
    /// The engine checks the schema before each call, because a type may be more lenient than its
    /// schema (a range that only the schema states, say). Where yours is not,
    /// [`ToolSpec::checks_arguments`] saves that step.
    ///
    /// ```
    /// use serde::Deserialize;
    /// use toolyard_contract::{FunctionTool, Tool, ToolSpec, schemars::{self, JsonSchema}};
    ///
    /// #[derive(Deserialize, JsonSchema)]
    /// struct Search {
    ///     /// What to look for
    ///     query: String,
    ///     /// How many results to give
    ///     limit: Option<u32>,
    /// }
    ///
    /// let search = FunctionTool::new(ToolSpec::new("search").parallel_safe(true), async |search: Search| {
    ///     if search.query.is_empty() { Err("there is nothing to look for") } else { Ok(["a", "b"]) }
    /// });
    /// assert_eq!(search.spec().parameters()["properties"]["query"]["description"], "What to look for");
    /// ```
    #[cfg(feature = "macros")]
    pub fn new<Shape, F>(mut spec: ToolSpec, function: F) -> Self
    where
        F: ToolFunction<Shape>,
        F::Args: DeserializeOwned + schemars::JsonSchema,
    {
        schema::fill::<F::Args>(&mut spec);
        Self::with_schema(spec, function)
    }

    /// Makes a tool of a function whose arguments have the schema that `spec` says.
    pub fn with_schema<Shape, F>(mut spec: ToolSpec, function: F) -> Self
    where
        F: ToolFunction<Shape>,
        F::Args: DeserializeOwned,
    {
        if F::EXECUTION == Execution::Blocking {
            spec.execution = Execution::Blocking;
        }
        let body = move |Invocation { arguments, context }: Invocation| match parse::arguments(arguments) {
            Ok(arguments) => function.run(arguments, context),
            Err(failure) => ToolFuture::ready(Err(failure)),
        };
        Self { spec, body: Box::new(body) }
    }

    /// Runs the function where an async one would run, instead of on the blocking pool.
    ///
    /// For functions that neither block nor compute for long: while one runs, the other calls of
    /// its thread wait. It saves the way to another thread and back, some ten microseconds a call.
    #[must_use]
    pub fn quick(mut self) -> Self {
        self.spec.execution = Execution::Async;
        self
    }
}

impl Tool for FunctionTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call(self: Arc<Self>, invocation: Invocation) -> ToolFuture {
        (self.body)(invocation)
    }
}

impl fmt::Debug for FunctionTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FunctionTool").field("spec", &self.spec).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
