//! Names that model providers accept, and the way back to a tool's own name.
//!
//! Providers take `[A-Za-z0-9_-]{1,64}`, one of them only with a letter or an underscore in front, and refuse
//! the whole request for a single name outside that. A tool may be called anything.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use sha2::{Digest, Sha256};

use crate::ToolSpec;

#[cfg(test)]
mod tests;

/// The longest name that every provider accepts, in characters (the limit in the public references of
/// OpenAI, Anthropic and Google).
pub const MAX_EXPOSED_LEN: usize = 64;

/// Maps tool names to names that every model provider accepts, and back.
///
/// A name that providers accept stays as it is. Any other name is exposed as what is left of it plus a suffix
/// (`_x` and eight hexadecimal digits) that depends on that name alone, so neither the order of registration
/// nor a restart nor another tool changes it. Two exceptions, both needed because some software compares names
/// without regard to case: of names that differ in case only (`Read`, `read`) the one with the fewest capitals
/// stays as it is and the others get a suffix, and where two suffixes meet both become longer.
///
/// ```
/// use toolyard_contract::names::NameTable;
///
/// let table = NameTable::new(["read_file", "spotify.play"]);
/// let exposed = table.exposed("spotify.play").unwrap();
/// assert!(exposed.starts_with("spotify_play_x"));
/// assert_eq!(table.raw(exposed), Some("spotify.play"));
/// assert_eq!(table.exposed("read_file"), Some("read_file"));
/// ```
#[derive(Debug, Clone, Default)]
pub struct NameTable {
    exposed: BTreeMap<String, String>,
    raw: HashMap<String, String>,
}

impl NameTable {
    /// Builds the table of these tool names; a name given twice counts once.
    pub fn new<I>(names: I) -> Self
    where
        I: IntoIterator,
        I::Item: Into<String>,
    {
        let names: BTreeSet<String> = names.into_iter().map(Into::into).collect();
        let (plain, suffixed) =
            names.into_iter().partition(|name| is_acceptable(name) && !looks_suffixed(name));
        Self::of(plain, suffixed)
    }

    /// Builds the table of these tools. A name that was [made for providers](ToolSpec::name_is_exposed) gets no second
    /// suffix.
    pub fn of_tools<'a>(tools: impl IntoIterator<Item = &'a ToolSpec>) -> Self {
        let tools: BTreeMap<&str, bool> =
            tools.into_iter().map(|tool| (tool.name.as_str(), tool.name_is_exposed)).collect();
        let is_plain =
            |(name, exposed): &(&str, bool)| is_acceptable(name) && (*exposed || !looks_suffixed(name));
        let (plain, suffixed): (Vec<_>, Vec<_>) = tools.into_iter().partition(is_plain);
        let names = |tools: Vec<(&str, bool)>| tools.into_iter().map(|(name, _)| name.to_owned()).collect();
        Self::of(names(plain), names(suffixed))
    }

    fn of(plain: Vec<String>, mut suffixed: Vec<String>) -> Self {
        let mut exposed = BTreeMap::new();
        for mut twins in grouped(plain, str::to_ascii_lowercase) {
            twins.sort_by_cached_key(|name| (capitals(name), name.clone()));
            let mut twins = twins.into_iter();
            exposed.extend(twins.next().map(|name| (name.clone(), name)));
            suffixed.extend(twins);
        }
        let taken: BTreeSet<String> = exposed.keys().map(|name: &String| name.to_ascii_lowercase()).collect();
        for meeting in grouped(suffixed, short) {
            let is_free = meeting.len() == 1 && !taken.contains(&short(&meeting[0]));
            let suffix = if is_free { Suffix::Short } else { Suffix::Long };
            exposed.extend(meeting.into_iter().map(|name| {
                let shown = with_suffix(&name, suffix);
                (name, shown)
            }));
        }
        let raw = exposed.iter().map(|(name, shown)| (shown.clone(), name.clone())).collect();
        Self { exposed, raw }
    }

    /// Returns the name to show to a provider for the tool of this name; `None` for a tool that is not in the table.
    pub fn exposed(&self, raw: &str) -> Option<&str> {
        self.exposed.get(raw).map(String::as_str)
    }

    /// Returns the tool's own name for a name that a model sent: an exposed one, or the tool's own.
    pub fn raw(&self, sent: &str) -> Option<&str> {
        let own = || self.exposed.get_key_value(sent).map(|(name, _)| name);
        self.raw.get(sent).or_else(own).map(String::as_str)
    }

    /// Lists `(own name, exposed name)`, sorted by the tool's own name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.exposed.iter().map(|(name, shown)| (name.as_str(), shown.as_str()))
    }
}

/// Tells whether every provider accepts this name as it is.
pub fn is_acceptable(name: &str) -> bool {
    name.len() <= MAX_EXPOSED_LEN
        && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(is_allowed)
}

#[derive(Clone, Copy)]
enum Suffix {
    Short,
    Long,
}

impl Suffix {
    /// `_x` keeps dates (`report_20260131`) from looking like a suffix.
    const MARK: &str = "_x";

    fn digits(self) -> usize {
        match self {
            Self::Short => 8,
            Self::Long => 32,
        }
    }
}

/// The name with the suffix of the whole name, as [`NameTable`] gives it where the name itself cannot be shown.
pub fn suffixed(name: &str) -> String {
    with_suffix(name, Suffix::Short)
}

/// The name with the longer suffix, for where two shorter ones meet.
pub fn suffixed_long(name: &str) -> String {
    with_suffix(name, Suffix::Long)
}

/// What is left of `name` in allowed characters, and the suffix of the whole name.
fn with_suffix(name: &str, suffix: Suffix) -> String {
    let room = MAX_EXPOSED_LEN - Suffix::MARK.len() - suffix.digits();
    let mut stem = String::with_capacity(MAX_EXPOSED_LEN);
    for c in name.chars() {
        let c = if is_allowed(c) { c } else { '_' };
        let repeats = c == '_' && stem.ends_with('_');
        let begins_badly = stem.is_empty() && !(c.is_ascii_alphabetic() || c == '_');
        if begins_badly {
            stem.push('_');
        }
        if !repeats {
            stem.push(c);
        }
        if stem.len() >= room {
            stem.truncate(room);
            break;
        }
    }
    let stem = stem.trim_end_matches('_');
    let stem = if stem.is_empty() { "tool" } else { stem };
    let digest = Sha256::digest(name.as_bytes());
    let head = u128::from_be_bytes(*digest.first_chunk().expect("a SHA-256 digest has 32 bytes"));
    format!("{stem}{}{}", Suffix::MARK, &format!("{head:032x}")[..suffix.digits()])
}

/// Tells whether a name has the form of one with a suffix. A tool that is really named so gets a suffix of its
/// own: it would be taken for another tool.
pub fn looks_suffixed(name: &str) -> bool {
    [Suffix::Short, Suffix::Long].into_iter().any(|suffix| {
        let bytes = name.as_bytes();
        let Some((stem, digits)) = bytes.len().checked_sub(suffix.digits()).map(|at| bytes.split_at(at))
        else {
            return false;
        };
        let mark = stem.len().checked_sub(Suffix::MARK.len()).map(|at| &stem[at..]);
        mark.is_some_and(|mark| mark.eq_ignore_ascii_case(Suffix::MARK.as_bytes()))
            && digits.iter().all(u8::is_ascii_hexdigit)
    })
}

/// The name with a short suffix, as names are compared.
fn short(name: &str) -> String {
    with_suffix(name, Suffix::Short).to_ascii_lowercase()
}

fn is_allowed(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

fn capitals(name: &str) -> usize {
    name.bytes().filter(u8::is_ascii_uppercase).count()
}

fn grouped(names: Vec<String>, key: impl Fn(&str) -> String) -> impl Iterator<Item = Vec<String>> {
    let mut groups: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for name in names {
        groups.entry(key(&name)).or_default().push(name);
    }
    groups.into_values()
}
