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
    npm_modules("mcp").join(".bin").join(program)
}

/// Returns the folder of the packages `npm-NAME`.
#[cfg(feature = "mcp")]
pub(crate) fn npm_modules(name: &str) -> PathBuf {
    let path = folder().join(format!("npm-{name}/node_modules"));
    assert!(path.exists(), "{} is missing: `tests/run.sh npm` makes it", path.display());
    path
}

fn folder() -> PathBuf {
    std::env::var_os("TOOLYARD_TEST_VENVS")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("target"), PathBuf::from)
}
