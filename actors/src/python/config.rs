//! Which files become tools, and how their workers run.

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

#[cfg(feature = "docker")]
use std::sync::Arc;

use crate::child::{InheritEnv, ResourceLimits};
#[cfg(feature = "docker")]
use crate::sandbox::SandboxConfig;

/// Names a Python file, or a class in it, and picks among its functions.
///
/// As text: `FILE[:CLASS][:GLOB,!GLOB]`. A function is taken when its name matches every pattern and none of those
/// that begin with `!`; patterns are shell wildcards. Functions that the file imports
/// instead of defining them, and names that begin with `_`, are taken only where a pattern names them in full; a file's
/// `__all__` names what is taken, imported or not.
///
/// ```
/// use toolyard_actors::python::PythonFile;
///
/// let file = PythonFile::parse("tools/files.py:read_*,!read_secret");
/// assert_eq!(file, PythonFile::new("tools/files.py").include("read_*").exclude("read_secret"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PythonFile {
    path: PathBuf,
    /// As the worker takes them.
    patterns: Vec<String>,
}

impl PythonFile {
    /// Takes all functions of a file.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), patterns: Vec::new() }
    }

    /// Takes the public methods of one instance of a class of the file instead.
    #[must_use]
    pub fn class(mut self, name: impl Into<String>) -> Self {
        self.patterns.insert(0, name.into());
        self
    }

    /// Takes only functions whose name matches; repeated, all must match.
    #[must_use]
    pub fn include(mut self, pattern: impl Into<String>) -> Self {
        self.patterns.push(pattern.into());
        self
    }

    /// Leaves out functions whose name matches.
    #[must_use]
    pub fn exclude(mut self, pattern: impl AsRef<str>) -> Self {
        self.patterns.push(format!("!{}", pattern.as_ref()));
        self
    }

    /// Where the file is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn patterns(&self) -> &[String] {
        &self.patterns
    }
}

/// Writes what [`PythonFile::parse`] reads.
impl fmt::Display for PythonFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.path.display().fmt(f)?;
        if self.patterns.is_empty() { Ok(()) } else { write!(f, ":{}", self.patterns.join(",")) }
    }
}

impl FromStr for PythonFile {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self::parse(text))
    }
}

impl PythonFile {
    /// Reads `FILE[:CLASS][:GLOB,!GLOB]`.
    pub fn parse(text: &str) -> Self {
        // A file may have colons in its name; then it ends where `.py` says.
        let end_of_name = text.rfind(".py:").map(|at| at + ".py".len()).or_else(|| {
            let whole = Path::new(text);
            let whole_is_a_file = whole.extension().is_some_and(|name| name == "py") || whole.exists();
            text.find(':').filter(|_| !whole_is_a_file)
        });
        let (path, rest) = end_of_name.map_or((text, ""), |at| (&text[..at], &text[at + 1..]));
        let patterns = rest.split([',', ':']).map(str::trim).filter(|pattern| !pattern.is_empty());
        Self { path: path.into(), patterns: patterns.map(str::to_owned).collect() }
    }
}

/// What becomes of NaN and infinities in a result, which JSON does not have.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NanPolicy {
    /// They become `null`, with a note in the result's detail, as in JavaScript. The default.
    #[default]
    Null,
    /// They become the texts `NaN`, `Infinity` and `-Infinity`.
    Text,
    /// The call fails.
    Fail,
}

impl NanPolicy {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Text => "text",
            Self::Fail => "fail",
        }
    }
}

/// Says how the workers of Python files run.
#[derive(Clone)]
#[non_exhaustive]
#[allow(clippy::struct_excessive_bools)] // each is a setting of its own
pub struct PythonConfig {
    /// The interpreter: a path, or a name on `PATH`. Default `python3`, which an activated virtual environment
    /// provides.
    pub interpreter: PathBuf,
    /// Which of this process's variables workers see. Default all: the files are their owner's own, and need their keys
    /// and paths as a script would.
    pub inherit_env: InheritEnv,
    /// Variables to set for workers. Default: none.
    pub env: Vec<(OsString, OsString)>,
    /// Functions that may overlap with any other call, by name, as if marked `parallel_safe = True` in the file.
    /// Default: none.
    pub parallel_safe: Vec<String>,
    /// Parameters that a model may neither see nor set, in every function; they must have defaults. Default: none.
    pub exclude_parameters: Vec<String>,
    /// Whether a tool's description has the long text of its docstring besides the first paragraph. Default true:
    /// models do better with more.
    pub long_descriptions: bool,
    /// Whether a model may give `*args`, as a list. Default true.
    pub varargs: bool,
    /// Whether a model may give `**kwargs`, as an object. Default true.
    pub varkwargs: bool,
    /// How many processes serve one file. Default 1: with more, each has the file's global variables for itself, and
    /// functions that are not parallel-safe run as often at once.
    pub processes: usize,
    /// How many parallel-safe sync functions run at once in one process. Default 8: enough to wait for several
    /// services, few enough for one interpreter lock.
    pub threads: usize,
    /// How many async functions run at once in one process. Default 256: they only wait.
    pub tasks: usize,
    /// How long an import may take. Default 60 s: large libraries take tens of seconds on a cold disk.
    pub load_timeout: Duration,
    /// How long an async function may go on after it was told to stop; then its process is replaced. Default 2 s:
    /// enough to close a connection.
    pub cancel_grace: Duration,
    /// What becomes of NaN and infinities. Default: `null`.
    pub nan: NanPolicy,
    /// The longest result, in bytes; a longer one fails its call. Default 64 MiB: more is of no use to a model.
    pub largest_result_bytes: usize,
    /// What one process may use. Default: no limits.
    pub limits: ResourceLimits,
    /// Runs the workers in containers with these settings, instead of here. The folder of each file is there under its
    /// own path, read-only, and must be readable for the user inside. The interpreter is the image's, and nothing of
    /// the environment is inherited. Default: none, they run here.
    #[cfg(feature = "docker")]
    pub sandbox: Option<Arc<SandboxConfig>>,
}

impl fmt::Debug for PythonConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The values of variables may be secrets: only their names are shown.
        f.debug_struct("PythonConfig")
            .field("interpreter", &self.interpreter)
            .field("env", &self.env.iter().map(|(name, _)| name).collect::<Vec<_>>())
            .field("processes", &self.processes)
            .finish_non_exhaustive()
    }
}

impl Default for PythonConfig {
    fn default() -> Self {
        Self {
            interpreter: "python3".into(),
            inherit_env: InheritEnv::All,
            env: Vec::new(),
            parallel_safe: Vec::new(),
            exclude_parameters: Vec::new(),
            long_descriptions: true,
            varargs: true,
            varkwargs: true,
            processes: 1,
            threads: 8,
            tasks: 256,
            load_timeout: Duration::from_mins(1),
            cancel_grace: Duration::from_secs(2),
            nan: NanPolicy::default(),
            largest_result_bytes: 64 * 1024 * 1024,
            limits: ResourceLimits::default(),
            #[cfg(feature = "docker")]
            sandbox: None,
        }
    }
}

impl PythonConfig {
    /// Whether workers run in containers, whose paths are not this machine's.
    #[cfg_attr(not(feature = "docker"), expect(clippy::unused_self))]
    pub(super) fn is_contained(&self) -> bool {
        #[cfg(feature = "docker")]
        return self.sandbox.is_some();
        #[cfg(not(feature = "docker"))]
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_may_be_followed_by_a_class_and_patterns() {
        let parse = PythonFile::parse;
        assert_eq!(parse("a/b.py"), PythonFile::new("a/b.py"));
        assert_eq!(parse("b.py:Calc"), PythonFile::new("b.py").class("Calc"));
        assert_eq!(parse("b.py:Calc:add*"), PythonFile::new("b.py").class("Calc").include("add*"));
        assert_eq!(parse("b.py:!x, y?"), PythonFile::new("b.py").exclude("x").include("y?"));
        assert_eq!(parse("odd:name.py"), PythonFile::new("odd:name.py"));
        assert_eq!(parse("odd:name.py:z"), PythonFile::new("odd:name.py").include("z"));
        assert_eq!(parse("script:z"), PythonFile::new("script").include("z"));
        for text in ["a/b.py", "b.py:Calc,add*", "odd:name.py:!x,y?"] {
            assert_eq!(parse(text).to_string(), text);
        }
    }
}
