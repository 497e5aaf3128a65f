//! A worker process in a container.

use std::{path::Path, sync::Arc};

use tokio::sync::{mpsc, oneshot};

use super::{BOOT, Begun, End, write_frames};
use crate::{
    python::PythonConfig,
    sandbox::{SandboxConfig, SandboxMount, SandboxProgram},
};

/// Begins a process in a container that has the folder of the file.
pub(super) fn begin(config: &PythonConfig, sandbox: &Arc<SandboxConfig>, path: &Path) -> Begun {
    let mut sandbox = SandboxConfig::clone(sandbox);
    let file = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    if let Some(folder) = file.parent() {
        let target = folder.to_string_lossy().into_owned();
        sandbox.mounts.push(SandboxMount { source: folder.to_owned(), target, writable: false });
    }
    let variable = |text: &std::ffi::OsString| text.to_string_lossy().into_owned();
    sandbox.env.extend(config.env.iter().map(|(name, value)| (variable(name), variable(value))));
    sandbox.env.insert("PYTHONSAFEPATH".to_owned(), "1".to_owned());
    let command = vec![sandbox.python.clone(), "-c".to_owned(), BOOT.to_owned()];
    let SandboxProgram { stdin, stdout, ended: told, kill } =
        SandboxProgram::start(Arc::new(sandbox), command);
    let (frames, outgoing) = mpsc::unbounded_channel();
    let (say_ended, ended) = oneshot::channel();
    // The end of its input is the program's business.
    let (say_closed, _) = oneshot::channel();
    tokio::spawn(write_frames(Some(stdin), outgoing, say_closed));
    tokio::spawn(async move {
        if let Ok((how, stderr)) = told.await {
            let _ = say_ended.send(End { how, stderr });
        }
    });
    Begun { stdout: Some(Box::new(stdout)), frames, kill, ended, kept: false }
}
