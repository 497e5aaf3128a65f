//! `toolyard resume`: goes on with a suspended list.

use std::time::Duration;

use anyhow::Context;
use toolyard::{Answer, Answers, ExecuteOptions, RunControl, formats::read_document, suspend::SuspendFile};

use crate::{
    ALL_OK, SOME_NOT_OK,
    interrupt::{HangUp, Interrupt},
    options::ResumeOptions,
    output::{Printer, Printing},
    paths::Paths,
    record::{self, Recording},
    setup,
    state::{self, Store},
    unwritten::Unwritten,
};

pub(crate) async fn run(options: &ResumeOptions) -> anyhow::Result<u8> {
    check(options)?;
    let (mut file, mut list) = SuspendFile::open(&options.file)?;
    list.recover();
    let store = Store::of_list(&list, options.state.as_deref(), options.state_wait.patience()).await?;
    let engine = setup::engine(&options.engine)?;
    let interrupt = Interrupt::listen(HangUp::Ends)?;
    #[cfg(feature = "mcp")]
    {
        let waiting: Vec<_> = list.parked.iter().map(|parked| parked.call.tool.as_str()).collect();
        tokio::select! {
            _ = crate::servers::wait_for(&engine, &waiting) => {}
            () = interrupt.pressed() => {}
        }
    }
    if let Some(store) = &store {
        store.load(&engine).await?;
    }
    let declared = format!(r#"{{"calls": [], "tools": {}}}"#, serde_json::to_string(&list.stubs)?);
    let declared = read_document(declared.as_bytes())?;
    let mut how = setup::stubs(ExecuteOptions::new(), &declared.tools)?;
    how.timeout = options.timeout;
    how.deadline = options.deadline;

    if let Some(status) = interrupt.status() {
        // Nothing was claimed yet, so everything can be answered again.
        engine.shutdown(Duration::ZERO).await;
        return Ok(status);
    }
    let claim = engine.claim(&mut list, &answers(options), &how)?;
    let recording = Recording::start(&engine, &options.record)?;
    // From here on a crash makes what was given free `lost`, and never run again.
    file.save(&list)?;
    let control = RunControl::new();
    let report = {
        let mut running = Box::pin(engine.run_claim(&mut list, claim, how, control.clone()));
        tokio::select! {
            biased;
            report = &mut running => report,
            () = interrupt.pressed() => {
                control.cancel();
                running.await
            }
        }
    };
    state::note(&mut list, store.as_ref());
    // What has run is told and kept, whatever fails of it.
    let mut unwritten = Unwritten::default();
    let mut printing = Printing::default();
    let mut all_ok = false;
    match report {
        Ok(report) => {
            let printer = Printer { form: options.output, lines: false };
            if let Some(text) = unwritten.note(printer.report(&list.id, &report)) {
                printing.push(text);
            }
            all_ok = report.all_ok();
        }
        Err(error) => unwritten.failed(error.into()),
    }
    // Before the record, which then needs this save.
    if let Some(store) = &store {
        unwritten.note(store.save(&engine).await);
    }
    let saved = file.save(&list).context("what ran just now counts as lost when the list goes on");
    unwritten.note(saved);
    recording.finish(&mut unwritten);
    unwritten.note(printing.finish().await);
    engine.shutdown(Duration::ZERO).await;
    Ok(unwritten.status(interrupt.status().unwrap_or(if all_ok { ALL_OK } else { SOME_NOT_OK })))
}

/// Finds out what cannot be written, before anything runs or is written.
fn check(options: &ResumeOptions) -> anyhow::Result<()> {
    let mut paths = Paths::new();
    paths.writes("", &options.file);
    if let Some(store) = &options.state {
        paths.writes("--state", store);
    }
    paths.engine(&options.engine)?;
    paths.record(&options.record);
    record::check(&options.record)?;
    paths.check()
}

fn answers(options: &ResumeOptions) -> Answers {
    let mut answers = Answers::new();
    for id in &options.approve {
        answers = answers.approve(id);
    }
    for denial in &options.deny {
        answers = match denial.split_once('=') {
            Some((id, why)) => answers.deny_because(id, why),
            None => answers.deny(denial),
        };
    }
    for (id, value) in &options.answer {
        answers = answers.with(id, Answer::Input(value.clone()));
    }
    answers
}
