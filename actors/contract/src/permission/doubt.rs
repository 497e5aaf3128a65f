//! Patterns that can be read, but match nothing that there can be.

use super::PermissionRule;
use crate::{canonical::canonical, glob::literal};

impl PermissionRule {
    /// Says why the pattern for the resource matches no resource, where that can be told from its text,
    /// and what was likely meant: braces of JSON that mean alternatives, arguments or paths that are not
    /// in their canonical form.
    pub fn doubt(&self) -> Option<String> {
        let resource = self.resource.trim_start();
        let why = if resource.starts_with("{\"") || resource.starts_with('{') && canonical(resource).is_ok() {
            let meant = canonical(resource).map_or_else(|_| "\\{…\\}".to_owned(), |json| literal(&json));
            format!("braces stand for alternatives, so it matches no arguments: write '{meant}'")
        } else if resource.starts_with(r"\{") {
            self.json_doubt()?
        } else {
            self.path_doubt()?
        };
        Some(format!("permission rule `{self}`: {why}"))
    }

    fn json_doubt(&self) -> Option<String> {
        let (text, is_all) = literal_head(&self.resource);
        let why = "matches no arguments, which are judged without white space, sorted by their keys and with one \
                   form for each number";
        if is_all {
            return match canonical(&text) {
                Ok(form) if form == text => None,
                Ok(form) => Some(format!("it {why}: write '{}'", literal(&form))),
                Err(error) => Some(format!("it {why}: it is no JSON ({error})")),
            };
        }
        let is_spaced = ["{ ", "\": ", "\" :", ", \""].iter().any(|spaced| text.contains(spaced));
        is_spaced.then(|| format!("it {why}: leave the white space out"))
    }

    fn path_doubt(&self) -> Option<String> {
        let is_of_files = matches!(self.action.as_str(), "file.read" | "file.write" | "file.*");
        let (text, is_all) = literal_head(&self.resource);
        let is_path = !text.starts_with(['/']) && !text.starts_with("./") && !text.starts_with("../");
        let is_clean = !["//", "/./", "/../"].iter().any(|part| text.contains(part));
        let ends_well = !is_all || !(text.ends_with('/') || text.is_empty());
        (is_of_files && !(is_path && is_clean && ends_well)).then(|| {
            "it matches no file: paths are judged relative to the folder of the file tools, without `.`, `..` and \
             links, such as 'out/a.txt' or 'out/*'"
                .to_owned()
        })
    }
}

/// What a pattern says before its first wildcard, and whether that is all of it.
pub fn literal_head(pattern: &str) -> (String, bool) {
    let mut text = String::with_capacity(pattern.len());
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => text.extend(chars.next()),
            '*' | '?' | '[' | '{' => return (text, false),
            c => text.push(c),
        }
    }
    (text, true)
}

#[cfg(test)]
mod tests {
    use crate::{PermissionCheck, PermissionRule, Verdict};

    fn doubt(action: &str, resource: &str) -> Option<String> {
        PermissionRule::new(Verdict::Deny, action, resource).doubt()
    }

    #[test]
    fn a_pattern_that_matches_nothing_is_told_with_what_was_meant() {
        let braces = doubt("pay", r#"{"amount":1000}"#).unwrap();
        assert!(braces.ends_with(r#"write '\{"amount":1000\}'"#), "{braces}");
        let number = doubt("pay", r#"\{"amount":1e3\}"#).unwrap();
        assert!(number.ends_with(r#"write '\{"amount":1000\}'"#), "{number}");
        let spaced = doubt("pay", r#"\{"amount": *"#).unwrap();
        assert!(spaced.ends_with("leave the white space out"), "{spaced}");
        for path in ["./out/*", "/etc/*", "../x", "out//a", "out/", "a/../b"] {
            assert!(doubt("file.*", path).unwrap().contains("matches no file"), "{path}");
        }
    }

    #[test]
    fn usual_patterns_are_not_doubted() {
        for (action, resource) in [
            ("*", "*"),
            ("file.*", "secret/*"),
            ("file.read", "{out,in}/*.txt"),
            ("file.write", "**"),
            ("pay", r#"\{"amount":1000\}"#),
            ("pay", r#"*"to":"mallory"*"#),
            ("other", "/any/thing/"),
            ("http.request", "http://h/*"),
        ] {
            assert_eq!(doubt(action, resource), None, "{action} {resource}");
        }
    }

    #[test]
    fn a_rule_is_shown_ready_to_paste() {
        let shown = |action: &str, resource: &str| {
            PermissionCheck { action: action.to_owned(), resource: resource.to_owned() }.to_string()
        };
        assert_eq!(shown("pay", r#"{"amount":1000}"#), r#"action = 'pay', resource = '\{"amount":1000\}'"#);
        assert_eq!(shown("a", "it's\n[1]"), r#"action = 'a', resource = "it's\u000A\\[1\\]""#);
    }
}
