//! What people do with the page.

use serde_json::{Value, json};

use super::{browser::Page, page, story};

/// Zooms, clicks, searches and filters, and writes down what came of it.
const SCRIPT: &str = r##"
const said = {};
const press = (target, key) => target.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
const share = () => Number(((view.to - view.from) / span).toFixed(3));
const title = () => document.querySelector("#detail h2")?.textContent;
const rows = () => [...body.rows].map((row) => row.cells[0].textContent + " " + row.cells[3].textContent);

press(chart, "+");
said.closer = share();
press(chart, "ArrowRight");
said.moved = Number((view.from / span).toFixed(2));
press(chart, "0");
said.all = share();
const fixed = momentAt(700);
const wheel = { deltaY: -100, ctrlKey: true, clientX: canvas.getBoundingClientRect().left + 700, cancelable: true };
chart.dispatchEvent(new WheelEvent("wheel", wheel));
said.wheel = [share() < 0.8, Math.abs(momentAt(700) - fixed) < 1];
press(chart, "0");

const failed = calls.index.findIndex((_, call) => outcomeOf(call) === "failed");
const [place, area] = [placeOf(failed), canvas.getBoundingClientRect()];
const middle = { clientX: area.left + (x(beginOf(failed)) + x(calls.to[failed])) / 2, clientY: area.top + place.top + place.height / 2 };
for (const kind of ["pointerdown", "pointerup"]) canvas.dispatchEvent(new PointerEvent(kind, { ...middle, bubbles: true }));
said.clicked = title();
said.story = Object.fromEntries([...document.querySelectorAll("#detail dt")].map((term) => [term.textContent, term.nextSibling.textContent]));
draw();
press(chart, "Escape");
said.closed = document.getElementById("detail").hidden;

searchField.value = "Planner  COUNT";
searchField.dispatchEvent(new Event("input"));
said.found = [document.getElementById("found").textContent, rows()];
said.walk = ["Enter", "Enter", "Enter", "Enter"].map((key) => (press(searchField, key), title()));
document.querySelector("#table tbody tr:nth-child(2) button").click();
said.shown = title();
searchField.value = "";
searchField.dispatchEvent(new Event("input"));
for (const button of document.querySelectorAll("#legend button")) if (!button.textContent.includes("timed_out")) button.click();
said.filtered = rows();
document.body.replaceChildren(JSON.stringify(said));
"##;

#[test]
fn people_zoom_click_search_and_filter() {
    let (_, timeline) = story::run();
    let document = Page::new(&page(&timeline), SCRIPT).document();
    let said = document.split_once("<body>").unwrap().1.split_once("</body>").unwrap().0;
    let said: Value = serde_json::from_str(&said.replace("&lt;", "<").replace("&amp;", "&")).unwrap();
    let expected = json!({
        "closer": 0.6, "moved": 0.32, "all": 1, "wheel": [true, true],
        "clicked": "#3 search",
        "story": {
            "outcome": "✕ failed",
            "error": "the shop is closed: come back at 9 o'clock",
            "id": "call_3",
            "list": "list 1 · traveller",
            "actor": "search",
            "batch": "batch 1 · concurrent · 7 calls",
            "why": "the tool is declared parallel-safe",
            "began": "450 ms",
            "ran": "150 ms",
            "waited": "240 ms for a place among its tool's calls, 210 ms for a place among its agent's calls",
        },
        "closed": true,
        "found": ["3 matches", ["#0 count", "#1 count", "#4 count"]],
        "walk": ["#0 count", "#1 count", "#4 count", "#0 count"],
        "shown": "#1 count",
        "filtered": ["#5 fetch", "#1 search", "#2 search"],
    });
    assert_eq!(said, expected);
}
