//! How tool names are compared.

use std::borrow::Cow;

/// Gives the key under which a tool name is looked up: trimmed, then lower-cased by Unicode rules.
///
/// It is the one rule for names everywhere: calls, sets, registries. The spelling that a call or a
/// tool came with is kept beside the key, and replies echo it. Two tools whose names have one key
/// clash, which registration reports.
///
/// ```
/// assert_eq!(toolyard_contract::name::key(" Read_File "), "read_file");
/// ```
pub fn key(name: &str) -> Cow<'_, str> {
    let trimmed = name.trim();
    let is_key_already = trimmed.bytes().all(|b| b.is_ascii() && !b.is_ascii_uppercase());
    if is_key_already { Cow::Borrowed(trimmed) } else { Cow::Owned(trimmed.to_lowercase()) }
}

/// How much of a name a text shows, in characters: more than any provider allows.
const MOST_SHOWN: usize = 200;

/// Cuts a name to what a text may show of it: names come from models, and one may be millions of characters long.
///
/// ```
/// let long = "x".repeat(3_000_000);
/// assert!(toolyard_contract::name::shown(&long).ends_with("… (3000000 bytes)"));
/// ```
pub fn shown(name: &str) -> Cow<'_, str> {
    match name.char_indices().nth(MOST_SHOWN) {
        None => Cow::Borrowed(name),
        Some((cut, _)) => Cow::Owned(format!("{}… ({} bytes)", &name[..cut], name.len())),
    }
}

/// Cuts a text that quotes what a model sent, so that it does not flood the one that reads it: its first and its last
/// part are kept.
pub fn short(text: String, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text,
        Some((cut, _)) => {
            let tail = text.char_indices().rev().nth(most / 3).map_or(cut, |(at, _)| at.max(cut));
            format!("{} … {}", &text[..cut], &text[tail..])
        }
    }
}

/// Picks the names most like `wanted`, best first, at most three, for error texts.
pub fn nearest<'a>(wanted: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    // Nobody mistypes that much, and to compare it would take seconds.
    if wanted.len() > 4 * MOST_SHOWN {
        return Vec::new();
    }
    let wanted = key(wanted);
    let mut scored: Vec<(f64, &str)> = known
        .into_iter()
        .map(|name| (strsim::jaro_winkler(&wanted, &key(name)), name))
        .filter(|(score, _)| *score > 0.7)
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    scored.into_iter().take(3).map(|(_, name)| name).collect()
}

/// Says which names there are instead of `wanted`: the nearest ones, else the first ten; empty where there are none.
pub fn alternatives<'a>(wanted: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    const MOST: usize = 10;
    let mut known: Vec<_> = known.into_iter().collect();
    let nearest = nearest(wanted, known.iter().copied());
    known.truncate(MOST);
    if nearest.is_empty() { known } else { nearest }.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_fold_case_beyond_ascii_and_trim() {
        assert_eq!(key("  ÄRGER "), "ärger");
        assert_eq!(key("plain"), "plain");
    }

    #[test]
    fn the_nearest_names_come_best_first() {
        let known = ["calculator", "calendar", "file_read"];
        assert_eq!(nearest("calculater", known)[0], "calculator");
        assert!(nearest("zzz", known).is_empty());
    }
}
