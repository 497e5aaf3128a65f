//! The tool `web_search`, over a search engine that can be exchanged.

mod backend;
mod duckduckgo;
mod searxng;
mod tool;

pub use backend::{SearchBackend, SearchError, SearchHit};
pub use duckduckgo::DuckDuckGo;
pub use searxng::SearXng;
pub use tool::{NO_RESULTS, WebSearchTool};
