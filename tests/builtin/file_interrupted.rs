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

/// Two texts of different lengths; half of one, or a mixture, is neither.
fn texts() -> [String; 2] {
    ["a".repeat(900_000), "b".repeat(400_000)]
}

#[test]
#[ignore = "a child process of the test below, which kills it"]
fn writes_until_it_is_killed() {
    let Ok(folder) = env::var(FOLDER) else { return };
    let tool = Arc::new(FileWriteTool::new(FileRoot::open(folder).unwrap()));
    for text in texts().iter().cycle() {
        write(&tool, &json!({"path": "f.txt", "content": text})).unwrap();
        println!("written");
    }
}

#[test]
fn a_writer_killed_at_any_moment_leaves_the_old_text_or_the_new_one() {
    let playground = Playground::new();
    let [old, new] = texts();
    for round in 0..30 {
        let mut child = Command::new(env::current_exe().unwrap())
            .args([
                "--exact",
                "builtin::file_interrupted::writes_until_it_is_killed",
                "--ignored",
                "--nocapture",
            ])
            .env(FOLDER, playground.inside(""))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let written = lines.map(Result::unwrap).filter(|line| line.ends_with("written")).take(1 + round % 7);
        assert_eq!(written.count(), 1 + round % 7, "the child ended by itself");
        // Reading for a while kills it at another moment in each round.
        for _ in 0..round % 5 {
            let text = playground.text("f.txt");
            assert!(text == old || text == new, "{} bytes", text.len());
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let text = playground.text("f.txt");
        assert!(text == old || text == new, "{} bytes", text.len());
    }
    playground.write(&json!({"path": "f.txt", "content": "after"})).unwrap();
    assert_eq!(playground.text("f.txt"), "after");
}
