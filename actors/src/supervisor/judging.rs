//! A list between the gate and its driver: it may have to wait for a policy.

use std::sync::{Arc, atomic::Ordering};

use toolyard_contract::{Plan, RunId};
use tracing::Instrument;

use super::{
    Shared,
    control::RunControl,
    drive::Driver,
    gate::{Gate, Gated, Runnable, Scope},
    nested::WithGuests,
    parking::Parking,
    route::Ways,
    run::{Run, RunsNested},
};
use crate::{
    admission::{Admission, AgentPass, turnstile::Permit},
    event::{EventKind, PlanPlace, WaitsFor},
    messages::{ExecuteOptions, Report},
};

/// A list that has been taken.
pub(crate) enum Begun {
    /// Its first calls are on their way.
    Driving(Box<Driver>),
    /// Its policy has not answered yet.
    Judging(Box<Judging>),
}

/// A list at the gate.
pub(crate) struct Judging {
    pub(super) shared: Arc<Shared>,
    pub(super) admission: Arc<Admission>,
    pub(super) agent: AgentPass,
    pub(super) scope: Scope,
    pub(super) ways: Ways,
    pub(super) gate: Gate,
    pub(super) options: ExecuteOptions,
    pub(super) control: RunControl,
    pub(super) permit: Permit,
}

impl Begun {
    /// Runs the list to its end.
    pub(crate) async fn finish(self) -> Report {
        let driver = match self {
            Self::Driving(driver) => driver,
            Self::Judging(mut judging) => {
                judging.gate.decide(&judging.options).await;
                judging.launch()
            }
        };
        let span = driver.run.span().clone();
        driver.drive().instrument(span).await
    }
}

impl Judging {
    /// Starts the list, unless a policy must be waited for.
    pub(super) fn begin(self) -> Begun {
        if self.gate.waits() { Begun::Judging(Box::new(self)) } else { Begun::Driving(self.launch()) }
    }

    /// Plans and starts a list that has been judged.
    fn launch(self) -> Box<Driver> {
        let Self { shared, admission, agent, scope, ways, gate, options, control, permit } = self;
        let Gated { labels, refused, asking, judged, runnable, plan } = gate.plan();
        let id = RunId(shared.runs.fetch_add(1, Ordering::Relaxed) + 1);
        let common = shared.common.clone();
        let nested: Arc<dyn RunsNested> = match &ways.guests {
            Some(guests) => Arc::new(WithGuests { shared, guests: guests.clone() }),
            None => shared,
        };
        let mut run = Run::new(id, common, nested, &options, scope, labels, control);
        let mut parking = Parking::new(run.common(), &options);
        if run.listens() {
            run.emit(EventKind::ListAccepted {
                calls: run.labels().len(),
                parent: options.ancestry.parent,
                agent: options.agent,
            });
            for judged in &judged {
                run.emit(EventKind::Judged {
                    call: run.info(judged.position),
                    check: judged.check.clone(),
                    decision: judged.decision.clone(),
                    version: run.common().permissions.version(),
                });
            }
            tell_plan(&run, &plan, &runnable);
            run.tell_waiting(asking.iter().map(|asking| asking.position), WaitsFor::Approval);
        }
        run.passed(judged);
        let run = Arc::new(run);
        let parked: Vec<_> =
            asking.into_iter().map(|asking| (asking.position, parking.park(asking, run.labels()))).collect();
        let mut driver = Driver::new(run, ways, admission, agent, plan, runnable, permit, parking);
        for (position, finished) in refused.into_iter().chain(parked) {
            driver.settle(position, finished);
        }
        driver.start();
        driver
    }
}

/// Tells those who listen where each call stands in the plan.
fn tell_plan(run: &Run, plan: &Plan, runnable: &[Runnable]) {
    // Batches are runs of adjacent steps.
    let batches = plan.batches.iter().enumerate();
    let batches = batches.flat_map(|(number, batch)| batch.calls.iter().map(move |_| (number, batch.kind)));
    for ((step, runnable), (batch, strategy)) in plan.steps.iter().zip(runnable).zip(batches) {
        let Ok(position) = u32::try_from(step.call) else { continue };
        let place = PlanPlace {
            tool: runnable.entry.spec().name.clone(),
            shard: runnable.entry.shard(run.agent_id()),
            batch,
            strategy,
            after: step.waits_for.checked_sub(1).map(|last| plan.steps[last].call),
            decision: step.decision.clone(),
        };
        run.emit(EventKind::Accepted { call: run.info(position), place });
    }
}
