use serde_json::{Map, Value};

use super::FileError;

/// Reads the path out of a call's arguments; empty where they name none.
pub(super) fn extract_path(arguments: &str) -> String {
    let arguments: Map<String, Value> = serde_json::from_str(arguments).unwrap_or_default();
    let text = |name: &str| arguments.get(name).and_then(Value::as_str);
    path_argument(text("path"), text("input")).unwrap_or_default().to_owned()
}

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
    fn the_path_of_arguments_is_empty_where_they_name_none() {
        for (arguments, path) in [
            (r#"{"path": " a.txt\n", "input": "b.txt"}"#, "a.txt"),
            (r#"{"path": " ", "input": "b.txt", "content": "c"}"#, "b.txt"),
            (r#"{"path": 5, "input": "b.txt"}"#, "b.txt"),
            (r#"{"content": "c"}"#, ""),
            ("{}", ""),
            ("", ""),
            ("[1]", ""),
            ("{", ""),
        ] {
            assert_eq!(extract_path(arguments), path, "{arguments}");
        }
    }

    #[test]
    fn path_wins_over_input_and_blank_counts_as_absent() {
        assert_eq!(path_argument(Some(" a.txt\n"), Some("b.txt")), Ok("a.txt"));
        assert_eq!(path_argument(Some("  "), Some("b.txt")), Ok("b.txt"));
        assert_eq!(path_argument(None, None), Err(FileError::MissingPath));
        assert_eq!(path_argument(Some(""), Some(" ")), Err(FileError::MissingPath));
    }
}
