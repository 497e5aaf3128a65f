//! The tool `web_search` over both search engines, whose pages are as they should be, changed, empty and broken.

use serde_json::{Value, json};
use toolyard::{
    Engine, ExecuteOptions, Outcome, ToolCall, ToolResult,
    builtin::{
        web::WebConfig,
        web_search::{DuckDuckGo, NO_RESULTS, SearXng, WebSearchTool},
    },
};

use super::{
    error,
    server::{Server, answer},
};

const DUCKDUCKGO: &str = include_str!("pages/duckduckgo.html");
const DUCKDUCKGO_NONE: &str = include_str!("pages/duckduckgo-none.html");
const DUCKDUCKGO_CHALLENGE: &str = include_str!("pages/duckduckgo-challenge.html");
const SEARXNG: &str = include_str!("pages/searxng.json");

fn page(text: &str) -> Server {
    Server::saying(answer("200 OK", "Content-Type: text/html; charset=UTF-8\r\n", text))
}

/// Settings under which a private address is reached only because it is the search engine's.
fn config() -> WebConfig {
    let mut config = WebConfig::default();
    config.attempts = 1;
    config
}

fn search(tool: WebSearchTool, arguments: Value) -> ToolResult {
    let engine = Engine::builder().tool(tool).build().unwrap();
    let calls = vec![ToolCall::new("web_search", arguments.into())];
    engine.execute_blocking(calls, ExecuteOptions::new()).unwrap().results.remove(0)
}

fn duckduckgo(server: &Server, arguments: Value) -> ToolResult {
    search(WebSearchTool::new(DuckDuckGo::new(&server.url("/html/"), config()).unwrap()), arguments)
}

fn searxng(server: &Server, arguments: Value) -> ToolResult {
    search(WebSearchTool::new(SearXng::new(&server.url("/searx"), config()).unwrap()), arguments)
}

fn text(result: &ToolResult) -> &str {
    result.output.as_ref().unwrap_or_else(|| panic!("{result:?}")).as_text().unwrap()
}

#[test]
fn results_are_numbered_with_title_url_and_snippet_and_without_advertisements() {
    let server = page(DUCKDUCKGO);
    let result = duckduckgo(&server, json!({"query": " rust & co "}));
    let expected = "1. The Rust Programming Language\n   https://www.rust-lang.org/?a=1&b=2\n   A language & tools for reliable software.\n\n\
                    2. Rust – the <oxide>\n   https://en.wikipedia.example/wiki/Rust\n\n\
                    3. Third\n   https://third.example/\n   The third one.";
    assert_eq!((text(&result), result.outcome), (expected, Outcome::Ok));
    assert_eq!(server.requests()[0].path(), "/html/?q=rust+%26+co");
    assert_eq!(text(&duckduckgo(&server, json!({"query": "x", "max_results": 1}))).matches(". ").count(), 1);
    assert!(text(&duckduckgo(&server, json!("plain text"))).starts_with("1. "));
}

#[test]
fn the_json_of_an_instance_is_read() {
    let server = page(SEARXNG);
    let result = searxng(&server, json!({"query": "rust"}));
    let expected = "1. Rust\n   https://www.rust-lang.org/\n   A language for reliable software.\n\n\
                    2. Second\n   https://second.example/a?b=c";
    assert_eq!((text(&result), result.outcome), (expected, Outcome::Ok));
    assert_eq!(server.requests()[0].path(), "/searx/search?q=rust&format=json");
}

#[test]
fn no_results_is_a_result() {
    let result = duckduckgo(&page(DUCKDUCKGO_NONE), json!({"query": "x"}));
    assert_eq!((text(&result), result.outcome), (NO_RESULTS, Outcome::Ok));
    let result = searxng(&page(r#"{"results": []}"#), json!({"query": "x"}));
    assert_eq!((text(&result), result.outcome), (NO_RESULTS, Outcome::Ok));
}

#[test]
fn a_page_that_is_not_what_it_was_is_a_failure_and_not_an_empty_result() {
    let changed = DUCKDUCKGO.replace("class=\"result ", "class=\"hit ");
    let cut = &DUCKDUCKGO[..300];
    for (page_text, expected) in [
        (DUCKDUCKGO_CHALLENGE, "asks for a proof that a person is asking"),
        (&changed, "neither results nor the word that there are none"),
        (cut, "neither results nor the word that there are none"),
        ("", "neither results nor the word that there are none"),
        ("{\"a\": 1}", "neither results nor the word that there are none"),
    ] {
        let result = duckduckgo(&page(page_text), json!({"query": "x"}));
        assert_eq!((result.outcome, result.output.as_ref()), (Outcome::Failed, None), "{page_text}");
        assert!(error(&result).contains(expected), "{result:?}");
    }
    for (page_text, expected) in [
        ("", "not the JSON of a result page"),
        ("<html>", "not the JSON of a result page"),
        (&SEARXNG[..200], "not the JSON of a result page"),
        (r#"{"hits": []}"#, "missing field `results`"),
        (
            r#"{"results": [], "unresponsive_engines": [["bing", "CAPTCHA"], "brave"]}"#,
            "did not answer: bing, brave",
        ),
    ] {
        let result = searxng(&page(page_text), json!({"query": "x"}));
        assert_eq!((result.outcome, result.output.as_ref()), (Outcome::Failed, None), "{page_text}");
        assert!(error(&result).contains(expected), "{result:?}");
    }
}

#[test]
fn an_engine_that_does_not_answer_is_a_failure_that_says_what_may_help() {
    let busy = Server::saying(answer("429 Too Many Requests", "Retry-After: 60\r\n", ""));
    let result = duckduckgo(&busy, json!({"query": "x"}));
    assert!(error(&result).contains("answers 429 Too Many Requests"), "{result:?}");
    assert_eq!(result.detail.unwrap().retry_after_ms, Some(60_000));
    let no_json = Server::saying(answer("403 Forbidden", "", ""));
    assert!(
        error(&searxng(&no_json, json!({"query": "x"}))).ends_with("must list json under search.formats")
    );
    let gone = searxng(&Server::saying(""), json!({"query": "x"}));
    assert!(error(&gone).starts_with("the search engine did not answer: host \"127.0.0.1\": "), "{gone:?}");
    assert_eq!(gone.outcome, Outcome::Failed);
}

#[test]
fn a_search_engine_cannot_send_the_tool_to_other_private_hosts() {
    let secret = page("secret");
    let location = format!("Location: {}\r\n", secret.url("/"));
    let result = searxng(&Server::saying(answer("302 Found", &location, "")), json!({"query": "x"}));
    assert!(error(&result).contains("private or reserved"), "{result:?}");
    assert!(secret.requests().is_empty());
}

#[test]
fn a_call_without_a_query_is_refused() {
    let server = page(DUCKDUCKGO);
    for arguments in [json!({}), json!({"query": "  "}), json!({"query": "x", "max_results": 0})] {
        assert_eq!(duckduckgo(&server, arguments).outcome, Outcome::BadArguments);
    }
    assert!(server.requests().is_empty());
}
