//! The Python files of one engine: added, read again, ended.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use actix::Actor;
use futures::{FutureExt, StreamExt, stream};
use rustc_hash::FxHashSet;
use toolyard_contract::Tool;

use super::config::{PythonConfig, PythonFile};
use super::frames::Described;
use super::tool::python_tool;
use super::worker::{Load, Loaded, PythonWorkerActor, Restart, Retire};
use super::workers::Workers;
use crate::reply::post;
use crate::supervisor::Shared;
use crate::{CatalogChange, Yard};

/// How many files are imported at once: each import keeps a processor busy.
const IMPORTS_AT_ONCE: usize = 4;

/// Says what became of the files that were added or read again.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct PythonReport {
    /// The tools that are there now, in their order.
    pub tools: Vec<String>,
    /// What is not there, and why: a file that cannot be imported (with line and exception), a function whose
    /// parameters JSON cannot carry, a name that is taken. None of these keeps anything else out.
    pub problems: Vec<String>,
    /// The parameters of each tool that a model neither sees nor sets: those that were asked for, those that the worker
    /// fills in, and those that JSON cannot carry. A tool without such parameters is not here.
    pub excluded: BTreeMap<String, Vec<String>>,
}

/// A file whose functions are tools.
#[derive(Clone)]
pub(crate) struct PythonSource {
    file: PythonFile,
    config: Arc<PythonConfig>,
    workers: Arc<Workers>,
    /// Of the file's bytes, to tell whether it changed.
    fingerprint: u64,
    tools: Vec<String>,
}

/// A file that has been imported but whose tools are not published.
struct Import {
    source: PythonSource,
    tools: Vec<(Arc<dyn Tool>, Vec<String>)>,
    problems: Vec<String>,
}

impl PythonReport {
    fn publish(&mut self, source: &mut PythonSource, tool: String, excluded: Vec<String>) {
        if !excluded.is_empty() {
            self.excluded.insert(tool.clone(), excluded);
        }
        source.tools.push(tool);
    }
}

impl Yard {
    /// Makes the functions of Python files tools. Files are independent: one that cannot be imported is reported,
    /// and the others are added. Where a name is taken already, the tool that was there stays.
    pub async fn add_python_files(&self, files: Vec<PythonFile>, config: Arc<PythonConfig>) -> PythonReport {
        let imports = stream::iter(files)
            .map(|file| import(&self.shared, file, config.clone()))
            .buffered(IMPORTS_AT_ONCE)
            .collect::<Vec<_>>()
            .await;
        let mut report = PythonReport::default();
        for imported in imports {
            match imported {
                Ok(imported) => self.publish(imported, &mut report).await,
                Err(problem) => report.problems.push(problem),
            }
        }
        report
    }

    async fn publish(&self, imported: Import, report: &mut PythonReport) {
        let Import { mut source, tools, problems } = imported;
        report.problems.extend(problems);
        for (tool, excluded) in tools {
            let name = tool.spec().name.clone();
            match self.change_catalog(vec![CatalogChange::Add(tool)]).await {
                Ok(()) => report.publish(&mut source, name, excluded),
                Err(error) => report.problems.push(format!("{}: {error}", source.file.path().display())),
            }
        }
        report.tools.extend(source.tools.iter().cloned());
        self.shared.python.lock().push(source);
    }

    /// Reads those Python files again that have changed since, in new processes. Calls that are under way end in
    /// the old ones. A file that cannot be imported now keeps the tools it had.
    pub async fn reload_python_files(&self) -> PythonReport {
        let mut report = PythonReport::default();
        let old_sources = self.shared.python.lock().clone();
        for old in old_sources {
            if fingerprint(old.file.path()) == Some(old.fingerprint) {
                continue;
            }
            match import(&self.shared, old.file.clone(), old.config.clone()).await {
                Ok(imported) => self.replace(&old, imported, &mut report).await,
                Err(problem) => report.problems.push(problem),
            }
        }
        report
    }

    async fn replace(&self, old: &PythonSource, imported: Import, report: &mut PythonReport) {
        let Import { mut source, tools, problems } = imported;
        report.problems.extend(problems);
        let mut before: FxHashSet<&String> = old.tools.iter().collect();
        for (tool, excluded) in tools {
            let name = tool.spec().name.clone();
            let change =
                if before.remove(&name) { CatalogChange::Replace(tool) } else { CatalogChange::Add(tool) };
            match self.change_catalog(vec![change]).await {
                Ok(()) => report.publish(&mut source, name, excluded),
                Err(error) => report.problems.push(format!("{}: {error}", source.file.path().display())),
            }
        }
        for gone in before {
            if let Err(error) = self.change_catalog(vec![CatalogChange::Remove(gone.clone())]).await {
                report.problems.push(format!("{}: {error}", source.file.path().display()));
            }
        }
        report.tools.extend(source.tools.iter().cloned());
        let mut sources = self.shared.python.lock();
        if let Some(place) = sources.iter_mut().find(|other| Arc::ptr_eq(&other.workers, &old.workers)) {
            *place = source;
        }
        old.workers.actors().for_each(|actor| post(actor, Retire));
    }

    /// Ends the processes of all Python files once the calls that they have begun are answered. The next call of each
    /// starts a new one, with the file's global variables as they are after an import.
    pub async fn restart_python_files(&self) {
        let sources = self.shared.python.lock().clone();
        let actors: Vec<_> = sources.iter().flat_map(|source| source.workers.actors().cloned()).collect();
        // An actor that is gone has no process.
        stream::iter(actors).for_each_concurrent(None, |actor| actor.send(Restart).map(drop)).await;
    }

    /// Ends the processes of all Python files, after the calls that they still run.
    pub async fn retire_python_files(&self) {
        let sources = std::mem::take(&mut *self.shared.python.lock());
        stream::iter(&sources).for_each_concurrent(None, |source| retire(&source.workers)).await;
    }
}

async fn retire(workers: &Workers) {
    for actor in workers.actors() {
        // An actor that is gone has no process.
        let _ = actor.send(Retire).await;
    }
}

async fn import(shared: &Shared, file: PythonFile, config: Arc<PythonConfig>) -> Result<Import, String> {
    let shown = file.path().display();
    let path = file.path().canonicalize().map_err(|error| format!("{shown}: {error}"))?;
    let fingerprint = fingerprint(&path).ok_or_else(|| format!("{shown}: it cannot be read"))?;
    let start = |_| start_worker(shared, &config, &file, &path);
    let workers = Arc::new(Workers::new((0..config.processes.max(1)).map(start)));
    let mut loaded = Loaded { functions: Vec::new(), problems: Vec::new() };
    for actor in workers.actors() {
        let answer = actor.send(Load).await.map_err(|_| "the engine has stopped".to_owned());
        match answer.flatten() {
            Ok(answer) => loaded = answer,
            Err(problem) => {
                retire(&workers).await;
                return Err(problem);
            }
        }
    }
    let problems = loaded.problems.iter().map(|problem| format!("{shown}: {problem}")).collect();
    let tool = |function: Described| {
        let excluded = function.excluded.clone();
        (python_tool(function, workers.clone()), excluded)
    };
    let tools = loaded.functions.into_iter().map(tool).collect();
    let source = PythonSource { file, config, workers, fingerprint, tools: Vec::new() };
    Ok(Import { source, tools, problems })
}

fn start_worker(
    shared: &Shared,
    config: &Arc<PythonConfig>,
    file: &PythonFile,
    path: &Path,
) -> actix::Addr<PythonWorkerActor> {
    let (config, file, path): (_, _, PathBuf) = (config.clone(), file.clone(), path.to_owned());
    let (place, seat) = shared.placement.lock().least();
    let make = move || PythonWorkerActor::new(config, file, path, seat);
    PythonWorkerActor::start_in_arbiter(&place, move |_| make())
}

fn fingerprint(path: &Path) -> Option<u64> {
    let mut hasher = DefaultHasher::new();
    std::fs::read(path).ok()?.hash(&mut hasher);
    Some(hasher.finish())
}
