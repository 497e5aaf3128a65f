use super::FileError;

/// Picks the path of a call: `path`, or else `input`, trimmed.
pub(super) fn path_argument<'a>(path: Option<&'a str>, input: Option<&'a str>) -> Result<&'a str, FileError> {
    [path, input]
        .into_iter()
        .flatten()
        .map(str::trim)
        .find(|path| !path.is_empty())
        .ok_or(FileError::MissingPath)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_wins_over_input_and_blank_counts_as_absent() {
        assert_eq!(path_argument(Some(" a.txt\n"), Some("b.txt")), Ok("a.txt"));
        assert_eq!(path_argument(Some("  "), Some("b.txt")), Ok("b.txt"));
        assert_eq!(path_argument(None, None), Err(FileError::MissingPath));
        assert_eq!(path_argument(Some(""), Some(" ")), Err(FileError::MissingPath));
    }
}
