//! `toolyard sim`: simulations.

use std::{fs::File, time::Duration};

use anyhow::Context;
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use tokio::{task::spawn_blocking, time::sleep};
use toolyard::{
    replace::check_writable,
    sim::{Difference, Pace, Scenario, SimHandle, SimOutcome, Simulation, Summary},
};

use crate::{
    ALL_OK, SOME_NOT_OK,
    interrupt::{HangUp, Interrupt},
    options::{PaceOption, SimOptions},
    output::{OutputForm, Printer, Printing},
    paths::Paths,
    unwritten::Unwritten,
};

/// What is printed.
#[derive(Serialize)]
struct Printed {
    #[serde(flatten)]
    summary: Summary,
    #[serde(skip_serializing_if = "Option::is_none")]
    difference: Option<Difference>,
}

pub(crate) async fn run(options: &SimOptions) -> anyhow::Result<u8> {
    check(options)?;
    let mut scenario = Scenario::load(&options.scenario)?;
    scenario.seed = options.seed.unwrap_or(scenario.seed);
    scenario.agents = options.agents.unwrap_or(scenario.agents);
    scenario.time = match options.time {
        Some(PaceOption::Virtual) => Pace::Virtual,
        Some(PaceOption::Real) => Pace::Real,
        None => scenario.time,
    };
    let bar = bar(scenario.duration_s.0);
    let mut simulation = Simulation::new(scenario).arbiters(options.arbiters);
    if let Some(file) = &options.events {
        simulation = simulation.log(file);
    }
    if let Some(file) = &options.replay {
        simulation = simulation.replay(file);
    }
    let (handle, interrupt) = (simulation.handle(), Interrupt::listen(HangUp::Ends)?);
    let mut running = spawn_blocking(move || simulation.run());
    let ended = loop {
        tokio::select! {
            ended = &mut running => break ended?,
            () = interrupt.pressed(), if interrupt.status().is_none() => {}
            () = sleep(Duration::from_millis(100)) => show(&bar, &handle),
        }
        if interrupt.status().is_some() {
            handle.stop();
        }
    };
    bar.finish_and_clear();
    let SimOutcome { summary, difference, unwritten: log, .. } = ended?;
    let differs = difference.is_some();
    let mut unwritten = Unwritten::default();
    let mut printing = Printing::default();
    let printer = Printer { form: OutputForm::Native, lines: false };
    if let Some(text) = unwritten.note(printer.text(&Printed { summary, difference })) {
        printing.push(text);
    }
    if let Some(error) = log {
        unwritten.failed(error.into());
    }
    unwritten.note(printing.finish().await);
    Ok(unwritten.status(interrupt.status().unwrap_or(if differs { SOME_NOT_OK } else { ALL_OK })))
}

/// Finds out what cannot be read or written, before anything runs.
fn check(options: &SimOptions) -> anyhow::Result<()> {
    let mut paths = Paths::new();
    paths.reads("", &options.scenario);
    if let Some(file) = &options.replay {
        paths.reads("--replay", file);
        File::open(file).with_context(|| format!("--replay {}", file.display()))?;
    }
    if let Some(file) = &options.events {
        paths.writes("--events", file);
        check_writable(file).with_context(|| format!("--events {}", file.display()))?;
    }
    paths.check()
}

/// A bar over the scenario's time. It is drawn only where standard error is a terminal.
fn bar(duration: Duration) -> ProgressBar {
    let bar = ProgressBar::new(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX));
    let style = ProgressStyle::with_template("{bar:40} {percent:>3} % of {prefix}, {msg}, {elapsed}");
    if let Ok(style) = style {
        bar.set_style(style);
    }
    bar.with_prefix(format!("{} s", duration.as_secs_f64()))
}

fn show(bar: &ProgressBar, handle: &SimHandle) {
    bar.set_position(u64::try_from(handle.reached().as_millis()).unwrap_or(u64::MAX));
    let (calls, seconds) = (handle.calls(), bar.elapsed().as_secs_f64());
    #[expect(clippy::cast_precision_loss, reason = "a rate needs no exact counts")]
    let rate = calls as f64 / seconds.max(1e-3);
    bar.set_message(format!("{calls} calls, {rate:.0}/s"));
}
