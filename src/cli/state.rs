//! `toolyard state`: shows and replaces the states in a store; `call --state` uses one.

use std::{
    io::{BufWriter, Write},
    path::Path,
    time::Duration,
};

use anyhow::{Context, anyhow, bail};
use serde_json::json;
use toolyard::{
    Engine, SuspendedList, name,
    persist::{self, StateStore},
};

use crate::{
    ALL_OK, SOME_NOT_OK,
    options::{DumpOptions, LoadOptions, StateVerb},
    output::{OutputForm, Printer},
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
    let mut out = BufWriter::new(std::io::stdout().lock());
    let mut head = rows.head().clone();
    head.types.retain(|tool, _| tools.contains(tool));
    head.tools = tools;
    let rows = rows.filter(|row| row.as_ref().map_or(true, |row| asked.contains(&row.tool)));
    persist::write_rows(&mut out, head, rows).with_context(|| store.display().to_string())?;
    out.flush().context("standard output cannot be written")?;
    Ok(ALL_OK)
}

/// Puts the rows of a file into a store, as far as the tools of the engine take them.
async fn load(options: &LoadOptions) -> anyhow::Result<u8> {
    let store = Store::lock(&options.state, options.state_wait.patience()).await?;
    let engine = setup::engine(&options.engine)?;
    store.load(&engine).await?;
    let file = &options.file;
    let loaded = engine.load_state(file.as_path()).await.with_context(|| file.display().to_string())?;
    store.save(&engine).await?;
    let printer = Printer { form: OutputForm::Native, lines: false };
    printer.json(&json!({"rows": loaded.rows, "unknown": loaded.unknown}))?;
    Ok(if loaded.unknown.is_empty() { ALL_OK } else { SOME_NOT_OK })
}

/// The store of a run, locked until its end.
pub(crate) struct Store {
    /// As the user calls it.
    name: String,
    file: StateStore,
}

impl Store {
    /// Locks a store, which need not be there yet.
    pub(crate) async fn lock(path: &Path, wait: Duration) -> anyhow::Result<Self> {
        let name = format!("--state {}", path.display());
        let file = StateStore::open(path, wait).await.with_context(|| name.clone())?;
        Ok(Self { name, file })
    }

    /// Locks the store that a suspended list works on: that of its record, which `path` may say has moved.
    pub(crate) async fn of_list(
        list: &SuspendedList,
        path: Option<&Path>,
        wait: Duration,
    ) -> anyhow::Result<Option<Self>> {
        let Some(mark) = &list.store else {
            return match path {
                Some(path) => Self::lock(path, wait).await.map(Some),
                None => Ok(None),
            };
        };
        let (name, hint) = match (path, &mark.file) {
            (Some(path), _) => (format!("--state {}", path.display()), ""),
            (None, Some(file)) => (
                format!("the state that the list works on, {file}"),
                "; where it has moved, say --state FILE",
            ),
            (None, None) => ("the list works on a state".to_owned(), "; say which by --state FILE"),
        };
        let file = StateStore::reopen(mark, path, wait).await;
        let file = file.map_err(|error| anyhow!("{name}: {error}{hint}"))?;
        Ok(Some(Self { name, file }))
    }

    /// Loads it, if it is there. What it has of other tools stays in it.
    pub(crate) async fn load(&self, engine: &Engine) -> anyhow::Result<()> {
        self.file.load(engine).await.with_context(|| self.name.clone())?;
        Ok(())
    }

    /// Saves to it; when that fails, the old one stays.
    pub(crate) async fn save(&self, engine: &Engine) -> anyhow::Result<()> {
        self.file.save(engine).await.with_context(|| self.name.clone())?;
        Ok(())
    }
}

/// Says in the record of a list which state it works on, before that is saved.
///
/// Without a store the state ends with this process. A call whose row is new finds it again as it would be
/// anywhere; of any other call it is said that it cannot go on.
pub(crate) fn note(list: &mut SuspendedList, store: Option<&Store>) {
    list.store = store.map(|store| store.file.mark());
    if store.is_some() {
        return;
    }
    for parked in &mut list.parked {
        if parked.state.take_if(|state| !state.used).is_none() && parked.state.is_some() {
            let (index, tool) = (parked.index, &parked.call.tool);
            eprintln!(
                "toolyard: call {index} waits, but the state of {tool:?} ends with this run: approved, it will be \
                 refused; with --state FILE it would be kept"
            );
        }
    }
}
