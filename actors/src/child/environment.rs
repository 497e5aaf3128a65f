//! Which variables a child sees.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

use crate::code;

/// What every child may see: the list of the official MCP SDKs, and what texts and temporary files need. `LC_*` too.
const SHORT_LIST: [&str; 8] = ["HOME", "LANG", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "USER"];

/// Lists of places that programs take code from.
const SEARCH_LISTS: [&str; 9] = [
    "PATH",
    "PYTHONPATH",
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "NODE_PATH",
    "PERL5LIB",
    "PERLLIB",
    "RUBYLIB",
    "CLASSPATH",
];

/// Single places that programs take code or configuration from.
const PLACES: [&str; 5] =
    ["PYTHONHOME", "PYTHONSTARTUP", "PYTHONUSERBASE", "PYTHONPYCACHEPREFIX", "BASH_ENV"];

/// Says which of this process's variables a child sees.
///
/// As text in a configuration: `"all"`, or a list of names; also `true` for all and `false` for an empty list.
///
/// Relative entries of variables such as `PATH` and `PYTHONPATH` are never passed on, and neither are places below the
/// current folder or below a folder that a tool may write, except on `PATH`: a child takes no code from there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InheritEnv {
    /// HOME, LANG, LC_*, LOGNAME, PATH, SHELL, TERM, TMPDIR and USER, and these.
    Only(Vec<String>),
    /// All, secrets among them.
    All,
}

impl InheritEnv {
    /// The short list, and these by name.
    pub fn names(names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self::Only(names.into_iter().map(Into::into).collect())
    }

    fn has(&self, name: &OsStr) -> bool {
        match self {
            Self::All => true,
            Self::Only(names) => name.to_str().is_some_and(|name| {
                SHORT_LIST.contains(&name) || name.starts_with("LC_") || names.iter().any(|own| own == name)
            }),
        }
    }

    /// The variables of this process that a child sees.
    pub(super) fn variables(&self) -> BTreeMap<OsString, OsString> {
        let untrusted = code::untrusted_folders();
        let inherited = std::env::vars_os().filter(|(name, _)| self.has(name));
        // Shells export functions like this; as in the SDKs they are no business of a child.
        let plain = inherited.filter(|(_, value)| *self == Self::All || !starts_with(value, "()"));
        let kept = plain.filter_map(|(name, value)| {
            let value = trusted(&name, value, &untrusted)?;
            Some((name, value))
        });
        let mut seen: BTreeMap<_, _> = kept.collect();
        if user_base(&seen).is_some_and(|base| is_within(&base, &untrusted)) {
            // Python would run the `.pth` files and `usercustomize` of the user's own packages.
            seen.insert("PYTHONNOUSERSITE".into(), "1".into());
        }
        seen
    }
}

/// The short list alone.
impl Default for InheritEnv {
    fn default() -> Self {
        Self::Only(Vec::new())
    }
}

fn starts_with(value: &OsStr, start: &str) -> bool {
    value.as_encoded_bytes().starts_with(start.as_bytes())
}

/// Takes out of a variable what would let a child take code from a folder that is not trusted; `None` when nothing is
/// left.
fn trusted(name: &OsStr, value: OsString, untrusted: &[PathBuf]) -> Option<OsString> {
    let Some(known) = name.to_str() else { return Some(value) };
    if PLACES.contains(&known) {
        let path = Path::new(&value);
        return (path.is_absolute() && !is_within(path, untrusted)).then_some(value);
    }
    if !SEARCH_LISTS.contains(&known) {
        return Some(value);
    }
    // Programs of an activated virtual environment are found on PATH, also when it lies in the current folder.
    let trusts = |path: &Path| path.is_absolute() && (known == "PATH" || !is_within(path, untrusted));
    let (kept, dropped): (Vec<_>, Vec<_>) = std::env::split_paths(&value).partition(|path| trusts(path));
    if dropped.is_empty() {
        return Some(value);
    }
    tracing::debug!(variable = known, ?dropped, "not passed on to child processes");
    let kept = std::env::join_paths(kept).ok()?;
    (!kept.is_empty()).then_some(kept)
}

/// Where Python looks for the user's own packages.
fn user_base(variables: &BTreeMap<OsString, OsString>) -> Option<PathBuf> {
    let variable = |name: &str| variables.get(OsStr::new(name)).map(PathBuf::from);
    variable("PYTHONUSERBASE").or_else(|| variable("HOME").map(|home| home.join(".local")))
}

/// Whether a path leads into one of these folders, or is relative.
fn is_within(path: &Path, folders: &[PathBuf]) -> bool {
    let real = code::real(path);
    // Everything is below the root of the file system, the libraries too.
    let is_in = |folder: &PathBuf| real.starts_with(folder) && (folder != Path::new("/") || real == *folder);
    !path.is_absolute() || folders.iter().any(is_in)
}

impl Serialize for InheritEnv {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::All => serializer.serialize_str("all"),
            Self::Only(names) => names.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for InheritEnv {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Said {
            Names(Vec<String>),
            Word(String),
            Flag(bool),
        }
        match Said::deserialize(deserializer) {
            Ok(Said::Names(names)) => Ok(Self::Only(names)),
            Ok(Said::Word(word)) if word == "all" => Ok(Self::All),
            Ok(Said::Flag(true)) => Ok(Self::All),
            Ok(Said::Flag(false)) => Ok(Self::default()),
            _ => Err(D::Error::custom(
                "expected \"all\" or a list of names of variables, such as [\"API_KEY\"]",
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_sees_the_short_list_and_what_is_named() {
        let short = InheritEnv::default();
        for name in ["HOME", "PATH", "LC_ALL", "TMPDIR"] {
            assert!(short.has(OsStr::new(name)), "{name}");
        }
        for name in ["OPENAI_API_KEY", "home", "LC", "PATH2", "PYTHONPATH", ""] {
            assert!(!short.has(OsStr::new(name)), "{name}");
        }
        assert!(InheritEnv::names(["KEY"]).has(OsStr::new("KEY")));
        assert!(InheritEnv::names(["KEY"]).has(OsStr::new("HOME")));
        assert!(InheritEnv::All.has(OsStr::new("OPENAI_API_KEY")));
    }

    /// Every way to write a place, in every variable, is kept exactly when it is absolute and trusted.
    #[test]
    fn no_list_of_places_leads_to_a_folder_that_is_not_trusted() {
        let folder = tempfile::tempdir().unwrap();
        let bad = code::real(folder.path());
        std::os::unix::fs::symlink(&bad, bad.join("link")).unwrap();
        let untrusted = [bad.clone()];
        let inside = |rest: &str| bad.join(rest).display().to_string();
        let not_trusted = [
            bad.display().to_string(),
            inside(""),
            inside("lib"),
            inside("link"),
            inside("a/../b"),
            inside("."),
        ];
        let relative = ["", ".", "./lib", "lib", "../x"].map(str::to_owned);
        for name in SEARCH_LISTS {
            for entry in relative.iter().chain(&not_trusted) {
                let kept = entry.starts_with('/') && name == "PATH";
                for value in [
                    entry.clone(),
                    format!("{entry}:/usr/lib"),
                    format!("/usr/lib:{entry}"),
                    format!("/a:{entry}:/b"),
                ] {
                    let left =
                        trusted(OsStr::new(name), value.clone().into(), &untrusted).unwrap_or_default();
                    let left = std::env::split_paths(&left).filter(|path| !path.as_os_str().is_empty());
                    let expected: Vec<PathBuf> = value
                        .split(':')
                        .filter(|one| one.starts_with('/') && (kept || !entry.eq(one)))
                        .map(PathBuf::from)
                        .collect();
                    assert_eq!(left.collect::<Vec<_>>(), expected, "{name}={value}");
                }
            }
        }
        for name in PLACES {
            for place in relative.iter().chain(&not_trusted) {
                assert_eq!(trusted(OsStr::new(name), place.into(), &untrusted), None, "{name}={place}");
            }
            assert!(trusted(OsStr::new(name), "/usr/lib".into(), &untrusted).is_some());
        }
        assert!(trusted(OsStr::new("OTHER"), ".:".into(), &untrusted).is_some());
        assert!(!is_within(Path::new("/usr/lib"), &["/".into()]), "everything is below /");
    }

    #[test]
    fn it_reads_back_what_it_writes() {
        for (text, expected) in [
            ("\"all\"", InheritEnv::All),
            ("true", InheritEnv::All),
            ("false", InheritEnv::default()),
            ("[]", InheritEnv::default()),
            ("[\"A\",\"B\"]", InheritEnv::names(["A", "B"])),
        ] {
            let read: InheritEnv = serde_json::from_str(text).unwrap();
            assert_eq!(read, expected);
            let again = serde_json::to_string(&read).unwrap();
            assert_eq!(serde_json::from_str::<InheritEnv>(&again).unwrap(), expected);
        }
        for text in ["\"KEY\"", "1", "{}", "[1]", "null"] {
            let error = serde_json::from_str::<InheritEnv>(text).unwrap_err().to_string();
            assert!(error.contains("expected \"all\" or a list of names"), "{error}");
        }
    }
}
