//! The Python environments that `tests/run.sh` makes.

use std::path::{Path, PathBuf};

/// Returns the interpreter of the environment `venv-NAME`.
pub(crate) fn python(name: &str) -> PathBuf {
    let folder = std::env::var_os("TOOLYARD_TEST_VENVS")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("target"), PathBuf::from);
    let python = folder.join(format!("venv-{name}/bin/python"));
    assert!(python.exists(), "{} is missing: `tests/run.sh venvs` makes it", python.display());
    python
}
