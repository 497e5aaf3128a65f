//! Fifty thousand calls.

use serde_json::{Value, json};
use toolyard::timeline::Timeline;

use super::{browser::Page, page};

const CALLS: u64 = 50_000;
const ACTORS: u64 = 8;
const AT_ONCE: u64 = 64;
/// How long a call runs, roughly.
const RUNS_NS: u64 = 10_000_000;

/// A list of so many calls, a few of which fail.
fn timeline() -> Timeline {
    let mut timeline = Timeline::default();
    let mut add = |at_ns: u64, event: Value| {
        let mut record = json!({"v": 1, "at_ns": at_ns, "run": 1});
        record.as_object_mut().unwrap().extend(event.as_object().unwrap().clone());
        timeline.add(serde_json::from_value(record).unwrap());
    };
    add(0, json!({"event": "list_accepted", "calls": CALLS, "agent": "crowd"}));
    for index in 0..CALLS {
        let actor = format!("actor-{}", index % ACTORS);
        let call = json!({"index": index, "tool": actor, "id": format!("id-{index}")});
        let from = index / AT_ONCE * RUNS_NS + index * 7_919 % 1_000;
        let elapsed = RUNS_NS - 1_000 - index * 104_729 % (RUNS_NS / 2);
        let outcome = if index % 1_000 == 17 { "failed" } else { "ok" };
        let reason = "the tool is declared parallel-safe";
        add(
            index,
            json!({"event": "accepted", "call": call, "actor": actor, "batch": 0, "strategy": "concurrent", "reason": reason}),
        );
        if index >= AT_ONCE {
            add(CALLS, json!({"event": "waiting", "call": call, "on": "engine"}));
        }
        add(from, json!({"event": "started", "call": call}));
        add(
            from + elapsed,
            json!({"event": "finished", "call": call, "outcome": outcome, "waited_ns": from, "elapsed_ns": elapsed}),
        );
    }
    add(CALLS / AT_ONCE * RUNS_NS + RUNS_NS, json!({"event": "list_finished", "elapsed_ns": 0}));
    timeline
}

/// Zooms in and out, searches and turns pages, and writes down how long each of these took at worst,
/// in milliseconds, and what was found.
const SCRIPT: &str = r#"
const timed = (work) => { const begun = performance.now(); work(); return performance.now() - begun; };
const frame = () => timed(() => { draw(); pen.getImageData(view.width - 1, view.height - 1, 1, 1); });
frame();
const frames = [];
for (let zoomed = 0; zoomed < 40; zoomed++) { zoom(zoomed < 20 ? 0.6 : 1 / 0.6, 400 + 10 * zoomed); frames.push(frame()); }
frames.sort((one, other) => one - other);
searchField.value = "FAILED id-17";
const searched = timed(search);
const found = shownCount();
searchField.value = "";
search();
const turned = timed(() => showPage(499));
const last = body.lastElementChild.cells[2].textContent;
const relaid = timed(() => showWaits(true));
const waits = frame();
document.body.replaceChildren(JSON.stringify({median: frames[20], worst: frames[39], searched, turned, relaid, waits, found, last}));
"#;

#[test]
fn fifty_thousand_calls_are_drawn_searched_and_turned_over_quickly() {
    let page = page(&timeline());
    assert!(page.len() < 8 << 20, "{} bytes", page.len());
    Page::new(&page, "").picture("many", 1_280, 1_000);
    let document = Page::new(&page, SCRIPT).document();
    let measured = document.split_once("<body>").unwrap().1.split_once("</body>").unwrap().0;
    println!("{measured}");
    let measured: Value = serde_json::from_str(measured).unwrap();
    assert_eq!((&measured["found"], &measured["last"]), (&json!(2), &json!("id-49999")));
    // Ten times what an idle machine takes, as others may work here too.
    for (what, most) in [("median", 200.0), ("searched", 1_000.0), ("turned", 1_000.0)] {
        assert!(measured[what].as_f64().unwrap() < most, "{what}: {measured}");
    }
}

#[test]
fn a_timeline_of_too_many_calls_says_what_it_leaves_out() {
    let mut timeline = Timeline::default();
    for run in 1..=5 {
        let list = json!({"v": 1, "at_ns": run, "run": run, "event": "list_accepted", "calls": 45_000});
        timeline.add(serde_json::from_value(list).unwrap());
    }
    let dropped = json!({"v": 1, "at_ns": 9, "event": "dropped", "count": 3});
    timeline.add(serde_json::from_value(dropped).unwrap());
    let document =
        Page::new(&page(&timeline), "document.title = document.getElementById('missing').textContent")
            .document();
    let title = document.split_once("<title>").unwrap().1.split_once("</title>").unwrap().0;
    let expected = "Not everything is here: 3 events came too fast and were dropped; 45,000 calls are left out, because there are too many to draw.";
    assert_eq!(title, expected);
}
