//! A concurrent engine gives what a plain loop gives, for any list.

use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use parking_lot::Mutex;
use proptest::prelude::*;
use serde_json::{Value, json};
use toolyard::{
    Arguments, BadCall, Engine, ExecuteOptions, Execution, Failure, Outcome, StateScope, Stateful, ToolCall,
    ToolReturn, ToolSpec,
};

use super::{
    state::Counter,
    tools::{field, paused, tool},
};

const TIMEOUT_MS: u64 = 100;
const MOST_IN_FLIGHT: usize = 7;
const MOST_NARROW: usize = 2;

/// What one generated call does.
#[derive(Clone, Debug)]
enum Deed {
    Echo(i64),
    Nap(u64),
    Fail(u8),
    PanicNow,
    PanicLater,
    Write(u8),
    Narrow(u64),
    Blocking(u8),
    /// Counts up its tool's state: how it works, how long, how it ends.
    Count(&'static str, u64, &'static str),
    Unknown,
    BadArguments,
    Unreadable,
}

fn deed() -> impl Strategy<Value = Deed> {
    prop_oneof![
        6 => any::<i64>().prop_map(Deed::Echo),
        // Some naps are longer than the time-out.
        3 => (0..2 * TIMEOUT_MS).prop_filter("a tie is nobody's win", |ms| *ms != TIMEOUT_MS).prop_map(Deed::Nap),
        2 => any::<u8>().prop_map(Deed::Fail),
        1 => Just(Deed::PanicNow),
        1 => Just(Deed::PanicLater),
        4 => any::<u8>().prop_map(Deed::Write),
        2 => (0..TIMEOUT_MS).prop_map(Deed::Narrow),
        1 => any::<u8>().prop_map(Deed::Blocking),
        5 => (
            prop::sample::select(vec!["now", "now", "wait", "wait", "block"]),
            prop::sample::select(vec![1, TIMEOUT_MS / 2, TIMEOUT_MS * 2]),
            prop::sample::select(vec!["ok", "ok", "fail", "panic"]),
        )
            .prop_map(|(work, ms, how)| Deed::Count(work, ms, how)),
        1 => Just(Deed::Unknown),
        1 => Just(Deed::BadArguments),
        1 => Just(Deed::Unreadable),
    ]
}

impl Deed {
    fn to_call(&self) -> Result<ToolCall, BadCall> {
        let call = |name: &str, arguments: Value| Ok(ToolCall::new(name, arguments.into()));
        match self {
            Self::Echo(n) => call("echo", json!({"n": n})),
            Self::Nap(ms) => call("nap", json!({"n": ms})),
            Self::Fail(n) => call("fail", json!({"n": n})),
            Self::PanicNow => call("panic_now", json!({})),
            Self::PanicLater => call("panic_later", json!({})),
            Self::Write(n) => call("write", json!({"n": n})),
            Self::Narrow(ms) => call("narrow", json!({"n": ms})),
            Self::Blocking(n) => call("blocking", json!({"n": n})),
            Self::Count(work, ms, how) => call("count", json!({"work": work, "ms": ms, "how": how})),
            Self::Unknown => call("no_such_tool", json!({})),
            Self::BadArguments => {
                Ok(ToolCall::new("echo", Arguments::from_text("{\"n\": 1, \"n\": 2}".into())))
            }
            Self::Unreadable => Err(BadCall { name: "".into(), id: "".into(), error: "not a call".into() }),
        }
    }

    /// What a plain loop would give: outcome and output; `log` is what writes have left, `count` the
    /// state of the counter.
    fn run_plainly(&self, log: &mut Vec<u64>, count: &mut i64) -> (Outcome, Option<String>) {
        match self {
            Self::Count("wait", ms, _) if *ms > TIMEOUT_MS => (Outcome::TimedOut, None),
            Self::Count(_, _, "fail") => (Outcome::Failed, None),
            Self::PanicNow | Self::PanicLater | Self::Count(_, _, "panic") => (Outcome::Panicked, None),
            Self::Count(..) => {
                *count += 1;
                (Outcome::Ok, Some(count.to_string()))
            }
            Self::Echo(n) => (Outcome::Ok, Some(n.to_string())),
            Self::Nap(ms) if *ms > TIMEOUT_MS => (Outcome::TimedOut, None),
            Self::Nap(ms) | Self::Narrow(ms) => (Outcome::Ok, Some(ms.to_string())),
            Self::Fail(n) => (Outcome::Failed, Some(n.to_string())),
            Self::Write(n) => {
                log.push(u64::from(*n));
                (Outcome::Ok, Some(log.len().to_string()))
            }
            Self::Blocking(n) => (Outcome::Ok, Some(n.to_string())),
            Self::Unknown => (Outcome::UnknownTool, None),
            Self::BadArguments | Self::Unreadable => (Outcome::BadArguments, None),
        }
    }
}

/// Counts what runs and the most that ever did.
#[derive(Default)]
struct Gauge {
    running: AtomicUsize,
    most: AtomicUsize,
}

impl Gauge {
    fn enter(self: &Arc<Self>) -> InFlight {
        self.most.fetch_max(self.running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        InFlight(self.clone())
    }
}

/// One call in flight.
struct InFlight(Arc<Gauge>);

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::SeqCst);
    }
}

struct World {
    engine: Engine,
    log: Arc<Mutex<Vec<u64>>>,
    all: Arc<Gauge>,
    narrow: Arc<Gauge>,
}

impl World {
    /// The state of the counter.
    fn count(&self) -> i64 {
        let state = futures::executor::block_on(self.engine.state("count", None)).unwrap();
        state.map_or(0, |raw| serde_json::from_str(raw.get()).unwrap())
    }
}

fn world() -> &'static World {
    static WORLD: OnceLock<World> = OnceLock::new();
    WORLD.get_or_init(|| {
        let (log, all, narrow) = <(Arc<Mutex<Vec<u64>>>, Arc<Gauge>, Arc<Gauge>)>::default();
        let reply = |n: Value| -> ToolReturn { Ok(n.into()) };
        let safe = |name: &str| ToolSpec::new(name).parallel_safe(true);
        let mut builder = paused()
            .timeout(Duration::from_millis(TIMEOUT_MS))
            .max_in_flight(MOST_IN_FLIGHT)
            .admission_timeout(Duration::from_hours(1));
        let gauge = all.clone();
        builder = builder.tool(tool(safe("echo"), move |call| {
            let _running = gauge.enter();
            async move { reply(field(&call, "n")) }
        }));
        for (name, gauges) in [("nap", vec![all.clone()]), ("narrow", vec![all.clone(), narrow.clone()])] {
            let spec = if name == "narrow" { safe(name).max_in_flight(MOST_NARROW) } else { safe(name) };
            builder = builder.tool(tool(spec, move |call| {
                let running: Vec<InFlight> = gauges.iter().map(Gauge::enter).collect();
                async move {
                    let ms = field(&call, "n");
                    tokio::time::sleep(Duration::from_millis(ms.as_u64().unwrap())).await;
                    drop(running);
                    reply(ms)
                }
            }));
        }
        builder = builder.tool(tool(safe("fail"), |call| async move {
            Err(Failure::failed("as asked").output(field(&call, "n")))
        }));
        builder =
            builder.tool(tool(safe("panic_now"), |_| -> std::future::Ready<ToolReturn> { panic!("now") }));
        builder = builder.tool(tool(safe("panic_later"), |_| async {
            tokio::time::sleep(Duration::from_millis(1)).await;
            panic!("later")
        }));
        let (lines, gauge) = (log.clone(), all.clone());
        builder = builder.tool(tool(ToolSpec::new("write"), move |call| {
            let (lines, running) = (lines.clone(), gauge.enter());
            async move {
                // A plain loop would see no other call between these two steps.
                let seen = lines.lock().len();
                tokio::time::sleep(Duration::from_millis(3)).await;
                let mut lines = lines.lock();
                assert_eq!(lines.len(), seen, "another call ran in between");
                lines.push(field(&call, "n").as_u64().unwrap());
                drop(running);
                reply(json!(lines.len()))
            }
        }));
        let gauge = all.clone();
        builder = builder.tool(tool(safe("blocking").execution(Execution::Blocking), move |call| {
            let running = gauge.enter();
            async move {
                drop(running);
                reply(field(&call, "n"))
            }
        }));
        builder = builder.tool(Stateful::new(Counter::new("count", StateScope::Engine)));
        World { engine: builder.build().unwrap(), log, all, narrow }
    })
}

fn check(deeds: &[Deed]) -> Result<(), TestCaseError> {
    let world = world();
    world.log.lock().clear();
    let mut count = world.count();
    let calls: Vec<_> = deeds.iter().map(Deed::to_call).collect();
    let report = world.engine.execute_blocking(calls, ExecuteOptions::new()).unwrap();

    let mut log = Vec::new();
    let expected: Vec<_> = deeds.iter().map(|deed| deed.run_plainly(&mut log, &mut count)).collect();
    let given: Vec<_> = report
        .results
        .iter()
        .map(|result| (result.outcome, result.output.as_ref().map(|output| output.to_text().to_owned())))
        .collect();
    prop_assert_eq!(given, expected);
    prop_assert!(report.results.iter().map(|result| result.index).eq(0..deeds.len()));
    prop_assert_eq!(&*world.log.lock(), &log);
    prop_assert_eq!(world.count(), count);
    prop_assert!(world.all.most.load(Ordering::SeqCst) <= MOST_IN_FLIGHT);
    prop_assert!(world.narrow.most.load(Ordering::SeqCst) <= MOST_NARROW);
    prop_assert_eq!(world.all.running.load(Ordering::SeqCst), 0);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100_000, max_shrink_iters: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_list_gives_what_a_plain_loop_gives(deeds in proptest::collection::vec(deed(), 0..12)) {
        silence_panics_of_tools();
        check(&deeds)?;
    }
}

/// Tools panic on purpose here, a hundred thousand times; their messages would fill the log.
fn silence_panics_of_tools() {
    static ONCE: OnceLock<()> = OnceLock::new();
    ONCE.get_or_init(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            let wanted = ["now", "later", "as asked"];
            if !panic.payload().downcast_ref::<&str>().is_some_and(|message| wanted.contains(message)) {
                usual(panic);
            }
        }));
    });
}
