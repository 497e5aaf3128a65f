//! Results that are too large to hand on: cut, and kept whole in a file.

use std::{
    fs::{self, Permissions},
    io,
    os::unix::fs::PermissionsExt,
    path::PathBuf,
};

use parking_lot::Mutex;
use serde_json::Value;
use tempfile::{Builder, TempDir};
use toolyard_contract::{Detail, Output};

use crate::reply::Finished;

/// Cuts results that are too large, and keeps them whole in the engine's own folder until the engine ends.
#[derive(Debug)]
pub(crate) struct Overflow {
    /// How many bytes of one text of a result are handed on.
    limit: usize,
    folder: Mutex<Folder>,
}

/// The folder, which nobody but its owner may enter.
#[derive(Debug)]
enum Folder {
    NotNeeded,
    Made(TempDir),
    Removed,
}

impl Overflow {
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit, folder: Mutex::new(Folder::NotNeeded) }
    }

    /// Tells whether a result has something to cut.
    pub(crate) fn concerns(&self, finished: &Finished) -> bool {
        let is_long = |text: &str| text.len() > self.limit;
        finished.output.as_ref().is_some_and(|output| is_long(output.to_text()))
            || finished.error.as_deref().is_some_and(is_long)
            || finished.detail.as_deref().is_some_and(|detail| self.concerns_detail(detail))
    }

    fn concerns_detail(&self, detail: &Detail) -> bool {
        let mut texts = [&detail.printed, &detail.traceback].into_iter().flatten();
        texts.any(|text| text.len() > self.limit)
            || detail.content.as_ref().is_some_and(|content| size(content) > self.limit)
    }

    /// Cuts what is too long; the output, or else all content blocks, is written whole to a file called `name`.
    pub(crate) fn cut(&self, name: &str, mut finished: Finished) -> Finished {
        let mut detail = finished.detail.take().unwrap_or_default();
        let blocks =
            detail.content.take_if(|content| size(content) > self.limit).map(|blocks| blocks.to_string());
        let output = finished.output.take_if(|output| output.to_text().len() > self.limit);
        let whole = match (&output, &blocks) {
            (Some(Output::Text(text)), _) => Some((text.as_str(), "txt")),
            (Some(Output::Json(json)), _) => Some((json.get(), "json")),
            (None, Some(blocks)) => Some((blocks.as_str(), "json")),
            (None, None) => None,
        };
        if let Some((text, extension)) = whole {
            match self.keep(&format!("{name}.{extension}"), text) {
                Ok(path) => detail.full = Some(path.to_string_lossy().into_owned()),
                Err(error) => {
                    detail.notes.push(format!("the whole result could not be kept: {}", error.kind()));
                }
            }
        }
        if let Some(blocks) = &blocks {
            detail.notes.push(format!("the content blocks, {} bytes, are left out", blocks.len()));
        }
        if let Some(output) = output {
            finished.output = Some(Output::Text(self.head_and_tail(output.to_text())));
        }
        for text in [&mut finished.error, &mut detail.printed, &mut detail.traceback].into_iter().flatten() {
            if text.len() > self.limit {
                *text = self.head_and_tail(text);
            }
        }
        detail.truncated = true;
        finished.detail = Some(detail);
        finished
    }

    /// The first and the last of a text, with a note between that says how much is missing.
    fn head_and_tail(&self, text: &str) -> String {
        let head = text.floor_char_boundary(self.limit / 2);
        let tail = text.ceil_char_boundary(text.len() - self.limit / 2);
        format!(
            "{}\n[… {} of {} bytes are left out …]\n{}",
            &text[..head],
            tail - head,
            text.len(),
            &text[tail..]
        )
    }

    fn keep(&self, name: &str, text: &str) -> io::Result<PathBuf> {
        let path = self.path_of(name)?;
        fs::write(&path, text)?;
        Ok(path)
    }

    fn path_of(&self, name: &str) -> io::Result<PathBuf> {
        let mut folder = self.folder.lock();
        if matches!(*folder, Folder::NotNeeded) {
            let nobody_else = Permissions::from_mode(0o700);
            *folder = Folder::Made(Builder::new().prefix("toolyard-").permissions(nobody_else).tempdir()?);
        }
        match &*folder {
            Folder::Made(made) => Ok(made.path().join(name)),
            Folder::NotNeeded | Folder::Removed => Err(io::ErrorKind::NotFound.into()),
        }
    }

    /// Removes the folder for good, with all that is in it.
    pub(crate) fn remove(&self) {
        let folder = std::mem::replace(&mut *self.folder.lock(), Folder::Removed);
        if let Folder::Made(made) = folder
            && let Err(error) = made.close()
        {
            tracing::warn!(%error, "the folder of large results could not be removed");
        }
    }
}

/// About how long a value is as text: what is large in content blocks are texts.
fn size(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len() + 2,
        Value::Array(items) => items.iter().map(|item| size(item) + 1).sum(),
        Value::Object(fields) => fields.iter().map(|(name, field)| name.len() + 4 + size(field)).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 4,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use toolyard_contract::{Failure, Reply, ToolReturn};

    use super::*;

    fn cut(overflow: &Overflow, returned: ToolReturn) -> Finished {
        let finished = Finished::returned(returned);
        assert!(overflow.concerns(&finished));
        overflow.cut("1-0", finished)
    }

    #[test]
    fn a_long_text_keeps_its_head_and_tail_and_is_whole_in_a_file_of_the_engine() {
        let overflow = Overflow::new(10);
        let text = "é".repeat(50);
        let finished = cut(&overflow, Ok(text.as_str().into()));
        let shown = finished.output.unwrap();
        assert_eq!(shown.as_text(), Some("éé\n[… 92 of 100 bytes are left out …]\néé"));
        let detail = finished.detail.unwrap();
        let path = PathBuf::from(detail.full.unwrap());
        assert!(detail.truncated && path.extension().unwrap() == "txt");
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
        let folder = path.parent().unwrap();
        assert_eq!(folder.metadata().unwrap().permissions().mode() & 0o777, 0o700);
        overflow.remove();
        assert!(!folder.exists());

        let late = cut(&overflow, Ok(text.as_str().into())).detail.unwrap();
        assert_eq!((late.full, folder.exists()), (None, false), "nothing comes after the end");
        assert_eq!(late.notes, ["the whole result could not be kept: entity not found"]);
    }

    #[test]
    fn a_long_value_is_kept_as_json_and_shown_as_text() {
        let overflow = Overflow::new(20);
        let finished = cut(&overflow, Ok(json!(["a".repeat(30)]).into()));
        assert!(finished.output.unwrap().as_text().unwrap().starts_with("[\"aaaaaaaa\n[… "));
        let path = finished.detail.unwrap().full.unwrap();
        assert_eq!(PathBuf::from(&path).extension().unwrap(), "json");
        let kept: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
        assert_eq!(kept, json!(["a".repeat(30)]));
    }

    #[test]
    fn errors_prints_and_content_blocks_are_cut_too() {
        let overflow = Overflow::new(10);
        let failure = Failure::failed("e".repeat(30)).output("short").detail(|detail| {
            detail.printed = Some("p".repeat(30));
            detail.content = Some(json!([{"data": "d".repeat(30)}]));
        });
        let finished = cut(&overflow, Err(failure));
        assert_eq!(finished.output.unwrap().as_text(), Some("short"));
        assert_eq!(finished.error.unwrap(), "eeeee\n[… 20 of 30 bytes are left out …]\neeeee");
        let detail = finished.detail.unwrap();
        assert!(detail.printed.unwrap().starts_with("ppppp\n[…") && detail.content.is_none());
        assert_eq!(detail.notes, ["the content blocks, 43 bytes, are left out"]);
        assert!(fs::read_to_string(detail.full.unwrap()).unwrap().contains("dddd"));
    }

    #[test]
    fn what_is_not_too_long_is_none_of_its_business() {
        let overflow = Overflow::new(10);
        for returned in [Ok("0123456789".into()), Ok(Reply::default()), Err(Failure::failed("0123456789"))] {
            assert!(!overflow.concerns(&Finished::returned(returned)));
        }
    }
}
