//! The Python environments and npm packages that `tests/run.sh` makes.

use std::path::{Path, PathBuf};

/// Returns the interpreter of the environment `venv-NAME`.
pub(crate) fn python(name: &str) -> PathBuf {
    let python = folder().join(format!("venv-{name}/bin/python"));
    assert!(python.exists(), "{} is missing: `tests/run.sh venvs` makes it", python.display());
    python
}

/// Returns a program of the npm packages that `tests/run.sh` installs.
#[cfg(feature = "mcp")]
pub(crate) fn npm(program: &str) -> PathBuf {
    let path = folder().join("npm-mcp/node_modules/.bin").join(program);
    assert!(path.exists(), "{} is missing: `tests/run.sh npm` installs it", path.display());
    path
}

fn folder() -> PathBuf {
    std::env::var_os("TOOLYARD_TEST_VENVS")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("target"), PathBuf::from)
}
