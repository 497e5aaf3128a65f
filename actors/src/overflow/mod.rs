//! Results that are too large to hand on: cut, and kept whole in a file.

mod json;
mod keeper;

use serde_json::Value;
use toolyard_contract::{Detail, Outcome, Output};

use self::keeper::Keeper;
pub use self::keeper::OverflowConfig;
use crate::call_end::Finished;

/// Cuts results that are too large, and keeps them whole.
#[derive(Debug)]
pub(crate) struct Overflow {
    /// How many bytes of one text of a result are handed on.
    limit: usize,
    keeper: Keeper,
}

impl Overflow {
    pub(crate) fn new(limit: usize, config: OverflowConfig) -> Self {
        Self { limit, keeper: Keeper::new(config) }
    }

    /// Tells whether a result has something to cut.
    pub(crate) fn concerns(&self, finished: &Finished) -> bool {
        let is_long = |text: &str| text.len() > self.limit;
        // The output of a call that waits are its arguments, with which it goes on.
        let hands_on = finished.outcome != Outcome::Suspended;
        finished.output.as_ref().is_some_and(|output| hands_on && is_long(output.to_text()))
            || finished.error.as_deref().is_some_and(is_long)
            || finished.detail.as_deref().is_some_and(|detail| self.concerns_detail(detail))
    }

    fn concerns_detail(&self, detail: &Detail) -> bool {
        let mut texts = [&detail.printed, &detail.traceback].into_iter().flatten();
        texts.any(|text| text.len() > self.limit)
            || detail.content.as_ref().is_some_and(|content| content.to_text().len() > self.limit)
    }

    /// Cuts what is too long, and writes each text that is cut whole to a file whose name begins with `name`.
    /// `detail.full` names that of the output, or else that of the content blocks; notes name the others.
    pub(crate) fn cut(&self, name: &str, mut finished: Finished) -> Finished {
        let mut detail = finished.detail.take().unwrap_or_default();
        let mut notes = Vec::new();
        if finished.outcome != Outcome::Suspended
            && let Some(output) = finished.output.take_if(|output| output.to_text().len() > self.limit)
        {
            let extension = if matches!(output, Output::Text(_)) { "txt" } else { "json" };
            detail.full = self.keep(&format!("{name}.{extension}"), output.to_text(), &mut notes);
            finished.output = Some(match output {
                Output::Text(text) => Output::Text(head_and_tail(&text, self.limit)),
                Output::Json(json) => Output::from_json_text(json::shorten(&json, self.limit))
                    .unwrap_or_else(|_| Output::from(Value::Null)),
            });
        }
        if let Some(blocks) = detail.content.take_if(|content| content.to_text().len() > self.limit) {
            let blocks = blocks.to_text();
            let kept = self.keep(&format!("{name}-content.json"), blocks, &mut notes);
            let note = format!("the content blocks, {} bytes, are left out", blocks.len());
            notes.push(match (kept, &detail.full) {
                (Some(kept), Some(_)) => format!("{note}; they are whole in {kept}"),
                (kept, _) => {
                    detail.full = kept;
                    note
                }
            });
        }
        let Detail { printed, traceback, .. } = &mut *detail;
        let texts = [("error", &mut finished.error), ("printed", printed), ("traceback", traceback)];
        for (what, text) in texts {
            if let Some(text) = text.as_mut().filter(|text| text.len() > self.limit) {
                let kept = self.keep(&format!("{name}-{what}.txt"), text, &mut notes);
                notes.extend(kept.map(|kept| format!("{what:?}, {} bytes, is whole in {kept}", text.len())));
                *text = head_and_tail(text, self.limit);
            }
        }
        detail.notes.extend(notes);
        detail.truncated = true;
        finished.detail = Some(detail);
        finished
    }

    /// Keeps a text in a file and gives its path, or notes why there is none.
    fn keep(&self, name: &str, text: &str, notes: &mut Vec<String>) -> Option<String> {
        match self.keeper.keep(name, text) {
            Ok(path) => Some(path.to_string_lossy().into_owned()),
            Err(error) => {
                tracing::warn!(%error, name, "a large result could not be kept");
                notes.push(format!("the whole result could not be kept: {}", error.kind()));
                None
            }
        }
    }

    /// Removes what goes with the engine, for good.
    pub(crate) fn remove(&self) {
        self.keeper.remove();
    }
}

/// The first and the last of a text, with a note between that says how much is missing.
fn head_and_tail(text: &str, room: usize) -> String {
    let head = text.floor_char_boundary(room / 2);
    let tail = text.ceil_char_boundary(text.len() - room / 2);
    let (start, end) = (&text[..head], &text[tail..]);
    format!("{start}\n[… {} of {} bytes are left out …]\n{end}", tail - head, text.len())
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt, path::PathBuf};

    use serde_json::json;
    use toolyard_contract::{Failure, Reply, ToolReturn};

    use super::*;

    fn overflow(limit: usize) -> Overflow {
        Overflow::new(limit, OverflowConfig::default())
    }

    fn cut(overflow: &Overflow, returned: ToolReturn) -> Finished {
        let finished = Finished::returned(returned);
        assert!(overflow.concerns(&finished));
        overflow.cut("1-0", finished)
    }

    #[test]
    fn a_long_text_keeps_its_head_and_tail_and_is_whole_in_a_file_of_the_engine() {
        let overflow = overflow(10);
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
    fn a_long_value_is_kept_whole_and_its_cut_is_json_too() {
        let overflow = overflow(200);
        let whole = json!({"a": ["b".repeat(300)], "c": 1});
        let finished = cut(&overflow, Ok(whole.clone().into()));
        let Some(Output::Json(shown)) = finished.output else { panic!("{:?}", finished.output) };
        let shown: Value = serde_json::from_str(shown.get()).unwrap();
        assert!(shown["a"][0].as_str().unwrap().contains("of 300 bytes are left out"), "{shown}");
        let detail = finished.detail.unwrap();
        let path = detail.full.unwrap();
        assert_eq!(
            (PathBuf::from(&path).extension().unwrap().to_str(), detail.truncated),
            (Some("json"), true)
        );
        let kept: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
        assert_eq!(kept, whole);
    }

    #[test]
    fn arguments_with_which_a_call_goes_on_are_not_cut() {
        let arguments = json!({"text": "a".repeat(50)}).to_string();
        let waits = Failure::needs_input(arguments.clone(), "q".repeat(50));
        let finished = cut(&overflow(10), Err(waits));
        assert_eq!(finished.output.unwrap().as_text(), Some(arguments.as_str()));
        assert!(finished.error.unwrap().contains("left out"));
        assert!(!overflow(60).concerns(&Finished::returned(Err(Failure::needs_input(arguments, "q")))));
    }

    #[test]
    fn errors_prints_and_content_blocks_are_cut_too() {
        let overflow = overflow(10);
        let failure = Failure::failed("e".repeat(30)).output("short").detail(|detail| {
            detail.printed = Some("p".repeat(30));
            detail.content = Some(json!([{"data": "d".repeat(30)}]).into());
        });
        let finished = cut(&overflow, Err(failure));
        assert_eq!(finished.output.unwrap().as_text(), Some("short"));
        assert_eq!(finished.error.unwrap(), "eeeee\n[… 20 of 30 bytes are left out …]\neeeee");
        let detail = finished.detail.unwrap();
        assert!(detail.printed.unwrap().starts_with("ppppp\n[…") && detail.content.is_none());
        assert_eq!(detail.notes[0], "the content blocks, 43 bytes, are left out");
        assert!(fs::read_to_string(detail.full.unwrap()).unwrap().contains("dddd"));
        for (note, start, letter) in
            [(1, "\"error\", 30 bytes, is whole in ", "e"), (2, "\"printed\", 30 bytes", "p")]
        {
            let note = &detail.notes[note];
            assert!(note.starts_with(start), "{note}");
            let kept = note.split_once(" is whole in ").unwrap().1;
            assert_eq!(fs::read_to_string(kept).unwrap(), letter.repeat(30));
        }
    }

    #[test]
    fn what_is_not_too_long_is_none_of_its_business() {
        let overflow = overflow(10);
        for returned in [Ok("0123456789".into()), Ok(Reply::default()), Err(Failure::failed("0123456789"))] {
            assert!(!overflow.concerns(&Finished::returned(returned)));
        }
    }
}
