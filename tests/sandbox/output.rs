//! What code prints: all of it up to a limit, as it comes, whatever bytes it is.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Notify;
use toolyard::sandbox::{OutputStream, RunRequest};

use super::{printed, python, sandbox, shell};

#[tokio::test]
async fn bytes_that_are_no_text_come_through() {
    let (_engine, sandbox) = sandbox().await;
    let result = python(&sandbox, r"import sys; sys.stdout.buffer.write(b'\xff\xfe\x00a')").await;
    assert_eq!(result.stdout, b"\xff\xfe\x00a");
    assert_eq!(result.stdout_text(), "\u{fffd}\u{fffd}\0a");
    assert_eq!(printed(&sandbox, r"print('\ud800')").await, "\\ud800\n");
}

#[tokio::test]
async fn a_flood_is_cut_at_the_limit_and_neither_stops_nor_fills_anything() {
    let (_engine, sandbox) = sandbox().await;
    let result = shell(&sandbox, "head -c 50000000 /dev/zero; echo end >&2").await;
    assert_eq!((result.stdout.len(), result.truncated), (1 << 20, true));
    assert_eq!((result.exit_code, result.stderr_text().as_str()), (Some(0), "end\n"));
    let both =
        "import sys\nfor _ in range(100):\n    print('o' * 999)\n    print('e' * 999, file=sys.stderr)";
    let result = sandbox.run(RunRequest::python(both).output_bytes(5000)).await.unwrap();
    assert_eq!((result.stdout.len(), result.stderr.len(), result.truncated), (5000, 5000, true));
    let all = sandbox.run(RunRequest::python(both)).await.unwrap();
    assert_eq!((all.stdout.len(), all.stderr.len(), all.truncated), (100_000, 100_000, false));
}

#[tokio::test]
async fn output_is_there_while_the_code_still_runs() {
    let (_engine, sandbox) = sandbox().await;
    let (heard, news) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Notify::new()));
    let (hear, tell) = (heard.clone(), news.clone());
    let code = "import os, sys, time\nprint('first')\nprint('oops', file=sys.stderr)\n\
                while not os.path.exists('go'): time.sleep(0.01)\nprint('last')";
    let request = RunRequest::python(code).on_output(move |stream, text| {
        hear.lock().push((stream, text.to_owned()));
        tell.notify_one();
    });
    let running = sandbox.run(request);
    let watching = async {
        while heard.lock().len() < 2 {
            news.notified().await;
        }
        // The code goes on only when its output has been seen here.
        sandbox.put("go", b"").await.unwrap();
    };
    let (result, ()) = tokio::join!(running, watching);
    assert_eq!(result.unwrap().stdout_text(), "first\nlast\n");
    let heard = heard.lock();
    assert!(heard.contains(&(OutputStream::Stderr, b"oops\n".to_vec())), "{heard:?}");
    assert_eq!(heard.last(), Some(&(OutputStream::Stdout, b"last\n".to_vec())));
}

#[tokio::test]
async fn what_takes_the_output_may_panic_and_the_run_goes_on() {
    let (_engine, sandbox) = sandbox().await;
    for request in
        [RunRequest::python("print('a', flush=True)\nprint('b')"), RunRequest::shell("echo a; echo b")]
    {
        let result = sandbox.run(request.on_output(|_, _| panic!("the host breaks"))).await.unwrap();
        assert_eq!((result.stdout_text().as_str(), result.exit_code), ("a\nb\n", Some(0)));
    }
    assert!(sandbox.run(RunRequest::shell("true")).await.unwrap().is_success());
}
