//! The `#[tool]` attribute of toolyard. Use it as `toolyard::tool` or `toolyard_contract::tool`.

mod docs;
mod expand;
mod options;
mod signature;

use proc_macro::TokenStream;
use syn::parse_quote;

/// Makes a tool of a function.
///
/// The function stays as it is: it can be called, and tested, as before. Beside it comes a type of
/// the same name (functions and types do not share names in Rust, so both fit, and one `use` brings
/// both) with one function, `tool()`, that makes the tool.
///
/// ```
/// use toolyard_contract::{Tool, tool};
///
/// /// Adds two integers.
/// #[tool(parallel_safe)]
/// fn add(
///     /// The first summand
///     a: i64,
///     /// The second summand
///     #[arg(default = 1)]
///     b: i64,
/// ) -> Result<i64, &'static str> {
///     a.checked_add(b).ok_or("the sum does not fit 64 bits")
/// }
///
/// assert_eq!(add(1, 2), Ok(3));
///
/// let tool = add::tool();
/// assert_eq!(tool.spec().name, "add");
/// assert_eq!(tool.spec().description_text(), "Adds two integers.");
/// assert_eq!(
///     tool.spec().parameters(),
///     serde_json::json!({
///         "type": "object",
///         "properties": {
///             "a": {"type": "integer", "description": "The first summand"},
///             "b": {"type": "integer", "description": "The second summand", "default": 1}
///         },
///         "required": ["a"]
///     })
/// );
/// ```
///
/// # What comes from where
/// The tool's description is the doc comment up to its first heading, so `# Errors` and
/// `# Examples` are for people alone. Doc comments on parameters describe the arguments. Types give
/// the schema, by [schemars](https://docs.rs/schemars), and read the arguments, by serde:
/// an `Option` may be left out, and your own types derive `Deserialize` and `JsonSchema`. Parameters
/// may be references (`&str`, `&[T]`, `&T`). One of the type `CallContext` is no argument: it
/// gets the call's context, for progress and for asking whether the call was given up.
///
/// The function gives back whatever is an `IntoReturn`: text, numbers, lists, `Json(value)`,
/// a `Reply`, nothing, or a `Result` of those whose error becomes the text of a failure.
///
/// An `async fn` is awaited on the tool's actor. A plain one may block or compute, so it runs on the
/// blocking pool, unless `blocking = false` says that it takes microseconds.
///
/// # Options
///
/// | option | meaning | default |
/// |---|---|---|
/// | `name = "…"` | the tool's name | the function's |
/// | `description = …` | what the tool does | the doc comment |
/// | `input_schema = …` | the arguments' schema, a `serde_json::Value` | made from the types |
/// | `output_schema = …` | the output's schema, a `serde_json::Value` | none |
/// | `parallel_safe` | calls may overlap with any other call | no |
/// | `idempotent` | a call may be sent again | no |
/// | `effects = "…"` or `["…", "…"]` | kinds of effect; `[]` says that there are none | nothing is said |
/// | `permission_action = "…"` | what a permission policy judges | the tool's name |
/// | `blocking = false` | a plain function that is quick | `true` |
/// | `state = …` | what the state is at first | its `Default` |
/// | `per_agent` | each agent has a state of its own | the whole engine has one |
/// | `timeout = …` | how long one call may take, a `Duration` | the engine's |
/// | `max_in_flight = …` | how many calls may run at once | the engine's limit alone |
/// | `plain_text_input = "…"` | the parameter that plain text goes to | none |
/// | `crate = path` | where the contract is, when it was renamed | where `tool` comes from |
///
/// On a parameter, `#[arg(default)]` and `#[arg(default = …)]` say what a missing argument is, and
/// `#[arg(injected)]` that the runtime fills it in, unseen by the model.
///
/// ```
/// use std::time::Duration;
/// use toolyard_contract::{CallContext, Failure, tool};
///
/// /// Fetches a page.
/// #[tool(name = "fetch_page", effects = "network", timeout = Duration::from_secs(20))]
/// async fn fetch(
///     /// Where it is
///     url: &str,
///     #[arg(injected)] user: String,
///     context: CallContext,
/// ) -> Result<String, Failure> {
///     context.progress("connecting");
///     if url.is_empty() {
///         return Err(Failure::failed("there is no page without an address"));
///     }
///     Ok(format!("{url} for {user}"))
/// }
///
/// # use toolyard_contract::Tool;
/// assert_eq!(fetch::tool().spec().to_schema().name, "fetch_page");
/// ```
///
/// # State
/// A parameter `&mut T` is the tool's state: a value of its own for the whole engine or for each
/// agent, kept between calls. What a call does to it counts only when the call is `ok`. `T` derives
/// `Clone`, `Serialize` and `Deserialize`.
///
/// ```
/// use toolyard_contract::{StatefulTool, tool};
///
/// /// Counts up.
/// #[tool(state = 100, per_agent, blocking = false)]
/// fn count(
///     total: &mut i64,
///     /// How far
///     by: i64,
/// ) -> i64 {
///     *total += by;
///     *total
/// }
///
/// let mut total = 1;
/// assert_eq!(count(&mut total, 2), 3);
/// assert_eq!(count::tool().initial(Some("ada")), 100);
/// ```
///
/// # Not as tools
/// Methods and generic functions cannot be tools: wrap them in a closure with `FunctionTool`.
#[proc_macro_attribute]
pub fn tool(options: TokenStream, item: TokenStream) -> TokenStream {
    expand::expand(options.into(), item.into(), parse_quote!(::toolyard_contract)).into()
}

#[doc(hidden)] // `toolyard` exports it as `tool`, with a text of its own
#[proc_macro_attribute]
pub fn tool_in_toolyard(options: TokenStream, item: TokenStream) -> TokenStream {
    expand::expand(options.into(), item.into(), parse_quote!(::toolyard)).into()
}
