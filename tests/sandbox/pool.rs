//! Sandboxes kept ready, and who has them.

use std::time::Duration;

use futures::{StreamExt, stream};
use toolyard::sandbox::{ExecResult, RunRequest, SandboxLease};

use super::{config, containers, engine, eventually, printed, python};

#[tokio::test]
async fn sixteen_first_calls_of_one_agent_make_one_container() {
    let config = config();
    let name = config.sandbox.name.clone();
    let engine = engine(config);
    let calls = (0..16).map(async |n| {
        let lease = engine.sandbox().lease(Some("agent")).await.unwrap();
        lease.run(RunRequest::python(format!("open('f{n}', 'w').close()"))).await.unwrap()
    });
    let results: Vec<ExecResult> = stream::iter(calls).buffer_unordered(16).collect().await;
    assert!(results.iter().all(ExecResult::is_success));
    assert_eq!(containers(&name).len(), 1);
    let lease = engine.sandbox().lease(Some("agent")).await.unwrap();
    assert_eq!(printed(&lease, "import os; print(len(os.listdir()))").await, "16\n");
    let other = engine.sandbox().lease(Some("other")).await.unwrap();
    assert_eq!(printed(&other, "import os; print(len(os.listdir()))").await, "0\n");
    assert_eq!(containers(&name).len(), 2);
}

#[tokio::test]
async fn an_agent_that_is_forgotten_loses_its_container_unless_it_is_in_use() {
    let config = config();
    let name = config.sandbox.name.clone();
    let engine = engine(config);
    let lease = engine.sandbox().lease(Some("a")).await.unwrap();
    engine.forget("a").await.unwrap();
    assert_eq!(printed(&lease, "print('still here')").await, "still here\n");
    drop(lease);
    engine.forget("a").await.unwrap();
    eventually("it is gone", || containers(&name).is_empty()).await;
    assert_eq!(engine.sandbox().status().await.leased, 0);
}

#[tokio::test]
async fn warm_sandboxes_are_ready_ahead() {
    let mut config = config();
    config.warm = 2;
    let name = config.sandbox.name.clone();
    let engine = engine(config);
    engine.sandbox().warm_up().await.unwrap();
    eventually("two are up", || containers(&name).iter().filter(|one| one.ends_with("running")).count() == 2)
        .await;
    let lease = engine.sandbox().lease(None).await.unwrap();
    assert_eq!(printed(&lease, "print('at once')").await, "at once\n");
    eventually("another is got ready", || containers(&name).len() == 3).await;
}

/// Leaves a trace wherever code can.
const LEAVE: &str = "
import ctypes, os, subprocess
for path in ['trace', 'deep/er/trace', '/tmp/trace', '/dev/shm/trace', '/tmp/.hidden', '/dev/mqueue/trace']:
    os.makedirs(os.path.dirname(path) or '.', exist_ok=True)
    try: open(path, 'w').write('secret')
    except OSError: pass
os.mkfifo('pipe'); os.symlink('/etc', 'link'); os.mkdir('closed'); os.chmod('closed', 0)
subprocess.Popen(['setsid', 'sleep', '1000'])
";

/// Looks for traces of others.
const LOOK: &str = "
import os, re
found = [os.path.join(folder, name) for top in ['.', '/tmp', '/dev/shm', '/dev/mqueue'] for folder, _, names in os.walk(top) for name in names]
found += [name for name in os.listdir('.')]
found += [pid for pid in os.listdir('/proc') if pid.isdigit() and pid != str(os.getpid()) and os.stat(f'/proc/{pid}/environ').st_uid == os.getuid()]
for region in open('/proc/self/maps'):
    if '[heap]' in region or region.split()[-1] == '0':
        begin, end = (int(part, 16) for part in region.split()[0].split('-'))
        with open('/proc/self/mem', 'rb') as memory:
            memory.seek(begin)
            if re.search(b'(?:s[e]cret){3}', memory.read(end - begin)): found.append('memory')
print(found)
";

async fn visit(lease: &SandboxLease) {
    assert_eq!(printed(lease, LOOK).await, "[]\n");
    assert!(python(lease, LEAVE).await.is_success());
    let said = python(lease, "print('sec' + 'ret' + 'sec' + 'ret' + 'sec' + 'ret')").await;
    assert_eq!(said.stdout_text(), "secretsecretsecret\n");
    lease.session("s").run("x = 1").await.unwrap();
}

#[tokio::test]
async fn nothing_of_one_lease_is_visible_to_the_next() {
    for uses in [1, 100] {
        let mut config = config();
        (config.most, config.uses) = (1, uses);
        let name = config.sandbox.name.clone();
        let engine = engine(config);
        let mut ids = Vec::new();
        for _ in 0..3 {
            let lease = engine.sandbox().lease(None).await.unwrap();
            visit(&lease).await;
            ids.extend(containers(&name));
        }
        ids.dedup();
        assert_eq!(ids.len(), if uses == 1 { 3 } else { 1 }, "{ids:?}");
    }
}

#[tokio::test]
async fn a_container_that_cannot_be_cleared_is_replaced() {
    let mut config = config();
    (config.most, config.uses) = (1, 100);
    let engine = engine(config);
    let lease = engine.sandbox().lease(None).await.unwrap();
    // A segment of memory that belongs to no process and to no folder.
    let trace = "import ctypes\nassert ctypes.CDLL(None).shmget(77, 4096, 0o1666) >= 0";
    assert!(python(&lease, trace).await.is_success());
    drop(lease);
    let next = engine.sandbox().lease(None).await.unwrap();
    assert_eq!(printed(&next, "print(len(open('/proc/sysvipc/shm').readlines()))").await, "1\n");
}

#[tokio::test]
async fn clearing_never_touches_folders_of_the_host() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
    let mut config = config();
    (config.most, config.uses) = (1, 100);
    let (source, target) = (folder.path().to_owned(), "/shared".to_owned());
    config.sandbox.mounts = vec![toolyard::sandbox::SandboxMount { source, target, writable: true }];
    let engine = engine(config);
    let lease = engine.sandbox().lease(None).await.unwrap();
    assert!(
        python(&lease, "open('/shared/made', 'w').write('x'); open('own', 'w').close()").await.is_success()
    );
    drop(lease);
    let next = engine.sandbox().lease(None).await.unwrap();
    assert_eq!(
        printed(&next, "import os; print(os.listdir(), os.listdir('/shared'))").await,
        "[] ['made']\n"
    );
    assert_eq!(std::fs::read(folder.path().join("made")).unwrap(), b"x");
}

#[tokio::test]
async fn two_hundred_runs_over_a_pool_of_four_leave_nothing_behind() {
    let mut config = config();
    (config.most, config.uses, config.warm) = (4, 5, 1);
    let name = config.sandbox.name.clone();
    let engine = engine(config);
    // Each lease begins with nothing and leaves files and a process behind.
    let leases = (0..40).map(async |_| {
        let lease = engine.sandbox().lease(None).await.unwrap();
        assert_eq!(printed(&lease, "import os; print(os.listdir())").await, "[]\n");
        let run = async |n: u32| {
            let code = format!(
                "import os\nopen('x{n}', 'w').close()\nos.spawnlp(os.P_NOWAIT, 'setsid', 'setsid', 'sleep', '1000')\nprint({n})"
            );
            assert_eq!(printed(&lease, &code).await, format!("{n}\n"));
        };
        stream::iter((0..4).map(run)).buffer_unordered(4).collect::<Vec<_>>().await;
        containers(&name).len()
    });
    let counts: Vec<usize> = stream::iter(leases).buffer_unordered(8).collect().await;
    // One that is on its way down may still be seen beside the one that takes its place.
    assert!(counts.iter().all(|count| *count <= 5), "{counts:?}");
    engine.shutdown(Duration::ZERO).await;
    assert_eq!(containers(&name), Vec::<String>::new());
}

#[tokio::test]
async fn an_idle_agent_gives_way_to_one_that_waits_and_ends_after_its_time() {
    let mut config = config();
    (config.most, config.idle) = (1, Duration::from_secs(2));
    let name = config.sandbox.name.clone();
    let engine = engine(config);
    for agent in ["a", "b", "a"] {
        let lease = engine.sandbox().lease(Some(agent)).await.unwrap();
        assert_eq!(printed(&lease, "import os; print(os.listdir()); open('x', 'w').close()").await, "[]\n");
    }
    eventually("the last is gone", || containers(&name).is_empty()).await;
    assert_eq!(engine.sandbox().status().await, toolyard::sandbox::SandboxPoolStatus::default());
}

#[tokio::test]
async fn the_time_of_a_call_starts_when_it_has_its_sandbox() {
    use serde_json::json;
    use toolyard::{ExecuteOptions, ToolCall};
    let mut config = config();
    config.most = 1;
    let engine = toolyard::Engine::builder().sandbox(config).sandbox_tools().build().unwrap();
    let shell = |code: &str, options: ExecuteOptions| {
        let calls = vec![ToolCall::new("sandbox_shell", json!({"code": code}).into())];
        engine.execute(calls, options)
    };
    let lease = engine.sandbox().lease(None).await.unwrap();
    let hasty = ExecuteOptions::new().timeout(Duration::from_secs(2));
    let waits = shell("echo here", hasty);
    let free = async {
        tokio::time::sleep(Duration::from_secs(3)).await;
        drop(lease);
    };
    let (report, ()) = futures::join!(waits, free);
    let result = &report.unwrap().results[0];
    assert_eq!(result.outcome, toolyard::Outcome::Ok, "{result:?}");
    assert!(result.elapsed < Duration::from_secs(2), "waiting is not counted: {:?}", result.elapsed);
}

#[tokio::test]
async fn a_stop_of_the_engine_ends_idle_sandboxes_and_lets_those_in_use_end_their_work() {
    let config = config();
    let name = config.sandbox.name.clone();
    let engine = engine(config);
    let idle = engine.sandbox().lease(Some("idle")).await.unwrap();
    assert_eq!(printed(&idle, "open('f', 'w').close(); print('x')").await, "x\n");
    drop(idle);
    let busy = engine.sandbox().lease(Some("busy")).await.unwrap();
    assert_eq!(containers(&name).len(), 2);
    engine.stop().await.unwrap();
    eventually("the idle one is gone", || containers(&name).len() == 1).await;
    assert_eq!(printed(&busy, "open('f', 'w').close(); print('y')").await, "y\n", "in use, so it goes on");
    let fresh = engine.sandbox().lease(Some("busy")).await.unwrap();
    assert_eq!(
        printed(&fresh, "import os; print(os.listdir())").await,
        "[]\n",
        "who asks now gets a new one"
    );
    drop(busy);
    eventually("it ends when it is given back", || containers(&name).len() == 1).await;
    assert_eq!(printed(&fresh, "print('z')").await, "z\n");
}
