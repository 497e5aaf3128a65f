use std::{fmt, sync::Arc};

use serde::Deserialize;
use serde_json::json;
use toolyard_contract::{Access, Failure, Invocation, Tool, ToolFuture, ToolSpec};

use super::{SearchBackend, SearchHit};

/// The text of an answer without results.
pub const NO_RESULTS: &str = "No results found.";

/// How many results a call may ask for: what one page of a search engine has.
const MOST_RESULTS: usize = 20;

/// The tool `web_search`: numbered titles, URLs and snippets of pages about a query.
pub struct WebSearchTool {
    spec: ToolSpec,
    backend: Arc<dyn SearchBackend>,
    max_results: usize,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    query: Option<String>,
    input: Option<String>,
    max_results: Option<usize>,
}

impl WebSearchTool {
    /// Makes the tool over a search engine.
    pub fn new(backend: impl SearchBackend) -> Self {
        // Providers refuse `anyOf` at the top of a schema, so the call itself checks that there is a query.
        let spec = ToolSpec::new("web_search")
            .description("Searches the web and gives titles, URLs and snippets of pages, the best first.")
            .input_schema(json!({
                "type": "object",
                "properties": {
                    "query": {"type": "string", "description": "What to look for."},
                    "input": {"type": "string", "description": "The same as `query`, which wins."},
                    "max_results": {"type": "integer", "minimum": 1, "maximum": MOST_RESULTS, "description": "How many pages at most."},
                },
                "additionalProperties": false,
            }))
            .output_schema(json!({"type": "string"}))
            .effects(["network"])
            .plain_text_input("input")
            .parallel_safe(true)
            .idempotent(true);
        Self { spec, backend: Arc::new(backend), max_results: 5 }
    }

    /// Sets how many results a call gives that does not say. Default 5: enough to choose from, few enough to read.
    #[must_use]
    pub fn max_results(mut self, most: usize) -> Self {
        self.max_results = most.clamp(1, MOST_RESULTS);
        self
    }
}

impl Tool for WebSearchTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn access(&self, _: &str) -> Access {
        Access::nothing()
    }

    fn call(self: Arc<Self>, invocation: Invocation) -> ToolFuture {
        ToolFuture::new(async move {
            let arguments: Arguments = serde_json::from_str(&invocation.arguments)
                .map_err(|error| Failure::bad_arguments(error.to_string()))?;
            let given = [&arguments.query, &arguments.input].into_iter().flatten();
            let query = given.map(|query| query.trim()).find(|query| !query.is_empty());
            let query =
                query.ok_or_else(|| Failure::bad_arguments("no query: say what to look for in `query`"))?;
            let most = arguments.max_results.unwrap_or(self.max_results);
            let hits = self.backend.search(query, most).await?;
            Ok(text(&hits).into())
        })
    }
}

fn text(hits: &[SearchHit]) -> String {
    if hits.is_empty() {
        return NO_RESULTS.to_owned();
    }
    let blocks = hits.iter().enumerate().map(|(index, SearchHit { title, url, snippet })| {
        let block = format!("{}. {title}\n   {url}\n   {snippet}", index + 1);
        block.trim_end().to_owned()
    });
    blocks.collect::<Vec<_>>().join("\n\n")
}

impl fmt::Debug for WebSearchTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebSearchTool").field("max_results", &self.max_results).finish_non_exhaustive()
    }
}
