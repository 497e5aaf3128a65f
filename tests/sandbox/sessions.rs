//! Interpreters that stay.

use std::time::Duration;

use toolyard::sandbox::RunRequest;

use super::{sandbox, shell};

#[tokio::test]
async fn a_session_keeps_its_variables_and_gives_the_value_of_the_last_expression() {
    let (_engine, sandbox) = sandbox().await;
    let session = sandbox.session("one");
    for (code, value, stdout) in [
        ("x = 20", None, ""),
        ("x += 1\nprint('seen')\n2 * x", Some("42"), "seen\n"),
        ("def f(n):\n    return n if n < 2 else f(n - 1) + f(n - 2)", None, ""),
        ("[f(n) for n in range(8)]", Some("[0, 1, 1, 2, 3, 5, 8, 13]"), ""),
        ("None", None, ""),
        ("import json; json.dumps({'it\\'s': 1})", Some(r#"'{"it\'s": 1}'"#), ""),
        ("", None, ""),
    ] {
        let result = session.run(code).await.unwrap();
        assert_eq!(
            (result.value.as_deref(), result.stdout_text().as_str()),
            (value, stdout),
            "{code}: {result:?}"
        );
        assert!(result.is_success());
    }
    let other = sandbox.session("two").run("x").await.unwrap();
    assert!(other.stderr_text().contains("NameError"), "sessions are apart: {other:?}");
    assert_eq!(sandbox.session("one").run("x").await.unwrap().value.as_deref(), Some("21"));
}

#[tokio::test]
async fn an_exception_or_an_exit_leaves_a_session_as_it_was() {
    let (_engine, sandbox) = sandbox().await;
    let session = sandbox.session("s");
    session.run("x = 1").await.unwrap();
    let failed = session.run("x = 2\n1 / 0").await.unwrap();
    assert_eq!(failed.exit_code, Some(1));
    assert!(failed.stderr_text().contains("    1 / 0\n"), "{failed:?}");
    assert_eq!(session.run("import sys; sys.exit(4)").await.unwrap().exit_code, Some(4));
    assert_eq!(session.run("x").await.unwrap().value.as_deref(), Some("2"));
}

#[tokio::test]
async fn a_piece_that_takes_too_long_is_interrupted_and_the_variables_stay() {
    let (_engine, sandbox) = sandbox().await;
    let session = sandbox.session("s");
    session.run("x = 1").await.unwrap();
    let endless = RunRequest::python("x = 2\nwhile True: pass").timeout(Duration::from_millis(200));
    let late = session.run_request(endless).await.unwrap();
    assert!(late.timed_out && !late.session_lost, "{late:?}");
    let traceback = "Traceback (most recent call last):\n  File \"<cell 2>\", line 2, in <module>\n    while True: pass\n\
                     KeyboardInterrupt\n";
    assert_eq!(late.stderr_text(), traceback);
    assert_eq!(session.run("x").await.unwrap().value.as_deref(), Some("2"));
}

#[tokio::test]
async fn a_piece_that_heeds_no_interrupt_costs_the_session_and_not_the_files() {
    let (_engine, sandbox) = sandbox().await;
    let session = sandbox.session("s");
    session.run("x = 1; open('kept', 'w').write('y')").await.unwrap();
    let deaf = "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True: pass";
    let late =
        session.run_request(RunRequest::python(deaf).timeout(Duration::from_millis(200))).await.unwrap();
    assert!(late.timed_out && late.session_lost, "{late:?}");
    let after = session.run("open('kept').read(), 'x' in globals()").await.unwrap();
    assert_eq!(after.value.as_deref(), Some("('y', False)"));
}

#[tokio::test]
async fn an_interrupt_from_elsewhere_ends_the_piece_alone() {
    let (_engine, sandbox) = sandbox().await;
    let session = sandbox.session("s");
    let here = session.clone();
    let begun = std::sync::Arc::new(tokio::sync::Notify::new());
    let tell = begun.clone();
    let piece = RunRequest::python("x = 5\nprint('begun')\nwhile True: pass")
        .on_output(move |_, _| tell.notify_one());
    let running = tokio::spawn(async move { here.run_request(piece).await });
    begun.notified().await;
    session.interrupt();
    let result = running.await.unwrap().unwrap();
    assert!(result.cancelled && !result.session_lost, "{result:?}");
    assert_eq!(session.run("x").await.unwrap().value.as_deref(), Some("5"));
}

#[tokio::test]
async fn pieces_given_at_once_run_one_after_another() {
    let (_engine, sandbox) = sandbox().await;
    let session = sandbox.session("s");
    session.run("import time\nx = 0").await.unwrap();
    let add = || session.run("y = x\ntime.sleep(0.01)\nx = y + 1");
    let all = futures::future::try_join_all((0..10).map(|_| add())).await.unwrap();
    assert!(all.iter().all(toolyard::sandbox::ExecResult::is_success));
    assert_eq!(session.run("x").await.unwrap().value.as_deref(), Some("10"));
}

#[tokio::test]
async fn a_session_that_is_killed_or_closed_begins_anew() {
    let (_engine, sandbox) = sandbox().await;
    let session = sandbox.session("s");
    session.run("x = 1").await.unwrap();
    let killed = session.run("import os; os.kill(os.getpid(), 9)").await.unwrap();
    assert!(killed.session_lost && killed.signal == Some(9), "{killed:?}");
    session.run("x = 2").await.unwrap();
    session.close().await.unwrap();
    let after = session.run("x").await.unwrap();
    assert!(after.stderr_text().contains("NameError"), "{after:?}");
    // A run outside does not end with the sessions, nor they with it.
    session.run("x = 3").await.unwrap();
    assert!(shell(&sandbox, "true").await.is_success());
    assert_eq!(session.run("x").await.unwrap().value.as_deref(), Some("3"));
}

#[tokio::test]
async fn what_a_session_says_on_the_agents_line_ends_the_session_alone() {
    let (_engine, sandbox) = sandbox().await;
    let session = sandbox.session("s");
    // The session's own end of the line is all that its code can reach.
    for forged in ["b'\\xff' * 8", "(4).to_bytes(4, 'big') + b'nope'", "(2).to_bytes(4, 'big') + b'[]'"] {
        let result =
            session.run(format!("import os, time\nos.write(4, {forged})\ntime.sleep(20)")).await.unwrap();
        assert!(result.session_lost, "{forged}: {result:?}");
    }
    assert_eq!(session.run("1 + 1").await.unwrap().value.as_deref(), Some("2"));
}
