//! Texts of models and tools stay texts.

use serde_json::json;
use toolyard::{Engine, ExecuteOptions, Failure, ToolSpec, events::Recorder, timeline::Timeline};

use super::{browser::Page, page};
use crate::engine::tools::{call, tool};

const EVIL: [&str; 4] = [
    "</script><script>document.title = 'taken'</script>",
    "<img src=x onerror=\"document.title = 'taken'\">",
    "<!--<script>",
    "{{script}}\u{2028}\" onclick='x' &lt;b&gt;",
];

#[test]
fn names_ids_agents_and_errors_cannot_become_part_of_the_page() {
    let failing = |name: &str| tool(ToolSpec::new(name), |_| async { Err(Failure::failed(EVIL.concat())) });
    let engine = Engine::builder().tools(EVIL.map(failing)).build().unwrap();
    let recorder = Recorder::start(&engine, Timeline::default()).unwrap();
    let calls = EVIL.map(|evil| call(evil, json!({})).with_id(evil)).to_vec();
    engine.execute_blocking(calls, ExecuteOptions::new().agent(EVIL.concat())).unwrap();
    let timeline = recorder.finish().unwrap().sink;

    // Every call is chosen once, so that its story is on the page too.
    let script = "const rows = []; for (let call = 0; call < callCount; call++) { choose(call, true); draw(); \
        rows.push(body.children[call].cells[3].textContent); } \
        document.body.dataset.tools = JSON.stringify(rows);";
    let document = Page::new(&page(&timeline), script).document();
    assert!(document.contains("<title>Timeline</title>"), "a script of a tool's name ran");
    assert!(!document.contains("<img"), "a tool's name became an element");
    let tools = document.split_once("data-tools=\"").unwrap().1.split_once('"').unwrap().0;
    let tools = tools.replace("&quot;", "\"").replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
    assert_eq!(serde_json::from_str::<Vec<String>>(&tools).unwrap(), EVIL);
}

#[test]
fn the_page_asks_the_network_for_nothing() {
    let page = page(&Timeline::default());
    assert!(page.contains("default-src 'none'"));
    for asks in ["http://", "https://", "src=", "url(", "@import", "fetch(", "XMLHttpRequest", "import("] {
        assert!(!page.contains(asks), "{asks}");
    }
}
