use std::path::Path;

use super::FileError;

/// The extensions that files may have. Default: any, and none at all.
#[derive(Debug, Clone, Default)]
pub struct Extensions(Option<Vec<String>>);

impl Extensions {
    /// Allows every file.
    pub const fn any() -> Self {
        Self(None)
    }

    /// Allows only these, with or without their dot, in any case; a file without an extension is refused.
    ///
    /// Only the last extension counts: `a.tar.gz` has `gz`.
    pub fn only<E: AsRef<str>>(extensions: impl IntoIterator<Item = E>) -> Self {
        let clean = |extension: E| extension.as_ref().trim().trim_start_matches('.').to_lowercase();
        Self(Some(extensions.into_iter().map(clean).collect()))
    }

    /// Checks the file that a path leads to; `given` is what an error names.
    pub(super) fn check(&self, file: &Path, given: &str) -> Result<(), FileError> {
        let Some(allowed) = &self.0 else { return Ok(()) };
        let extension = file.extension().map(|extension| extension.to_string_lossy().to_lowercase());
        if extension.is_some_and(|extension| allowed.contains(&extension)) {
            return Ok(());
        }
        Err(FileError::Extension { path: given.to_owned(), allowed: allowed.join(", ") })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extensions_are_compared_without_dot_and_case() {
        let extensions = Extensions::only([".TXT", " md"]);
        for allowed in ["a.txt", "a.Txt", "b/c.MD", "x.tar.md"] {
            assert!(extensions.check(Path::new(allowed), allowed).is_ok(), "{allowed}");
        }
        for refused in ["a", "a.txt.sh", "txt", ".txt", "a.", "a.md "] {
            assert!(extensions.check(Path::new(refused), refused).is_err(), "{refused}");
        }
    }

    #[test]
    fn an_empty_list_allows_no_file_and_any_allows_all() {
        assert!(Extensions::only::<&str>([]).check(Path::new("a.txt"), "a.txt").is_err());
        assert!(Extensions::any().check(Path::new("a"), "a").is_ok());
    }
}
