//! `toolyard resume`: goes on with a suspended list.

use std::time::Duration;

use serde_json::json;
use toolyard::{Answer, Answers, ExecuteOptions, RunControl, formats::read_document, suspend::SuspendFile};

use crate::{
    ALL_OK, INTERRUPTED, SOME_NOT_OK,
    interrupt::Interrupt,
    options::ResumeOptions,
    output::Printer,
    record::Recording,
    setup,
    state::{self, Store},
};

pub(crate) async fn run(options: &ResumeOptions) -> anyhow::Result<u8> {
    let (mut file, mut list) = SuspendFile::open(&options.file)?;
    list.recover();
    let mut store = Store::of_list(&list, options.state.as_deref(), options.state_wait.patience()).await?;
    let engine = setup::engine(&options.engine)?;
    #[cfg(feature = "mcp")]
    {
        let waiting: Vec<_> = list.parked.iter().map(|parked| parked.call.tool.as_str()).collect();
        crate::servers::wait_for(&engine, &waiting).await;
    }
    if let Some(store) = &mut store {
        store.load(&engine).await?;
    }
    let interrupt = Interrupt::listen()?;
    let recording = Recording::start(&engine, &options.record)?;
    let declared = read_document(&serde_json::to_vec(&json!({"calls": [], "tools": list.stubs}))?)?;
    let mut how = setup::stubs(ExecuteOptions::new(), &declared.tools)?;
    how.timeout = options.timeout;
    how.deadline = options.deadline;

    let claim = engine.claim(&mut list, &answers(options), &how)?;
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
    let kept = match &mut store {
        Some(store) => store.save(&engine).await,
        None => Ok(()),
    };
    file.save(&list)?;
    let report = report?;
    Printer { form: options.output, lines: false }.report(&list.id, &report)?;
    recording.finish(&options.record)?;
    kept?;
    engine.shutdown(Duration::ZERO).await;
    Ok(match (interrupt.is_pressed(), report.all_ok()) {
        (true, _) => INTERRUPTED,
        (false, true) => ALL_OK,
        (false, false) => SOME_NOT_OK,
    })
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
