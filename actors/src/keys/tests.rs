use std::{
    cell::RefCell,
    collections::{BTreeMap, VecDeque},
    num::NonZeroU32,
    rc::Rc,
    time::Duration,
};

use futures::{StreamExt, stream::FuturesUnordered};
use proptest::prelude::*;
use tokio::time::sleep;
use toolyard_contract::ToolSpec;

use super::*;
use crate::admission::{Admission, Limits, ToolGates};

const ONE: NonZeroU32 = NonZeroU32::MIN;

#[derive(Clone, Copy, Debug)]
enum Step {
    /// Takes the key, or joins its queue.
    Come { key: u8, lane: u8 },
    /// Gives the key back.
    Release { key: u8 },
    /// Somebody in the queue goes away.
    Leave { key: u8, nth: usize },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let key = || 0..3_u8;
    let step = prop_oneof![
        3 => (key(), 0..3_u8).prop_map(|(key, lane)| Step::Come { key, lane }),
        2 => key().prop_map(|key| Step::Release { key }),
        1 => (key(), 0..5_usize).prop_map(|(key, nth)| Step::Leave { key, nth }),
    ];
    proptest::collection::vec(step, 0..60)
}

/// Who has a key, and the lanes of those who wait in the order of their turns.
#[derive(Default)]
struct Model {
    holder: Option<u32>,
    lanes: VecDeque<(u8, VecDeque<u32>)>,
}

impl Model {
    fn next(&mut self) -> Option<u32> {
        let (lane, mut waiting) = self.lanes.pop_front()?;
        let next = waiting.pop_front();
        if !waiting.is_empty() {
            self.lanes.push_back((lane, waiting));
        }
        next
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn keys_go_to_one_at_a_time_in_turns_by_lane_and_in_order_within_one(steps in steps()) {
        let mut queues = Queues::<u8, u8, u32>::default();
        let mut models: BTreeMap<u8, Model> = BTreeMap::new();
        let mut tickets = BTreeMap::new();
        for (number, step) in (0_u32..).zip(steps) {
            match step {
                Step::Come { key, lane } => {
                    let model = models.entry(key).or_default();
                    let taken = queues.try_take(&key);
                    prop_assert_eq!(taken, model.holder.is_none());
                    if taken {
                        model.holder = Some(number);
                        continue;
                    }
                    tickets.insert(number, (lane, queues.join(&key, lane, ONE, number)));
                    match model.lanes.iter_mut().find(|(known, _)| *known == lane) {
                        Some((_, waiting)) => waiting.push_back(number),
                        None => model.lanes.push_back((lane, VecDeque::from([number]))),
                    }
                }
                Step::Release { key } => {
                    let model = models.entry(key).or_default();
                    let next = if model.holder.is_some() { model.next() } else { None };
                    prop_assert_eq!(queues.release(&key), next);
                    model.holder = next;
                }
                Step::Leave { key, nth } => {
                    let model = models.entry(key).or_default();
                    let all: Vec<u32> = model.lanes.iter().flat_map(|(_, waiting)| waiting.clone()).collect();
                    let Some(leaver) = all.get(nth) else { continue };
                    let (lane, ticket) = tickets[leaver];
                    queues.leave(&key, &lane, ticket);
                    model.lanes.iter_mut().for_each(|(_, waiting)| waiting.retain(|one| one != leaver));
                    model.lanes.retain(|(_, waiting)| !waiting.is_empty());
                }
            }
        }
        let taken = models.values().filter(|model| model.holder.is_some()).count();
        prop_assert_eq!(queues.len(), taken, "a key that is free takes no memory");
    }
}

#[test]
fn whoever_goes_away_in_the_moment_of_its_turn_keeps_nobody_waiting() {
    use futures::FutureExt;
    let (table, key) = (Arc::new(KeyTable::default()), Key::Row(1, RowKey::Engine));
    let turn = Turn { lane: None, weight: ONE };
    let first = table.try_take(&key).unwrap();
    let mut second = Box::pin(table.take(&key, &turn));
    let mut third = Box::pin(table.take(&key, &turn));
    assert!(second.as_mut().now_or_never().is_none() && third.as_mut().now_or_never().is_none());
    drop(first);
    drop(second); // its turn had come, but it never looked
    let third = third.now_or_never().expect("it has the key now");
    assert!(table.try_take(&key).is_none());
    drop(third);
    assert!(!table.is_taken(&key));
}

/// One call that comes, waits for what it needs, works and ends.
#[derive(Clone, Debug)]
struct Job {
    agent: u8,
    row: Option<u8>,
    blocking: bool,
    comes: u64,
    works: u64,
    /// It goes away so long after it came, if it has not begun.
    leaves: Option<u64>,
}

fn job() -> impl Strategy<Value = Job> {
    let row = proptest::option::weighted(0.8, 0..3_u8);
    let leaves = proptest::option::weighted(0.2, 0..40_u64);
    (0..4_u8, row, any::<bool>(), 0..30_u64, 1..20_u64, leaves).prop_map(
        |(agent, row, blocking, comes, works, leaves)| Job { agent, row, blocking, comes, works, leaves },
    )
}

#[derive(Default)]
struct World {
    /// Jobs at work now.
    running: Vec<usize>,
    came: Vec<usize>,
    began: Vec<usize>,
    ended: usize,
}

async fn run(jobs: Vec<Job>, limits: Limits, tool_places: usize) {
    let admission = Admission::for_depths(&limits, 1).remove(0);
    let spec = ToolSpec::new("t").max_in_flight(tool_places);
    let gates = ToolGates::for_depths(&limits, &spec, 1, &[]).remove(0);
    let (table, world) = (Arc::new(KeyTable::default()), Rc::new(RefCell::new(World::default())));
    let check = || {
        let world = world.borrow();
        let count = |is: &dyn Fn(&Job) -> bool| world.running.iter().filter(|at| is(&jobs[**at])).count();
        let running = count(&|_| true);
        let (engine, blocking) = admission.taken();
        assert_eq!(engine, running, "the widest place belongs to those who work, and to nobody who waits");
        assert!(running <= limits.max_in_flight && running <= tool_places);
        let at_work = count(&|job| job.blocking);
        assert!(at_work <= blocking && blocking <= limits.max_blocking);
        if engine < limits.max_in_flight {
            assert_eq!(blocking, at_work, "nobody who waits for a row has a thread");
        }
        for row in 0..3 {
            assert!(count(&|job| job.row == Some(row)) <= 1, "one at a time on a row");
        }
    };
    let works = jobs.iter().enumerate().map(|(at, job)| {
        let (admission, gates, table, world) = (&admission, &gates, &table, &world);
        async move {
            sleep(Duration::from_millis(2 * job.comes)).await;
            let agent = admission.agent(Some(&job.agent.to_string().into()));
            let key = job.row.map(|row| Key::Row(u64::from(row), RowKey::Engine));
            let way = admission.way(&agent, gates, job.blocking, key.as_ref().map(|key| (table, key)));
            world.borrow_mut().came.push(at);
            let until = crate::moment::from_now(limits.admission_timeout);
            let passed = async {
                match way.try_pass(1) {
                    Some(permits) => permits,
                    None => way.pass(until, limits.admission_timeout).await.unwrap(),
                }
            };
            let leaves =
                job.leaves.map_or(limits.admission_timeout, |leaves| Duration::from_millis(2 * leaves));
            let Ok(permits) = tokio::time::timeout(leaves, passed).await else {
                world.borrow_mut().ended += 1;
                return;
            };
            world.borrow_mut().began.push(at);
            world.borrow_mut().running.push(at);
            sleep(Duration::from_millis(2 * job.works)).await;
            world.borrow_mut().running.retain(|one| *one != at);
            drop(permits);
            world.borrow_mut().ended += 1;
        }
    });
    // Between two moments at which something happens, everybody who was told something has heard it.
    let watch = async {
        sleep(Duration::from_millis(1)).await;
        while world.borrow().ended < jobs.len() {
            check();
            sleep(Duration::from_millis(2)).await;
        }
        check();
    };
    let works = works.collect::<FuturesUnordered<_>>().collect::<()>();
    futures::join!(works, watch);
    let world = world.borrow();
    assert_eq!(world.ended, jobs.len(), "everything ends");
    assert_eq!(table.0.iter().map(|part| part.lock().len()).sum::<usize>(), 0);
    for agent in 0..4 {
        for row in 0..3 {
            let theirs = |at: &&usize| jobs[**at].agent == agent && jobs[**at].row == Some(row);
            let began: Vec<_> = world.began.iter().filter(theirs).collect();
            let came = world.came.iter().filter(theirs).filter(|at| began.contains(at));
            assert_eq!(began, came.collect::<Vec<_>>(), "an agent's calls keep their order on a row");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nobody_who_waits_for_a_narrow_thing_holds_a_wide_one_and_everything_ends(
        jobs in proptest::collection::vec(job(), 1..40),
        places in (1..5_usize, 1..4_usize, 1..6_usize),
    ) {
        let (max_in_flight, max_blocking, tool_places) = places;
        let patience = Duration::from_hours(1);
        let limits = Limits { max_in_flight, max_blocking, admission_timeout: patience, ..Limits::default() };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        runtime.unwrap().block_on(run(jobs, limits, tool_places));
    }
}
