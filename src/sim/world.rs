//! One world: an engine with its agents, on one arbiter.

use std::{
    cell::{Cell, RefCell},
    cmp::Reverse,
    collections::BinaryHeap,
    rc::Rc,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use sha2::{Digest, Sha256};
use tokio::{
    sync::Notify,
    time::{Instant, sleep_until},
};
use toolyard_actors::moment;
use toolyard_contract::{Arguments, ToolCall};

use super::{
    SimError,
    chance::{Purpose, between, chance},
    count::{Counts, WorldTap},
    host::HostTools,
    log::LogStream,
    progress::Progress,
    scenario::Scenario,
    template::Template,
    tools::{Lists, tools},
};
use crate::{Attached, Engine, EngineError, ExecuteOptions, config::Config};

/// A list of the scenario, ready to be filled in.
struct Choice {
    weight: u64,
    calls: Vec<(Template, Template)>,
}

/// One world while it runs.
pub(super) struct World {
    group: u32,
    scenario: Arc<Scenario>,
    engine: Attached,
    choices: Vec<Choice>,
    lists: Lists,
    tap: Arc<WorldTap>,
    progress: Arc<Progress>,
    /// When agents begin their next lists, in milliseconds: the earliest first, then the one with the lowest number.
    agenda: RefCell<BinaryHeap<Reverse<(u64, u32)>>>,
    under_way: Cell<usize>,
    /// Told when a list has ended.
    ended: Notify,
    began: Instant,
    overloaded: Cell<u64>,
    /// By index of the agent.
    done: RefCell<Vec<u32>>,
}

/// What is left of a world.
pub(super) struct WorldEnd {
    pub(super) counts: Counts,
    pub(super) overloaded: u64,
    /// The lists that each agent has ended.
    pub(super) done: Vec<u32>,
    pub(super) rows: u64,
    /// Digests of the tools' states.
    pub(super) states: Vec<[u8; 32]>,
}

impl World {
    /// Starts the engine of a world on the current system.
    pub(super) fn start(
        scenario: &Arc<Scenario>,
        group: u32,
        host: Option<&HostTools>,
        log: Option<Arc<LogStream>>,
        progress: &Arc<Progress>,
    ) -> Result<Rc<Self>, SimError> {
        let wrong = |error: String| SimError::Scenario(error);
        let agents = (scenario.agents - group).div_ceil(scenario.groups);
        let lists: Lists = (0..agents).map(|_| 0.into()).collect();
        let mut config = Config { engine: scenario.engine.clone(), ..Config::default() };
        config.tools.enable = Some(Vec::new());
        let builder = Engine::builder().config(&config).map_err(|error| wrong(error.to_string()))?;
        let models =
            scenario.tools.iter().flat_map(|model| tools(model, scenario.seed, scenario.groups, &lists));
        let hosts = host.map(|tools| tools(group)).unwrap_or_default();
        let builder = builder.tools(models).tools(hosts).retry_seed(scenario.seed ^ u64::from(group));
        let engine = builder.attach().map_err(|error| wrong(error.to_string()))?;
        let tap = Arc::new(WorldTap::new((scenario.groups > 1).then_some(group), log));
        engine.yard().tap(tap.clone());
        let choices = scenario.lists.iter().map(|list| {
            let calls =
                list.calls.iter().map(|call| Ok((call.tool.clone(), call.arguments().map_err(wrong)?)));
            Ok(Choice { weight: list.weight.into(), calls: calls.collect::<Result<_, SimError>>()? })
        });
        let world = Self {
            group,
            scenario: scenario.clone(),
            engine,
            choices: choices.collect::<Result<_, SimError>>()?,
            lists,
            tap,
            progress: progress.clone(),
            agenda: RefCell::default(),
            under_way: Cell::new(0),
            ended: Notify::new(),
            began: Instant::now(),
            overloaded: Cell::new(0),
            done: RefCell::new(vec![0; agents as usize]),
        };
        let first = scenario.first.unwrap_or(scenario.think);
        for index in 0..agents {
            let mut chance = chance(scenario.seed, world.agent(index), Purpose::First);
            world.note(index, first.draw(&mut chance));
        }
        Ok(Rc::new(world))
    }

    /// Runs the world to its end.
    pub(super) async fn run(self: Rc<Self>) -> Result<WorldEnd, SimError> {
        while !self.progress.is_stopped() {
            let now = self.began.elapsed();
            let next = self.agenda.borrow().peek().map(|Reverse((at, _))| Duration::from_millis(*at));
            match next {
                Some(at) if at <= now => {
                    if let Some(Reverse((_, index))) = self.agenda.borrow_mut().pop() {
                        self.begin(index);
                    }
                }
                Some(at) => {
                    self.progress.reached(now);
                    tokio::select! {
                        biased;
                        () = self.ended.notified() => {}
                        () = sleep_until(moment::after(self.began, at)) => {}
                    }
                }
                None if self.under_way.get() == 0 => break,
                None => self.ended.notified().await,
            }
        }
        while self.under_way.get() > 0 {
            self.ended.notified().await;
        }
        self.end().await
    }

    /// The number of an agent of this world.
    fn agent(&self, index: u32) -> u32 {
        index * self.scenario.groups + self.group
    }

    /// Puts the agent's next list on the agenda, unless there is no time for it.
    fn note(&self, index: u32, at: Duration) {
        let most = self.scenario.lists_per_agent.unwrap_or(u32::MAX);
        if at <= self.scenario.duration() && self.lists[index as usize].load(Ordering::Relaxed) < most {
            let at = u64::try_from(at.as_millis()).unwrap_or(u64::MAX);
            self.agenda.borrow_mut().push(Reverse((at, index)));
        }
    }

    /// Begins the agent's next list, as a task of its own.
    fn begin(self: &Rc<Self>, index: u32) {
        let list = self.lists[index as usize].fetch_add(1, Ordering::Relaxed) + 1;
        let agent = self.agent(index);
        let mut chance = chance(self.scenario.seed, agent, Purpose::List { list });
        let weights = self.choices.iter().map(|choice| choice.weight);
        let mut drawn = between(&mut chance, 1, weights.sum());
        let chosen = self.choices.iter().find(|choice| {
            let chosen = drawn <= choice.weight;
            drawn = drawn.saturating_sub(choice.weight);
            chosen
        });
        let calls: Vec<_> = chosen
            .map_or(&[][..], |choice| &choice.calls)
            .iter()
            .enumerate()
            .map(|(position, (tool, arguments))| {
                let name = tool.fill(agent, list, &mut chance);
                let arguments = Arguments::from_text(arguments.fill(agent, list, &mut chance));
                ToolCall::new(name, arguments).with_id(format!("{list}-{position}"))
            })
            .collect();
        let think = self.scenario.think.draw(&mut chance);
        self.under_way.set(self.under_way.get() + 1);
        let world = self.clone();
        actix::spawn(async move {
            let options = ExecuteOptions::new().agent(format!("agent-{agent}"));
            match world.engine.execute(calls, options).await {
                Ok(report) => {
                    world.done.borrow_mut()[index as usize] += 1;
                    world.progress.add(report.results.len());
                }
                Err(EngineError::Overloaded { .. }) => world.overloaded.set(world.overloaded.get() + 1),
                Err(error) => world.progress.fail(SimError::Engine(error.to_string())),
            }
            let now = world.began.elapsed();
            world.note(index, now.saturating_add(think));
            world.under_way.set(world.under_way.get() - 1);
            world.ended.notify_one();
        });
    }

    async fn end(&self) -> Result<WorldEnd, SimError> {
        let wrong = |error: String| SimError::Engine(error);
        let yard = self.engine.yard();
        let (mut rows, mut states) = (0, Vec::new());
        for tool in yard.stateful_tools() {
            let mut digest = Sha256::new();
            for tool in yard.snapshot(Some(&tool)).await.map_err(|error| wrong(error.to_string()))? {
                rows += tool.rows.len() as u64;
                digest.update(serde_json::to_string(&tool).map_err(|error| wrong(error.to_string()))?);
            }
            states.push(digest.finalize().into());
        }
        self.engine.stop(Duration::ZERO).await;
        Ok(WorldEnd {
            counts: self.tap.take(),
            overloaded: self.overloaded.get(),
            done: self.done.take(),
            rows,
            states,
        })
    }
}
