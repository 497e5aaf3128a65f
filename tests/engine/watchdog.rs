//! Tools that keep their arbiter from working are found out.

use std::{
    sync::{Arc, mpsc},
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use serde_json::json;
use toolyard::{Engine, ExecuteOptions, StateScope, StateWork, Stateful, StatefulTool, ToolSpec};

use super::tools::{call, tool};

/// A tool with state that blocks until it may go on.
struct Hog {
    spec: ToolSpec,
    gate: Mutex<mpsc::Receiver<()>>,
}

impl StatefulTool for Hog {
    type State = u8;

    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn scope(&self) -> StateScope {
        StateScope::Engine
    }

    fn initial(&self, _: Option<&str>) -> u8 {
        0
    }

    fn work(self: Arc<Self>, _: toolyard::Invocation, state: u8) -> StateWork<u8> {
        self.gate.lock().recv().unwrap();
        StateWork::Done(Ok("".into()), state)
    }
}

/// Runs one call of a tool that blocks until `open` is told, after it was found out; gives who was heard of.
fn found_out(engine: &Engine, open: &mpsc::Sender<()>) -> Vec<String> {
    let names = Arc::new(Mutex::new(Vec::new()));
    let noted = names.clone();
    engine.on_blocked(Arc::new(move |tool| noted.lock().push(tool.to_owned())));
    let report = std::thread::scope(|scope| {
        let list = scope.spawn(|| {
            let calls = vec![call("patient", json!({})), call("hog", json!({}))];
            engine.execute_blocking(calls, ExecuteOptions::new()).unwrap()
        });
        let late = Instant::now() + Duration::from_mins(1);
        while engine.health("hog").unwrap().blocked == 0 && Instant::now() < late {
            std::thread::sleep(Duration::from_millis(10));
        }
        open.send(()).unwrap();
        list.join().unwrap()
    });
    assert!(report.all_ok(), "{report:?}");
    assert_eq!((engine.health("hog").unwrap().blocked, engine.health("patient").unwrap().blocked), (1, 0));
    std::mem::take(&mut *names.lock())
}

/// A tool that waits for longer than a turn may take, as tools should.
fn patient() -> impl toolyard::Tool {
    tool(ToolSpec::new("patient").parallel_safe(true), |_| async {
        tokio::time::sleep(Duration::from_millis(2_500)).await;
        Ok("".into())
    })
}

#[test]
fn an_async_tool_that_blocks_its_arbiter_is_named_and_one_that_waits_is_not() {
    for awaits_first in [false, true] {
        let (open, gate) = mpsc::channel();
        let gate = Arc::new(Mutex::new(gate));
        let hog = tool(ToolSpec::new("hog").parallel_safe(true), move |_| {
            let gate = gate.clone();
            async move {
                if awaits_first {
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
                gate.lock().recv().unwrap();
                Ok("".into())
            }
        });
        let engine = Engine::builder().tool(hog).tool(patient()).build().unwrap();
        assert_eq!(found_out(&engine, &open), ["hog"], "awaits first: {awaits_first}");
    }
}

#[test]
fn a_tool_with_state_that_blocks_is_named_too() {
    let (open, gate) = mpsc::channel();
    let hog = Hog { spec: ToolSpec::new("hog").parallel_safe(true), gate: Mutex::new(gate) };
    let engine = Engine::builder().tool(Stateful::new(hog)).tool(patient()).build().unwrap();
    assert_eq!(found_out(&engine, &open), ["hog"]);
}
