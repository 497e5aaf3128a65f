//! The Python files of one engine: added, read again, ended.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use actix::Actor;
use futures::{FutureExt, StreamExt, future::BoxFuture, stream};
use parking_lot::Mutex;
use toolyard_contract::Tool;

use super::config::{PythonConfig, PythonFile};
use super::frames::Described;
use super::tool::python_tool;
use super::worker::{Load, Loaded, PythonWorkerActor, Restart, Retire};
use super::workers::Workers;
use crate::child::ChildCommand;
use crate::code::{CodeGuard, CodePlace, linked_from};
use crate::extension::{Extension, ExtensionStatus, HostHandle, Offered, Refused};
use crate::reply::post;

/// How many files are imported at once: each import keeps a processor busy.
const IMPORTS_AT_ONCE: usize = 4;

/// Said where there is no engine, or none any more.
const STOPPED: &str = "the engine has stopped";

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

impl PythonReport {
    /// The report about no files.
    pub const fn none() -> Self {
        Self { tools: Vec::new(), problems: Vec::new(), excluded: BTreeMap::new() }
    }
}

/// A file whose functions are tools.
#[derive(Clone)]
struct PythonSource {
    file: PythonFile,
    config: Arc<PythonConfig>,
    workers: Arc<Workers>,
    /// Of the file's bytes, to tell whether it changed.
    fingerprint: u64,
    offered: Offered,
    /// File tools do not write what its workers take code from.
    _guards: Arc<Vec<CodeGuard>>,
}

/// A file that has been imported but whose tools are not published.
struct Import {
    source: PythonSource,
    tools: Vec<(Arc<dyn Tool>, Vec<String>)>,
    problems: Vec<String>,
}

/// The Python files of one engine: an extension, whose functions are tools. Clones share one set of files.
#[derive(Clone)]
pub struct PythonFiles(Arc<Inner>);

struct Inner {
    config: Arc<PythonConfig>,
    /// Those that are imported at the start.
    first: Mutex<Vec<PythonFile>>,
    report: OnceLock<PythonReport>,
    host: OnceLock<HostHandle>,
    sources: Mutex<Vec<PythonSource>>,
}

impl PythonFiles {
    /// Says which files an engine begins with, and how their workers run, and those of files that are added later.
    pub fn new(files: Vec<PythonFile>, config: Arc<PythonConfig>) -> Self {
        Self(Arc::new(Inner {
            config,
            first: Mutex::new(files),
            report: OnceLock::new(),
            host: OnceLock::new(),
            sources: Mutex::default(),
        }))
    }

    /// What became of the files that the engine began with; `None` before they have been imported.
    pub fn report(&self) -> Option<&PythonReport> {
        self.0.report.get()
    }

    /// Makes the functions of more Python files tools. Files are independent: one that cannot be imported is reported,
    /// and the others are added. Where a name is taken already, the tool that was there stays.
    ///
    /// # Cancellation
    /// Dropping the future leaves out the files that were not imported yet.
    pub async fn add(&self, files: Vec<PythonFile>) -> PythonReport {
        let mut report = PythonReport::default();
        let Some(host) = self.0.host.get() else {
            report.problems.push(STOPPED.to_owned());
            return report;
        };
        let imports = stream::iter(files)
            .map(|file| import(host, file, self.0.config.clone()))
            .buffered(IMPORTS_AT_ONCE)
            .collect::<Vec<_>>()
            .await;
        for imported in imports {
            match imported {
                Ok(imported) => {
                    let source = publish(host, Offered::default(), imported, &mut report).await;
                    self.0.sources.lock().push(source);
                }
                Err(problem) => report.problems.push(problem),
            }
        }
        report
    }

    /// Reads those files again that have changed since, in new processes. Calls that are under way end in the old ones. A
    /// file that cannot be imported now keeps the tools it had.
    ///
    /// # Cancellation
    /// Dropping the future leaves the files that were not imported yet as they were.
    pub async fn reload(&self) -> PythonReport {
        let mut report = PythonReport::default();
        let Some(host) = self.0.host.get() else { return report };
        let old_sources = self.0.sources.lock().clone();
        for old in old_sources {
            if fingerprint(old.file.path()) == Some(old.fingerprint) {
                continue;
            }
            match import(host, old.file.clone(), old.config.clone()).await {
                Ok(imported) => {
                    let source = publish(host, old.offered.clone(), imported, &mut report).await;
                    let mut sources = self.0.sources.lock();
                    if let Some(place) =
                        sources.iter_mut().find(|other| Arc::ptr_eq(&other.workers, &old.workers))
                    {
                        *place = source;
                    }
                    old.workers.actors().for_each(|actor| post(actor, Retire));
                }
                Err(problem) => report.problems.push(problem),
            }
        }
        report
    }

    /// Ends the processes of all files once the calls that they have begun are answered. The next call of each starts a
    /// new one, with the file's global variables as they are after an import.
    pub async fn restart(&self) {
        let sources = self.0.sources.lock().clone();
        let actors: Vec<_> = sources.iter().flat_map(|source| source.workers.actors().cloned()).collect();
        // An actor that is gone has no process.
        stream::iter(actors).for_each_concurrent(None, |actor| actor.send(Restart).map(drop)).await;
    }
}

impl Extension for PythonFiles {
    fn name(&self) -> &'static str {
        "python"
    }

    fn start(self: Arc<Self>, host: HostHandle) -> BoxFuture<'static, Result<(), String>> {
        Box::pin(async move {
            let _ = self.0.host.set(host);
            let files = std::mem::take(&mut *self.0.first.lock());
            let _ = self.0.report.set(self.add(files).await);
            Ok(())
        })
    }

    fn release(self: Arc<Self>) -> BoxFuture<'static, ()> {
        Box::pin(async move { self.restart().await })
    }

    /// Ends the processes of all files, after the calls that they still run.
    fn close(self: Arc<Self>) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            let sources = std::mem::take(&mut *self.0.sources.lock());
            stream::iter(&sources).for_each_concurrent(None, |source| retire(&source.workers)).await;
        })
    }

    fn status(&self) -> ExtensionStatus {
        ExtensionStatus::default()
            .problems(self.report().into_iter().flat_map(|report| report.problems.clone()))
    }
}

impl std::fmt::Debug for PythonFiles {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let sources = self.0.sources.lock();
        f.debug_list().entries(sources.iter().map(|source| source.file.path())).finish()
    }
}

/// Puts the tools of an imported file in the place of those that it had.
async fn publish(
    host: &HostHandle,
    mut offered: Offered,
    imported: Import,
    report: &mut PythonReport,
) -> PythonSource {
    let Import { mut source, tools, problems } = imported;
    report.problems.extend(problems);
    let names: Vec<_> =
        tools.iter().map(|(tool, excluded)| (tool.spec().name.clone(), excluded.clone())).collect();
    let refused = host.publish(&mut offered, tools.into_iter().map(|(tool, _)| tool).collect()).await;
    let is_there = |name: &str| refused.iter().all(|refused| refused.name != name);
    for (name, excluded) in names.into_iter().filter(|(name, _)| is_there(name)) {
        if !excluded.is_empty() {
            report.excluded.insert(name.clone(), excluded);
        }
        report.tools.push(name);
    }
    let problem = |refused: Refused| format!("{}: {}", source.file.path().display(), refused.error);
    report.problems.extend(refused.into_iter().map(problem));
    source.offered = offered;
    source
}

async fn retire(workers: &Workers) {
    for actor in workers.actors() {
        // An actor that is gone has no process.
        let _ = actor.send(Retire).await;
    }
}

async fn import(host: &HostHandle, file: PythonFile, config: Arc<PythonConfig>) -> Result<Import, String> {
    let shown = file.path().display();
    let path = file.path().canonicalize().map_err(|error| format!("{shown}: {error}"))?;
    let fingerprint = fingerprint(&path).ok_or_else(|| format!("{shown}: it cannot be read"))?;
    let mut guards = ChildCommand::new(&config.interpreter).guard();
    guards.push(guard(&path));
    let start = |_| start_worker(host, &config, &file, &path).ok_or_else(|| STOPPED.to_owned());
    let workers = (0..config.processes.max(1)).map(start).collect::<Result<Vec<_>, _>>()?;
    let workers = Arc::new(Workers::new(workers));
    let mut loaded = Loaded::default();
    for actor in workers.actors() {
        let answer = actor.send(Load).await.map_err(|_| STOPPED.to_owned());
        match answer.flatten() {
            Ok(answer) => loaded = answer,
            Err(problem) => {
                retire(&workers).await;
                return Err(problem);
            }
        }
    }
    guards.push(CodeGuard::new(loaded.code));
    let problems = loaded.problems.iter().map(|problem| format!("{shown}: {problem}")).collect();
    let tool = |function: Described| {
        let excluded = function.excluded.clone();
        (python_tool(function, workers.clone()), excluded)
    };
    let tools = loaded.functions.into_iter().map(tool).collect();
    let guards = Arc::new(guards);
    let source =
        PythonSource { file, config, workers, fingerprint, offered: Offered::default(), _guards: guards };
    Ok(Import { source, tools, problems })
}

/// Guards a file and what lies beside it.
fn guard(path: &Path) -> CodeGuard {
    let beside = path.parent().into_iter();
    let folders = beside.clone().map(|folder| CodePlace::Python(folder.to_owned()));
    let places = folders.chain(beside.flat_map(linked_from));
    CodeGuard::new(places.chain([CodePlace::File(path.to_owned())]))
}

fn start_worker(
    host: &HostHandle,
    config: &Arc<PythonConfig>,
    file: &PythonFile,
    path: &Path,
) -> Option<actix::Addr<PythonWorkerActor>> {
    let (config, file, path): (_, _, PathBuf) = (config.clone(), file.clone(), path.to_owned());
    let place = host.place()?;
    let arbiter = place.arbiter().clone();
    let make = move || PythonWorkerActor::new(config, file, path, place);
    Some(PythonWorkerActor::start_in_arbiter(&arbiter, move |_| make()))
}

fn fingerprint(path: &Path) -> Option<u64> {
    let mut hasher = DefaultHasher::new();
    std::fs::read(path).ok()?.hash(&mut hasher);
    Some(hasher.finish())
}
