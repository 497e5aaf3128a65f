//! What a run looks like to the model.

use toolyard_contract::{Detail, Failure, Reply, ToolReturn};

use super::{Captured, Ran, RunEnd};

/// Makes the result of a call. `news` is what the model must know about its session first.
pub(super) fn returned(ran: &Ran, news: Option<&str>, seconds: f64) -> ToolReturn {
    let (text, truncated) = shown(ran, news);
    let detail = |detail: &mut Detail| {
        detail.truncated = truncated;
        detail.notes.clone_from(&ran.notes);
    };
    let fails = |failure: Failure| Err(failure.output(text.clone()).detail(detail));
    match &ran.end {
        RunEnd::Done | RunEnd::Exited(0) => {
            let mut reply = Reply::from(text);
            if truncated || !ran.notes.is_empty() {
                detail(reply.detail.get_or_insert_default());
            }
            Ok(reply)
        }
        RunEnd::Raised { summary, traceback } => {
            let failure = Failure::failed(summary.clone());
            fails(failure.detail(|detail| detail.traceback = Some(traceback.clone())))
        }
        RunEnd::Exited(status) => fails(Failure::failed(format!("the code exited with status {status}"))),
        RunEnd::TimedOut => fails(Failure::timed_out(format!(
            "stopped after {seconds} s; the session is ended, with all names that were defined in it"
        ))),
        RunEnd::Gone(reason) => fails(Failure::lost(format!(
            "{reason}; the session is ended, with all names that were defined in it"
        ))),
    }
}

/// One text of all kinds of output, and whether some of it is cut.
fn shown(ran: &Ran, news: Option<&str>) -> (String, bool) {
    let mut text = news.map_or_else(String::new, |news| format!("[{news}]\n"));
    let mut cut = false;
    for part in [Some(&ran.stdout), Some(&ran.stderr), ran.value.as_ref()].into_iter().flatten() {
        if !text.is_empty() && !text.ends_with('\n') && !part.text.is_empty() {
            text.push('\n');
        }
        text.push_str(&part.text);
        if part.is_cut {
            cut = true;
            text.push_str(&part.note());
        }
    }
    (text, cut)
}

impl Captured {
    /// Takes the first bytes of an output, which need not be text, and how many there were in all. Where that is not
    /// known, `most` bytes are taken for cut.
    pub(super) fn new(kept: &[u8], total_bytes: Option<u64>, most: usize) -> Self {
        let is_cut = total_bytes.map_or(kept.len() >= most, |total| total > kept.len() as u64);
        // A character that was cut through is left out, one that is broken is replaced.
        let broken_end = kept.utf8_chunks().last().map_or(0, |chunk| chunk.invalid().len());
        let whole = if is_cut { &kept[..kept.len() - broken_end] } else { kept };
        Self { text: String::from_utf8_lossy(whole).into_owned(), is_cut, total_bytes }
    }

    fn note(&self) -> String {
        let kept = self.text.len();
        match self.total_bytes {
            Some(total) => format!("\n[cut: {kept} of {total} bytes]"),
            None => format!("\n[cut: the first {kept} bytes]"),
        }
    }
}

#[cfg(test)]
mod tests {
    use toolyard_contract::Outcome;

    use super::*;

    fn captured(text: &str) -> Captured {
        Captured::new(text.as_bytes(), Some(text.len() as u64), 100)
    }

    #[test]
    fn output_value_and_news_are_one_text_with_a_line_for_each() {
        let mut ran = Ran {
            stdout: captured("a"),
            stderr: captured("b\n"),
            value: Some(captured("3")),
            ..Ran::default()
        };
        let reply = returned(&ran, Some("news"), 1.0).unwrap();
        assert_eq!((reply.output.unwrap().as_text(), reply.detail), (Some("[news]\na\nb\n3"), None));
        ran.stderr = Captured::new("éé".as_bytes(), Some(100), 4);
        let reply = returned(&ran, None, 1.0).unwrap();
        assert_eq!(reply.output.unwrap().as_text(), Some("a\néé\n[cut: 4 of 100 bytes]\n3"));
        assert!(reply.detail.unwrap().truncated);
    }

    #[test]
    fn broken_text_is_replaced_and_a_character_that_was_cut_is_left_out() {
        let text = |kept: &[u8], total, most| {
            let captured = Captured::new(kept, total, most);
            (captured.text, captured.is_cut)
        };
        assert_eq!(text(b"a\xffb", Some(3), 3), ("a\u{fffd}b".into(), false));
        assert_eq!(text(b"a\xc3", Some(2), 2), ("a\u{fffd}".into(), false));
        assert_eq!(text(b"a\xc3", Some(9), 2), ("a".into(), true));
        assert_eq!(text(b"ab", None, 2), ("ab".into(), true));
        assert_eq!(text(b"ab", None, 3), ("ab".into(), false));
    }

    #[test]
    fn every_end_has_its_outcome_and_keeps_the_output() {
        let raised = RunEnd::Raised { summary: "E: no".into(), traceback: "T".into() };
        for (end, outcome, error) in [
            (RunEnd::Exited(3), Outcome::Failed, "the code exited with status 3"),
            (raised, Outcome::Failed, "E: no"),
            (RunEnd::TimedOut, Outcome::TimedOut, "stopped after 1.5 s; the session is ended"),
            (RunEnd::Gone("it died".into()), Outcome::Lost, "it died; the session is ended"),
        ] {
            let ran = Ran { stdout: captured("out"), end, ..Ran::default() };
            let failure = returned(&ran, None, 1.5).unwrap_err();
            assert_eq!((failure.outcome, failure.output.unwrap().to_text()), (outcome, "out"));
            assert!(failure.error.starts_with(error), "{}", failure.error);
        }
        assert!(returned(&Ran { end: RunEnd::Exited(0), ..Ran::default() }, None, 1.0).is_ok());
    }
}
