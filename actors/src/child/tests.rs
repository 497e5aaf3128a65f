use std::time::Duration;

use rustix::process::Pid;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};

use super::tree::group_is_running;
use super::*;

fn shell(script: &str) -> ChildCommand {
    ChildCommand::new("sh").arg("-c").arg(script).stop_policy(StopPolicy {
        after_eof: Duration::from_millis(100),
        after_term: Duration::from_millis(100),
        after_kill: Duration::from_secs(5),
    })
}

fn group_is_gone(child: &ChildProcess) -> bool {
    !group_is_running(Pid::from_raw(child.group_id()).unwrap())
}

/// Reads the line by which a script says that it is ready.
async fn ready_line(child: &mut ChildProcess) -> String {
    let mut line = String::new();
    BufReader::new(child.take_stdout().unwrap()).read_line(&mut line).await.unwrap();
    line
}

#[tokio::test]
async fn a_child_is_fed_and_read() {
    let mut child = ChildCommand::new("cat").start().unwrap();
    let mut stdin = child.take_stdin().unwrap();
    stdin.write_all(b"hello").await.unwrap();
    drop(stdin);
    let mut echoed = String::new();
    child.take_stdout().unwrap().read_to_string(&mut echoed).await.unwrap();
    assert_eq!(echoed, "hello");
    assert_eq!(child.wait().await, ChildExit::Code(0));
}

#[tokio::test]
async fn a_missing_program_is_named() {
    let error = ChildCommand::new("no-such-program-anywhere").start().unwrap_err();
    assert!(matches!(error, ChildError::NotFound { .. }), "{error}");
    assert!(error.to_string().contains("no-such-program-anywhere"));
}

#[tokio::test]
async fn the_end_of_input_alone_ends_a_polite_child() {
    let mut child = ChildCommand::new("cat").start().unwrap();
    assert_eq!(child.stop().await, ChildExit::Code(0));
    assert!(group_is_gone(&child));
}

#[tokio::test]
async fn a_child_that_ignores_its_input_gets_a_term() {
    let mut child = shell("trap 'exit 7' TERM; echo ready; while :; do sleep 0.01; done").start().unwrap();
    ready_line(&mut child).await;
    assert_eq!(child.stop().await, ChildExit::Code(7));
    assert!(group_is_gone(&child));
}

#[tokio::test]
async fn a_child_that_ignores_term_is_killed_with_its_children() {
    let mut child = shell("trap '' TERM; sleep 1000 & echo ready; wait; sleep 1000").start().unwrap();
    ready_line(&mut child).await;
    assert_eq!(child.stop().await, ChildExit::Signal(9));
    assert!(group_is_gone(&child));
}

#[tokio::test]
async fn a_child_that_ends_by_itself_takes_its_group_along() {
    let mut child = shell("sleep 1000 & echo ready; exit 3").start().unwrap();
    assert_eq!(child.wait().await, ChildExit::Code(3));
    assert!(group_is_gone(&child));
}

#[tokio::test]
async fn a_dropped_child_is_killed() {
    let mut child = shell("echo ready; exec sleep 1000").start().unwrap();
    let mut stdout = child.take_stdout().unwrap();
    drop(child);
    // Its output ends only when it has ended.
    let mut rest = Vec::new();
    tokio::time::timeout(Duration::from_secs(10), stdout.read_to_end(&mut rest)).await.unwrap().unwrap();
}

#[tokio::test]
async fn endless_standard_error_neither_blocks_the_child_nor_fills_memory() {
    let script = "i=0; while [ $i -lt 20000 ]; do echo line $i >&2; i=$((i+1)); done";
    let mut child = shell(script).stderr_bytes(64).start().unwrap();
    assert_eq!(child.wait().await, ChildExit::Code(0));
    assert!(child.stderr_text().ends_with("line 19999"), "{}", child.stderr_text());
    assert!(child.stderr_text().len() <= 64);
}

#[tokio::test]
async fn limits_hold_in_the_child() {
    let limits = ResourceLimits { open_files: Some(37), ..ResourceLimits::default() };
    // The limit is set right after the start, so the script waits for its input first.
    let mut child = shell("read go; ulimit -n").limits(limits).start().unwrap();
    let mut stdin = child.take_stdin().unwrap();
    stdin.write_all(b"go\n").await.unwrap();
    assert_eq!(ready_line(&mut child).await.trim(), "37");
    assert_eq!(child.wait().await, ChildExit::Code(0));
}

#[tokio::test]
async fn a_child_sees_a_short_list_of_variables_unless_told_otherwise() {
    // Cargo sets it for tests, and it is on no short list.
    let other = "CARGO_MANIFEST_DIR";
    for (inherit, expected) in [
        (InheritEnv::default(), "yes no set"),
        (InheritEnv::names([other]), "yes yes set"),
        (InheritEnv::All, "yes yes set"),
    ] {
        let script = format!("echo ${{HOME:+yes}} ${{{other}:+yes}}${{{other}:-no}} $EXTRA");
        let command = shell(&script).env("EXTRA", "set").env("PATH", "/usr/bin:/bin");
        let mut child = command.inherit_env(inherit).start().unwrap();
        let value = std::env::var(other).unwrap();
        assert_eq!(ready_line(&mut child).await.trim().replace(&value, ""), expected);
        child.wait().await;
    }
}

#[tokio::test]
async fn a_child_starts_in_no_folder_of_ours_and_no_program_is_found_by_a_relative_path() {
    let mut child = shell("pwd").start().unwrap();
    assert_eq!(ready_line(&mut child).await.trim(), "/");
    child.wait().await;
    for program in ["./sh", "bin/sh", "../bin/sh"] {
        let error = ChildCommand::new(program).start().unwrap_err();
        assert!(matches!(error, ChildError::Relative { .. }), "{error}");
        assert!(error.to_string().contains("give its whole path"), "{error}");
    }
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("toolyard-planted");
    std::fs::write(&program, "#!/bin/sh\necho planted\n").unwrap();
    std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let here = std::env::current_dir().unwrap();
    let up = "../".repeat(here.components().count() - 1);
    let relative = format!("{up}{}", folder.path().strip_prefix("/").unwrap().display());
    assert!(here.join(&relative).join("toolyard-planted").exists());
    for path in [relative.clone(), format!(":{relative}"), format!("/bin:{relative}:")] {
        let error = ChildCommand::new("toolyard-planted").env("PATH", &path).start().unwrap_err();
        assert!(matches!(error, ChildError::NotFound { .. }), "{path}: {error}");
    }
    let mut child = ChildCommand::new("./toolyard-planted").folder(folder.path()).start().unwrap();
    assert_eq!(ready_line(&mut child).await.trim(), "planted", "where the folder is named");
    child.wait().await;
}
