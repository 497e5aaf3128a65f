//! The web tools as scripts use them.

use std::fs;

use serde_json::json;

use super::server::{Server, answer};
use crate::cli::{json, outcomes, toolyard};

#[test]
fn the_configuration_says_what_the_web_tools_may_reach() {
    let server = Server::saying(answer("200 OK", "Content-Type: text/plain\r\n", "hello"));
    let folder = tempfile::tempdir().unwrap();
    let list = json!([{"name": "http_request", "arguments": server.url("/")}]);
    fs::write(folder.path().join("list.json"), list.to_string()).unwrap();
    let call =
        || toolyard(&["call", "list.json", "--tools", "http"]).current_dir(folder.path()).output().unwrap();
    assert_eq!(outcomes(&json(&call())), ["denied"]);
    let config = format!("[http]\nallow = [\"127.0.0.1:{}\"]\n", server.port());
    fs::write(folder.path().join("toolyard.toml"), config).unwrap();
    let answer = json(&call());
    assert_eq!((outcomes(&answer), &answer["results"][0]["output"]["body"]), (vec!["ok"], &json!("hello")));
}
