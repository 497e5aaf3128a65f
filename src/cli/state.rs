//! `toolyard state`: shows and replaces the states in a store; `call --state` uses one.

use std::{
    io::{BufWriter, Write},
    path::Path,
};

use anyhow::{Context, bail};
use serde_json::json;
use toolyard::{Engine, name, persist};

use crate::{
    ALL_OK, SOME_NOT_OK,
    options::{DumpOptions, LoadOptions, OutputForm, StateVerb},
    output::Printer,
    setup,
};

pub(crate) async fn run(verb: &StateVerb) -> anyhow::Result<u8> {
    match verb {
        StateVerb::Dump(options) => dump(options),
        StateVerb::Load(options) => load(options).await,
    }
}

/// Prints the rows of a store, of all tools or of one, in the form of a store.
fn dump(DumpOptions { state: store, tool }: &DumpOptions) -> anyhow::Result<u8> {
    let rows = persist::read_rows(store).with_context(|| store.display().to_string())?;
    let tools: Vec<String> = match tool {
        None => rows.tools().to_vec(),
        Some(wanted) => match rows.tools().iter().find(|tool| name::key(tool) == name::key(wanted)) {
            Some(tool) => vec![tool.clone()],
            None => {
                bail!("{}: it has no tool {wanted:?}; there is: {}", store.display(), rows.tools().join(", "))
            }
        },
    };
    let asked = tools.clone();
    let rows = rows.filter(|row| row.as_ref().map_or(true, |row| asked.contains(&row.tool)));
    let mut out = BufWriter::new(std::io::stdout().lock());
    persist::write_rows(&mut out, tools, rows).with_context(|| store.display().to_string())?;
    out.flush().context("standard output cannot be written")?;
    Ok(ALL_OK)
}

/// Puts the rows of a file into a store, as far as the tools of the engine take them.
async fn load(options: &LoadOptions) -> anyhow::Result<u8> {
    let engine = setup::engine(&options.engine)?;
    before(&engine, &options.state).await?;
    let file = &options.file;
    let loaded = engine.load_state(file.as_path()).await.with_context(|| file.display().to_string())?;
    after(&engine, &options.state).await?;
    let printer = Printer { form: OutputForm::Native, lines: false };
    printer.json(&json!({"rows": loaded.rows, "unknown": loaded.unknown}))?;
    Ok(if loaded.unknown.is_empty() { ALL_OK } else { SOME_NOT_OK })
}

/// Loads a store, if it is there. What it has of other tools stays in it.
pub(crate) async fn before(engine: &Engine, store: &Path) -> anyhow::Result<()> {
    if store.exists() {
        engine.load_state(store).await.with_context(|| format!("--state {}", store.display()))?;
    }
    Ok(())
}

/// Saves to a store; when that fails, the old one stays.
pub(crate) async fn after(engine: &Engine, store: &Path) -> anyhow::Result<()> {
    engine.update_state(store).await.with_context(|| format!("--state {}", store.display()))?;
    Ok(())
}
