use std::{
    env,
    io::{BufRead, BufReader},
    process::{Command, Stdio},
    sync::Arc,
};

use serde_json::json;
use toolyard::builtin::file::{FileRoot, FileWriteTool};

use super::playground::{Playground, write};

const FOLDER: &str = "TOOLYARD_TEST_WRITES_INTO";

#[test]
#[ignore = "a child process of the test below, which kills it"]
fn writes_and_appends_until_it_is_killed() {
    let Ok(folder) = env::var(FOLDER) else { return };
    let tool = Arc::new(FileWriteTool::new(FileRoot::open(folder).unwrap()));
    let (start, more) = ("a".repeat(900_000), "b".repeat(400_000));
    loop {
        write(&tool, &json!({"path": "f.txt", "content": start})).unwrap();
        write(&tool, &json!({"path": "f.txt", "content": more, "append": true})).unwrap();
        println!("written");
    }
}

/// The file has what one of the writes left, whole.
fn is_whole(text: &str) -> bool {
    let start = text.trim_end_matches('b');
    let more = text.len() - start.len();
    start.len() == 900_000 && start.bytes().all(|byte| byte == b'a') && (more == 0 || more == 400_000)
}

#[test]
fn a_writer_killed_at_any_moment_leaves_the_old_text_or_the_new_one() {
    let playground = Playground::new();
    for round in 0..30 {
        let mut child = Command::new(env::current_exe().unwrap())
            .args(["--exact", "builtin::file_interrupted::writes_and_appends_until_it_is_killed"])
            .args(["--ignored", "--nocapture"])
            .env(FOLDER, playground.inside(""))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let written = lines.by_ref().map(Result::unwrap).filter(|line| line.ends_with("written"));
        assert_eq!(written.take(1 + round % 3).count(), 1 + round % 3, "the child ended by itself");
        // Reading for a while kills it at another moment in each round.
        for _ in 0..round % 10 {
            let text = playground.text("f.txt");
            assert!(is_whole(&text), "{} bytes", text.len());
        }
        child.kill().unwrap();
        assert!(child.wait().unwrap().code().is_none(), "the child ended by itself");
        let text = playground.text("f.txt");
        assert!(is_whole(&text), "{} bytes", text.len());
    }
    playground.write(&json!({"path": "f.txt", "content": "after"})).unwrap();
    assert_eq!(playground.text("f.txt"), "after");
}
