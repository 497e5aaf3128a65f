use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// A Python process that answers one line with one line.
pub(super) struct Python {
    child: Child,
    questions: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Python {
    pub(super) fn start(script: &str) -> Self {
        let mut child = Command::new("python3")
            .args(["-W", "ignore", "-c", script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("this test compares with Python and needs `python3` (3.11 or later) on the PATH");
        let questions = child.stdin.take().expect("piped");
        let answers = BufReader::new(child.stdout.take().expect("piped"));
        Self { child, questions, answers }
    }

    pub(super) fn ask(&mut self, question: &str) -> String {
        writeln!(self.questions, "{question}").expect("python3 still reads");
        let mut answer = String::new();
        self.answers.read_line(&mut answer).expect("python3 answers in UTF-8");
        assert!(answer.ends_with('\n'), "python3 ended at {question:?}; see its message above");
        answer.truncate(answer.len() - 1);
        answer
    }
}

impl Drop for Python {
    fn drop(&mut self) {
        // Nothing to do where it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
