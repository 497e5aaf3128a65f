//! Files into and out of a sandbox whose root is read-only.

use std::time::Duration;

use toolyard::sandbox::{Artifact, RunRequest, SandboxError, SandboxFile};

use super::{config, printed, python, sandbox, sandbox_with};

#[tokio::test]
async fn files_go_in_and_come_out_as_they_were() {
    let (_engine, sandbox) = sandbox().await;
    let large: Vec<u8> = (0..=250).cycle().take(8 << 20).collect();
    for path in ["plain.txt", "deep/down here/it's \"x\".bin", "-rf", "/tmp/elsewhere", "漢"] {
        sandbox.put(path, &large).await.unwrap();
        assert!(sandbox.get(path).await.unwrap() == large, "{path}");
        sandbox.put(path, b"short").await.unwrap();
        assert_eq!(sandbox.get(path).await.unwrap(), b"short", "{path}");
    }
    sandbox.put("empty", b"").await.unwrap();
    assert_eq!(sandbox.get("empty").await.unwrap(), b"");
    sandbox.put("helper.py", b"def f(): return 'imported'").await.unwrap();
    assert_eq!(printed(&sandbox, "import helper; print(helper.f())").await, "imported\n");
}

#[tokio::test]
async fn folders_go_in_and_come_out() {
    let (_engine, sandbox) = sandbox().await;
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("sub")).unwrap();
    std::fs::write(folder.path().join("a.txt"), "a").unwrap();
    std::fs::write(folder.path().join("sub/run.sh"), "#!/bin/sh\necho ran").unwrap();
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(folder.path().join("sub/run.sh"), executable).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", folder.path().join("link")).unwrap();
    sandbox.put_folder(folder.path(), "in").await.unwrap();
    assert_eq!(printed(&sandbox, "import subprocess; subprocess.run('in/sub/run.sh')").await, "ran\n");
    assert_eq!(sandbox.list("in").await.unwrap(), [("a.txt".to_owned(), 1), ("sub/run.sh".to_owned(), 18)]);
    python(&sandbox, "import os; os.symlink('/etc/passwd', 'in/evil'); os.mkfifo('in/pipe')").await;
    let files = sandbox.get_folder("in").await.unwrap();
    let a = SandboxFile { path: "a.txt".to_owned(), bytes: b"a".to_vec() };
    assert_eq!((files.len(), &files[0]), (2, &a), "links and pipes are no files");
}

#[tokio::test]
async fn what_cannot_be_done_says_why_and_harms_nothing() {
    let mut config = config();
    config.sandbox.file_bytes = 1000;
    config.sandbox.workspace_bytes = 4 << 20;
    let (_engine, sandbox) = sandbox_with(config).await;
    python(&sandbox, "import os; os.mkfifo('pipe'); os.mkdir('folder'); open('big', 'w').write('x' * 1001)")
        .await;
    let reason = |result: Result<(), SandboxError>| match result {
        Err(SandboxError::File { reason, .. }) => reason,
        other => panic!("{other:?}"),
    };
    let got = async |path: &str| reason(sandbox.get(path).await.map(|_| ()));
    assert_eq!(got("none").await, "No such file or directory");
    assert_eq!(got("pipe").await, "not a regular file");
    assert_eq!(got("folder").await, "not a regular file");
    assert_eq!(got("big").await, "has more than 1000 bytes, the most that may be read");
    assert_eq!(reason(sandbox.put("/etc/passwd", b"x").await), "Read-only file system");
    assert_eq!(reason(sandbox.put("pipe", b"x").await), "No such device or address");
    assert_eq!(reason(sandbox.put("full", &vec![0; 8 << 20]).await), "No space left on device");
    assert_eq!(reason(sandbox.list("none").await.map(|_| ())), "No such file or directory");
    assert_eq!(printed(&sandbox, "print('well')").await, "well\n");
}

#[tokio::test]
async fn a_run_tells_which_files_it_made_or_changed() {
    let (_engine, sandbox) = sandbox().await;
    let made = async |code: &str| python(&sandbox, code).await.artifacts;
    let artifact = |path: &str, bytes| Artifact { path: path.to_owned(), bytes };
    sandbox.put("given.csv", b"1,2").await.unwrap();
    let plot =
        "import os; os.mkdir('out'); open('out/plot.png', 'wb').write(bytes(3)); open('a', 'w').write('x')";
    assert_eq!(made(plot).await, [artifact("a", 1), artifact("out/plot.png", 3)]);
    assert_eq!(made("open('out/plot.png').close()").await, [], "those of an earlier run do not come back");
    assert_eq!(made("open('given.csv', 'a').write('!')").await, [artifact("given.csv", 4)]);
    assert_eq!(made("import os; os.remove('a'); os.rename('given.csv', 'b')").await, [artifact("b", 4)]);
    assert_eq!(sandbox.get("out/plot.png").await.unwrap(), [0, 0, 0]);
    let unasked = RunRequest::python("open('c', 'w').close()").artifacts(false);
    assert_eq!(sandbox.run(unasked).await.unwrap().artifacts, []);
    let many = python(&sandbox, "for n in range(5000): open(f'n{n}', 'w').close()").await;
    assert!(many.artifacts_truncated, "{}", many.artifacts.len());
    let late =
        RunRequest::python("open('d', 'w').write('x')\nwhile True: pass").timeout(Duration::from_millis(300));
    assert!(sandbox.run(late).await.unwrap().timed_out);
}
