//! Whatever the code is, it arrives as it was given, and its end is reported as it was.

use std::time::Duration;

use toolyard::sandbox::RunRequest;

use super::{printed, python, sandbox, shell};

#[tokio::test]
async fn code_arrives_as_it_was_given() {
    let (_engine, sandbox) = sandbox().await;
    // Quotes, backslashes, what a shell would take for its own, and text of any script.
    for text in [
        r#"it's "q" `id` $HOME $(id) ; & | > < \ \\ \n \c % ! # {} [] ~ *"#,
        "'; id; echo '",
        "漢字 😀 \u{202e} é",
        "a\tb",
    ] {
        let code = format!("print({})", serde_json::to_string(text).unwrap());
        assert_eq!(printed(&sandbox, &code).await, format!("{text}\n"));
        let quoted = text.replace('\'', r"'\''");
        let result = shell(&sandbox, &format!("printf '%s' '{quoted}'")).await;
        assert_eq!(result.stdout_text(), text, "{result:?}");
    }
    assert_eq!(
        printed(&sandbox, "# it's\nprint(__name__, __file__ if '__file__' in dir() else '')").await,
        "__main__ \n"
    );
}

#[tokio::test]
async fn a_megabyte_of_code_runs() {
    let (_engine, sandbox) = sandbox().await;
    let code = format!("x = '{}'\nprint(len(x))", "x".repeat(1 << 20));
    assert_eq!(printed(&sandbox, &code).await, "1048576\n");
    let result = shell(&sandbox, &format!("# {}\necho done", "x".repeat(1 << 20))).await;
    assert_eq!(result.stdout_text(), "done\n", "{result:?}");
}

#[tokio::test]
async fn a_nul_byte_is_an_error_of_the_code() {
    let (_engine, sandbox) = sandbox().await;
    let result = python(&sandbox, "print('a\0b')").await;
    assert_eq!(result.exit_code, Some(1));
    assert!(result.stderr_text().contains("null bytes"), "{result:?}");
    assert_eq!(printed(&sandbox, r"print(len('a\0b'))").await, "3\n");
}

#[tokio::test]
async fn exit_codes_and_signals_are_told_apart() {
    let (_engine, sandbox) = sandbox().await;
    for (code, exit, signal, stderr) in [
        ("pass", Some(0), None, ""),
        ("import sys; sys.exit(7)", Some(7), None, ""),
        ("import sys; sys.exit('bye')", Some(1), None, "bye\n"),
        ("raise SystemExit", Some(0), None, ""),
        ("import os; os._exit(3)", Some(3), None, ""),
        ("import os; os.kill(os.getpid(), 9)", None, Some(9), ""),
        ("import os; os.abort()", None, Some(6), ""),
        ("import sys; sys.stderr.write('e')", Some(0), None, "e"),
    ] {
        let result = python(&sandbox, code).await;
        assert_eq!((result.exit_code, result.signal), (exit, signal), "{code}: {result:?}");
        assert_eq!(result.stderr_text(), stderr, "{code}");
    }
    let result = shell(&sandbox, "echo out; echo err >&2; exit 7").await;
    assert_eq!(
        (result.exit_code, result.stdout_text(), result.stderr_text()),
        (Some(7), "out\n".into(), "err\n".into())
    );
    assert_eq!(shell(&sandbox, "kill -TERM $$").await.signal, Some(15));
    assert_eq!(shell(&sandbox, "no_such_program").await.exit_code, Some(127));
}

#[tokio::test]
async fn an_exception_has_a_traceback_with_lines_of_the_code_alone() {
    let (_engine, sandbox) = sandbox().await;
    let result = python(&sandbox, "def f(x):\n    return 1 / x\n\nf(0)").await;
    let text = result.stderr_text();
    assert!(
        text.starts_with("Traceback (most recent call last):\n  File \"<python>\", line 4, in <module>"),
        "{text}"
    );
    assert!(
        text.contains("return 1 / x") && text.ends_with("ZeroDivisionError: division by zero\n"),
        "{text}"
    );
    let result = python(&sandbox, "x = (").await;
    assert!(result.stderr_text().contains("SyntaxError") && result.exit_code == Some(1), "{result:?}");
}

#[tokio::test]
async fn input_ends_at_once_or_is_what_was_given() {
    let (_engine, sandbox) = sandbox().await;
    let result = python(&sandbox, "input()").await;
    assert!(result.stderr_text().contains("EOFError"), "{result:?}");
    assert_eq!(shell(&sandbox, "cat; echo end").await.stdout_text(), "end\n");
    let request = RunRequest::python("import sys; print(sys.stdin.read()[::-1])").stdin("abc");
    assert_eq!(sandbox.run(request).await.unwrap().stdout_text(), "cba\n");
    let bytes: Vec<u8> = (0..=255).cycle().take(300_000).collect();
    let request = RunRequest::shell("cat").stdin(bytes.clone());
    assert_eq!(sandbox.run(request).await.unwrap().stdout, bytes);
}

#[tokio::test]
async fn a_run_is_a_python_process_as_any_other() {
    let (_engine, sandbox) = sandbox().await;
    let threads = "import threading, time, atexit\natexit.register(print, 'at exit')\n\
                   threading.Thread(target=lambda: (time.sleep(0.05), print('thread'))).start()\nprint('main')";
    assert_eq!(printed(&sandbox, threads).await, "main\nthread\nat exit\n");
    let processes = "from concurrent.futures import ProcessPoolExecutor\ndef double(x): return 2 * x\n\
                     with ProcessPoolExecutor(2) as pool: print(list(pool.map(double, range(4))))";
    assert_eq!(printed(&sandbox, processes).await, "[0, 2, 4, 6]\n");
    let pickles = "import pickle\nclass A: pass\nprint(type(pickle.loads(pickle.dumps(A()))).__name__)";
    assert_eq!(printed(&sandbox, pickles).await, "A\n");
    let random = "import random, uuid; print(random.random(), uuid.uuid4())";
    assert_ne!(printed(&sandbox, random).await, printed(&sandbox, random).await);
    assert_eq!(printed(&sandbox, "import sys; print(sys.argv, 'json' in dir())").await, "[''] False\n");
}

#[tokio::test]
async fn runs_overlap_in_one_sandbox_and_keep_apart() {
    let (_engine, sandbox) = sandbox().await;
    // Each waits for the other's file: one after another, neither would end.
    let meet = |mine: &str, other: &str| {
        RunRequest::python(format!(
            "import os, time\nopen('{mine}', 'w').close()\nwhile not os.path.exists('{other}'): time.sleep(0.01)\nprint('{mine}')"
        ))
    };
    let (a, b) = tokio::join!(sandbox.run(meet("a", "b")), sandbox.run(meet("b", "a")));
    assert_eq!((a.unwrap().stdout_text(), b.unwrap().stdout_text()), ("a\n".to_owned(), "b\n".to_owned()));
}

#[tokio::test]
async fn a_run_that_takes_too_long_ends_alone_and_files_stay() {
    let (_engine, sandbox) = sandbox().await;
    let beside = sandbox.run(RunRequest::python("import time; time.sleep(1); print('whole')"));
    let late =
        RunRequest::python("open('kept', 'w').write('x')\nprint('begun', flush=True)\nwhile True: pass")
            .timeout(Duration::from_millis(400));
    let (beside, late) = tokio::join!(beside, sandbox.run(late));
    let late = late.unwrap();
    assert!(late.timed_out && late.signal == Some(9) && !late.is_success(), "{late:?}");
    assert_eq!(late.stdout_text(), "begun\n");
    assert_eq!(beside.unwrap().stdout_text(), "whole\n");
    assert_eq!(printed(&sandbox, "print(open('kept').read())").await, "x\n");
    let stubborn = "trap '' TERM INT HUP; while :; do sleep 1; done";
    let result = sandbox.run(RunRequest::shell(stubborn).timeout(Duration::from_millis(200))).await.unwrap();
    assert!(result.timed_out, "{result:?}");
    assert_eq!(processes(&sandbox).await, 0);
}

#[tokio::test]
async fn background_children_neither_hold_a_run_up_nor_outlive_it() {
    let (_engine, sandbox) = sandbox().await;
    for commands in [
        "sleep 1000 & echo begun",
        "(while :; do echo chatty; done) & echo begun",
        "setsid sleep 1000 & echo begun",
        "setsid sh -c 'trap \"\" TERM HUP; (setsid sleep 1000 &) ; exec sleep 1000' & echo begun",
        "nohup sleep 1000 >/dev/null 2>&1 </dev/null & echo begun",
    ] {
        let result = shell(&sandbox, commands).await;
        assert!(result.is_success() && result.stdout_text().contains("begun"), "{commands}: {result:?}");
        assert!(result.elapsed < Duration::from_secs(20), "{commands}: {result:?}");
        assert_eq!(processes(&sandbox).await, 0, "{commands}");
    }
    let daemon = "import subprocess; subprocess.Popen(['setsid', 'sleep', '1000']); print('begun')";
    assert_eq!(printed(&sandbox, daemon).await, "begun\n");
    assert_eq!(processes(&sandbox).await, 0);
}

/// How many processes there are beside the one that counts; those of the agent are hidden, and so belong to root.
async fn processes(sandbox: &toolyard::sandbox::SandboxLease) -> usize {
    let count = "import os\nown = lambda name: os.stat(f'/proc/{name}/environ').st_uid == os.getuid()\n\
                 print(sum(name.isdigit() and own(name) for name in os.listdir('/proc')) - 1)";
    printed(sandbox, count).await.trim().parse().unwrap()
}
