//! Tools that only pretend.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use futures::future::BoxFuture;
use rand_pcg::Pcg64Mcg;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolyard_contract::{
    CallContext, Failure, Invocation, Output, Reply, SharedTool, StateScope, StateWork, Stateful,
    StatefulTool, Tool, ToolFuture, ToolReturn, ToolSpec,
};

use super::{
    book::OrderBook,
    chance::{Purpose, chance, share},
    scenario::{ToolKind, ToolModel},
};

/// The number of the list that each agent has under way.
pub(super) type Lists = Arc<[AtomicU32]>;

/// The agent's number, from its id.
pub(super) fn number(agent: &str) -> Option<u32> {
    agent.strip_prefix("agent-")?.parse().ok()
}

/// How the calls of one tool go.
struct Model {
    spec: ToolSpec,
    says: ToolModel,
    seed: u64,
    groups: u32,
    lists: Lists,
}

/// How one call goes.
enum Fate {
    Ok,
    Fails,
    Hangs,
    Panics,
}

impl Model {
    /// What becomes of a call, and after which time.
    fn draw(&self, context: &CallContext) -> (Fate, Duration) {
        let mut chance = self.chance(context);
        let latency = self.says.latency.map_or(Duration::ZERO, |latency| latency.draw(&mut chance));
        let ToolModel { fails, hangs, panics, .. } = self.says;
        let fate = match share(&mut chance) {
            drawn if drawn < hangs => Fate::Hangs,
            drawn if drawn < hangs + panics => Fate::Panics,
            drawn if drawn < hangs + panics + fails => Fate::Fails,
            _ => Fate::Ok,
        };
        (fate, latency)
    }

    fn chance(&self, context: &CallContext) -> Pcg64Mcg {
        let agent = context.agent().and_then(number).unwrap_or_default();
        let list = self.lists.get((agent / self.groups) as usize);
        let list = list.map_or(0, |list| list.load(Ordering::Relaxed));
        chance(self.seed, agent, Purpose::Call { list, position: context.position, attempt: context.attempt })
    }

    fn waits(&self) -> bool {
        self.says.latency.is_some() || self.says.hangs > 0.0
    }
}

/// Lets a call take its time and meet its fate.
async fn meet(fate: Fate, latency: Duration) -> Result<(), Failure> {
    if !latency.is_zero() {
        tokio::time::sleep(latency).await;
    }
    match fate {
        Fate::Ok => Ok(()),
        Fate::Fails => Err(Failure::failed("it was not to be")),
        Fate::Hangs => std::future::pending().await,
        Fate::Panics => break_down(),
    }
}

/// Panics without a word on standard error: it is meant.
fn break_down() -> ! {
    std::panic::resume_unwind(Box::new("it was not to be"))
}

/// Gives back its arguments.
struct ReplyTool(Model);

impl Tool for ReplyTool {
    fn spec(&self) -> &ToolSpec {
        &self.0.spec
    }

    fn call(self: Arc<Self>, Invocation { arguments, context }: Invocation) -> ToolFuture {
        ToolFuture::new(async move {
            let (fate, latency) = self.0.draw(&context);
            meet(fate, latency).await?;
            Ok(Output::from_json_text(arguments).unwrap_or_else(|_| "".into()).into())
        })
    }
}

/// Counts the calls of each agent.
struct TallyTool(Model);

/// What an agent has counted.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Tally {
    calls: u64,
    amount: u64,
}

impl Tally {
    fn after(mut self, arguments: &str) -> (ToolReturn, Self) {
        self.calls += 1;
        let amount = serde_json::from_str(arguments).ok().and_then(|all: Value| all.get("amount")?.as_u64());
        self.amount = self.amount.saturating_add(amount.unwrap_or_default());
        (Ok(Reply::from(json!({"calls": self.calls, "amount": self.amount}))), self)
    }
}

impl StatefulTool for TallyTool {
    type State = Tally;

    fn spec(&self) -> &ToolSpec {
        &self.0.spec
    }

    fn scope(&self) -> StateScope {
        StateScope::Agent
    }

    fn initial(&self, _: Option<&str>) -> Tally {
        Tally::default()
    }

    fn work(
        self: Arc<Self>,
        Invocation { arguments, context }: Invocation,
        tally: Tally,
    ) -> StateWork<Tally> {
        let (fate, latency) = self.0.draw(&context);
        if !self.0.waits() && matches!(fate, Fate::Ok) {
            let (returned, tally) = tally.after(&arguments);
            return StateWork::Done(returned, tally);
        }
        let work: BoxFuture<'static, _> = Box::pin(async move {
            match meet(fate, latency).await {
                Ok(()) => tally.after(&arguments),
                Err(failure) => (Err(failure), tally),
            }
        });
        StateWork::Waits(work)
    }
}

/// Keeps an order book that all agents share.
struct BookTool(Model);

impl StatefulTool for BookTool {
    type State = OrderBook;

    fn spec(&self) -> &ToolSpec {
        &self.0.spec
    }

    fn initial(&self, _: Option<&str>) -> OrderBook {
        OrderBook::default()
    }

    fn work(self: Arc<Self>, invocation: Invocation, mut book: OrderBook) -> StateWork<OrderBook> {
        let returned = place(&self, invocation, &mut book);
        StateWork::Done(returned, book)
    }
}

fn place(tool: &BookTool, Invocation { arguments, context }: Invocation, book: &mut OrderBook) -> ToolReturn {
    match tool.0.draw(&context).0 {
        Fate::Ok | Fate::Hangs => {}
        Fate::Fails => return Err(Failure::failed("it was not to be")),
        Fate::Panics => break_down(),
    }
    let order =
        serde_json::from_str(&arguments).map_err(|error| Failure::bad_arguments(error.to_string()))?;
    Ok(Reply::from(json!(book.place(order))))
}

/// Makes all copies of a tool.
pub(super) fn tools(model: &ToolModel, seed: u64, groups: u32, lists: &Lists) -> Vec<SharedTool> {
    let tool = |name: String| -> SharedTool {
        let mut spec = ToolSpec::new(name)
            .parallel_safe(model.parallel_safe)
            .idempotent(model.idempotent)
            .checks_arguments(true);
        spec.timeout = model.timeout_s.map(|timeout| timeout.0);
        spec.max_in_flight = model.limits.max_in_flight.or(spec.max_in_flight);
        spec.rate = model.limits.rate.map(|rate| rate.0).or(spec.rate);
        let model = Model { spec, says: model.clone(), seed, groups, lists: lists.clone() };
        match model.says.kind {
            ToolKind::Reply => Arc::new(ReplyTool(model)),
            ToolKind::Tally => Arc::new(Stateful::new(TallyTool(model))),
            ToolKind::Book => Arc::new(Stateful::new(BookTool(model))),
        }
    };
    model.names().into_iter().map(tool).collect()
}
