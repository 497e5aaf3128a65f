//! The interpreter itself, before anything is asked of it.

use std::{path::Path, time::Duration};

use tokio::{io::AsyncReadExt, time::timeout};

use crate::child::{ChildCommand, ChildError, InheritEnv};

/// How long an interpreter may take to tell its version.
const PATIENCE: Duration = Duration::from_secs(10);

/// Asks an interpreter for its version, as it prints it.
///
/// # Errors
/// When there is no such program, or it does not answer as an interpreter does.
pub async fn python_version(interpreter: &Path) -> Result<String, String> {
    let command = ChildCommand::new(interpreter)
        .args(["-I", "-c", "import sys; print('Python', sys.version)"])
        .inherit_env(InheritEnv::All);
    let mut child = command.start().map_err(|error: ChildError| error.to_string())?;
    let mut stdout = child.take_stdout().ok_or("it has no output")?;
    let mut text = String::new();
    let answered = timeout(PATIENCE, stdout.read_to_string(&mut text)).await;
    child.stop().await;
    let is_python = matches!(answered, Ok(Ok(_))) && text.starts_with("Python 3");
    is_python
        .then(|| text.trim().to_owned())
        .ok_or_else(|| format!("{} is no Python 3", interpreter.display()))
}
