//! Which files running programs take code from, and which folders a model may write: one must never become the other.
//!
//! Kept for the process, because files are: every engine and every file tool of it sees the same ones.

use std::{
    collections::HashMap,
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
};

use parking_lot::Mutex;

/// What a program takes code or configuration from.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CodePlace {
    /// One file.
    File(PathBuf),
    /// The Python modules in a folder and below it: packages are folders.
    Python(PathBuf),
    /// The scripts and modules in a folder and below it, of whatever language.
    Scripts(PathBuf),
    /// Everything in a folder and below it: an installed library has more than modules.
    Library(PathBuf),
}

static CODE: Mutex<Option<HashMap<CodePlace, usize>>> = Mutex::new(None);
static WRITABLE: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Keeps file tools from writing what a program takes code from, until it is dropped.
#[derive(Debug)]
#[must_use]
pub struct CodeGuard(Vec<CodePlace>);

impl CodeGuard {
    /// Begins to guard places. Links are followed now.
    pub fn new(places: impl IntoIterator<Item = CodePlace>) -> Self {
        let places: Vec<_> = places.into_iter().filter_map(CodePlace::real).collect();
        let mut table = CODE.lock();
        let table = table.get_or_insert_default();
        for place in &places {
            *table.entry(place.clone()).or_default() += 1;
        }
        Self(places)
    }

    /// Guards a program as it is given, what it is a link to, and the virtual environment that it belongs to.
    pub fn program(program: &Path) -> Self {
        let mut places = vec![CodePlace::File(program.to_owned())];
        if let (Some(folder), Some(name)) = (program.parent(), program.file_name()) {
            // The link itself can be replaced too.
            places.push(CodePlace::File(real(folder).join(name)));
            let above = folder.parent().filter(|above| above.join("pyvenv.cfg").is_file());
            places.extend(above.map(|environment| CodePlace::Library(environment.to_owned())));
        }
        Self::new(places)
    }

    /// Guards a program and those of its arguments that are files: scripts, with what lies beside them, and
    /// configurations.
    pub fn command(program: &Path, args: &[String], folder: Option<&Path>) -> Vec<Self> {
        let mut places: Vec<_> =
            folder.into_iter().map(|folder| CodePlace::Scripts(folder.to_owned())).collect();
        let seen_from = folder.unwrap_or(Path::new("/"));
        for arg in args {
            let value = arg.split_once('=').map_or(arg.as_str(), |(_, value)| value);
            let files = [arg.as_str(), value].map(|text| seen_from.join(text));
            for file in files.into_iter().filter(|file| file.is_file()) {
                if let Some(beside) = real(&file).parent().filter(|_| is_script(&file)) {
                    places.push(CodePlace::Scripts(beside.to_owned()));
                }
                places.push(CodePlace::File(file));
            }
        }
        vec![Self::program(program), Self::new(places)]
    }

    /// Goes on for as long as this process.
    pub fn for_good(self) {
        std::mem::forget(self);
    }
}

impl Drop for CodeGuard {
    fn drop(&mut self) {
        let mut table = CODE.lock();
        let Some(table) = table.as_mut() else { return };
        for place in &self.0 {
            if let Some(count) = table.get_mut(place) {
                *count -= 1;
                if *count == 0 {
                    table.remove(place);
                }
            }
        }
    }
}

/// Whether a running program may take code from the file that this path, without links, leads to.
pub fn is_code(path: &Path) -> bool {
    let table = CODE.lock();
    let Some(table) = table.as_ref().filter(|table| !table.is_empty()) else { return false };
    // Where file systems do not tell upper case from lower, another spelling is the same file.
    let path = lower(path);
    table.keys().any(|place| place.holds(&path))
}

/// Tells that a tool may write below a folder: from now on no child is led there by its environment.
pub fn may_be_written(folder: &Path) {
    let folder = real(folder);
    let mut folders = WRITABLE.lock();
    if !folders.contains(&folder) {
        folders.push(folder);
    }
}

/// The folders that no child takes code from: the current one, and those that a tool may write.
#[cfg(feature = "child")]
pub(crate) fn untrusted_folders() -> Vec<PathBuf> {
    let current = std::env::current_dir().into_iter().map(|folder| real(&folder));
    WRITABLE.lock().iter().cloned().chain(current).collect()
}

/// A path without links, as far as it exists.
pub(crate) fn real(path: &Path) -> PathBuf {
    let mut rest = Vec::new();
    let mut above = path;
    loop {
        if let Ok(mut found) = above.canonicalize() {
            found.extend(rest.iter().rev());
            return found;
        }
        match (above.parent(), above.file_name()) {
            (Some(parent), Some(name)) => {
                rest.push(name);
                above = parent;
            }
            _ => return std::path::absolute(path).unwrap_or_else(|_| path.to_owned()),
        }
    }
}

impl CodePlace {
    /// The place without links, for comparing; `None` when it is the root of all, which cannot be guarded.
    fn real(self) -> Option<Self> {
        let clean = |path: PathBuf| Some(lower(&real(&path))).filter(|path| path.parent().is_some());
        Some(match self {
            Self::File(path) => Self::File(clean(path)?),
            Self::Python(path) => Self::Python(clean(path)?),
            Self::Scripts(path) => Self::Scripts(clean(path)?),
            Self::Library(path) => Self::Library(clean(path)?),
        })
    }

    fn holds(&self, path: &Path) -> bool {
        match self {
            Self::File(file) => path == file,
            Self::Python(folder) => path.starts_with(folder) && is_python(path),
            Self::Scripts(folder) => path.starts_with(folder) && (is_python(path) || is_script(path)),
            Self::Library(folder) => path.starts_with(folder),
        }
    }
}

fn lower(path: &Path) -> PathBuf {
    path.to_str().map_or_else(|| path.to_owned(), |text| text.to_lowercase().into())
}

/// Whether Python's import looks at such a file. The path is in lower case.
fn is_python(path: &Path) -> bool {
    const SUFFIXES: [&str; 8] = ["py", "pyc", "pyo", "pyw", "pyd", "pth", "so", "_pth"];
    let has_suffix = |name: &OsStr| {
        let name = name.to_string_lossy();
        let suffix = name.rsplit_once('.').map_or("", |(_, suffix)| suffix.trim_end());
        SUFFIXES.contains(&suffix) || name.contains(".so.") || name == "pyvenv.cfg"
    };
    path.file_name().is_some_and(has_suffix) || path.iter().any(|part| part == "__pycache__")
}

/// Whether programs of other languages look at such a file.
fn is_script(path: &Path) -> bool {
    const SUFFIXES: [&str; 13] =
        ["py", "js", "mjs", "cjs", "jsx", "ts", "mts", "cts", "tsx", "node", "wasm", "sh", "rb"];
    const NAMES: [&str; 9] = [
        "package.json",
        ".npmrc",
        ".yarnrc.yml",
        ".env",
        "uv.toml",
        "pyproject.toml",
        ".python-version",
        "deno.json",
        "bunfig.toml",
    ];
    let name = path.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
    let suffix = name.rsplit_once('.').map_or("", |(_, suffix)| suffix);
    SUFFIXES.contains(&suffix)
        || NAMES.contains(&name.as_str())
        || path.iter().any(|part| part == "node_modules")
}

/// What the links in a folder lead to: a module may be one.
pub fn linked_from(folder: &Path) -> Vec<CodePlace> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let links = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_symlink()));
    links
        .map(|link| {
            let path = link.path();
            if path.is_dir() { CodePlace::Python(path) } else { CodePlace::File(path) }
        })
        .filter(|place| {
            matches!(place, CodePlace::Python(_)) || matches!(place, CodePlace::File(path) if is_python(path))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_beside_a_tool_file_is_code_however_it_is_spelled_and_the_rest_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| real(folder.path()).join(name);
        let code = [
            "x.py",
            "X.PY",
            "x.Pyc",
            "a.pth",
            "_x.so",
            "x.cpython-311-x86_64-linux-gnu.so",
            "l.so.1",
            "p/__init__.py",
            "p/q/x.py",
            "__pycache__/x.txt",
            "p/__pycache__/y",
            "sitecustomize.py",
            "new/x.pyd",
        ];
        let plain = ["x.txt", "py", "x.py.txt", "so/x", "pth", "x", "notes.md", ".py/x"];
        let guard = CodeGuard::new([CodePlace::Python(folder.path().to_owned())]);
        for name in code {
            assert!(is_code(&at(name)), "{name}");
        }
        for name in plain {
            assert!(!is_code(&at(name)), "{name}");
        }
        let second = CodeGuard::new([CodePlace::Python(folder.path().to_owned())]);
        drop(guard);
        assert!(is_code(&at("x.py")), "as long as one is there");
        drop(second);
        assert!(!is_code(&at("x.py")));
    }

    #[test]
    fn a_program_is_guarded_with_its_environment_and_its_scripts() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| real(folder.path()).join(name);
        for name in ["venv/bin", "srv/lib", "data"] {
            fs::create_dir_all(at(name)).unwrap();
        }
        for name in ["venv/pyvenv.cfg", "real", "srv/main.js", "data/c.yaml", "data/other.yaml"] {
            fs::write(at(name), "").unwrap();
        }
        std::os::unix::fs::symlink(at("real"), at("venv/bin/python")).unwrap();
        let args =
            [at("srv/main.js").display().to_string(), format!("--config={}", at("data/c.yaml").display())];
        let _guards = CodeGuard::command(&at("venv/bin/python"), &args, None);
        let code = [
            "real",
            "venv/bin/python",
            "venv/lib/x/y.pth",
            "venv/pyvenv.cfg",
            "venv/notes.txt",
            "srv/main.js",
        ];
        for name in code.iter().chain(&[
            "srv/lib/a.mjs",
            "srv/node_modules/a/x.json",
            "srv/package.json",
            "data/c.yaml",
        ]) {
            assert!(is_code(&at(name)), "{name}");
        }
        for name in ["srv/notes.txt", "data/other.yaml", "data/x.js", "x.py"] {
            assert!(!is_code(&at(name)), "{name}");
        }
    }
}
