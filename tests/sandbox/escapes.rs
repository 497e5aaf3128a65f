//! Attempts at everything that a run could reach, followed by a run of another user in the same container.

use toolyard::sandbox::{RunRequest, SandboxError, SandboxLease, SandboxPoolConfig, SandboxSeccomp};

use super::{config, containers, engine, printed};

const ATTEMPTS: &str = include_str!("escapes.py");

/// How a container looks to a run: what earlier runs could have left.
const LOOK: &str = r#"
import os, resource
limits = {name: resource.getrlimit(getattr(resource, name)) for name in dir(resource) if name.startswith("RLIMIT_")}
mask = os.umask(0o22)
os.umask(mask)
print(sorted(limits.items()), sorted(os.sched_getaffinity(0)), os.getpriority(os.PRIO_PROCESS, 0), os.sched_getscheduler(0), mask)
print([os.listdir(place) for place in (".", "/tmp", "/dev/shm", "/dev/mqueue")])
print([len(open("/proc/sysvipc/" + kind).readlines()) for kind in ("shm", "sem", "msg")])
print({open("/proc/%s/comm" % pid).read() for pid in os.listdir("/proc") if pid.isdigit()})
for number in range(200):
    open(str(number), "w").close()
print(open("/proc/1/oom_score_adj").read(), os.uname().nodename != "")
"#;

/// One container for many users, one after another.
fn shared() -> SandboxPoolConfig {
    let mut config = config();
    config.most = 1;
    config.uses = u32::MAX;
    config
}

async fn names_of_attempts(sandbox: &SandboxLease) -> Vec<String> {
    let listed = printed(sandbox, &format!("{ATTEMPTS}\nprint('\\n'.join(ATTEMPTS))")).await;
    listed.lines().map(str::to_owned).collect()
}

#[tokio::test]
async fn nothing_is_reached_and_the_next_user_finds_a_container_as_new() {
    let engine = engine(shared());
    let (new, names) = {
        let sandbox = engine.sandbox().lease(None).await.unwrap();
        (printed(&sandbox, LOOK).await, names_of_attempts(&sandbox).await)
    };
    assert!(names.len() >= 60, "{} attempts", names.len());
    // Some attempts of one user, each in a run of its own, then the next user.
    for some in names.chunks(24) {
        let sandbox = engine.sandbox().lease(None).await.unwrap();
        for name in some {
            let attempt = format!("{ATTEMPTS}\nreached(ATTEMPTS[{name:?}])\nprint('tried')");
            assert_eq!(printed(&sandbox, &attempt).await, "tried\n", "{name}");
        }
        assert_eq!(printed(&sandbox, "print('well')").await, "well\n", "after {some:?}");
        drop(sandbox);
        let next = engine.sandbox().lease(None).await.unwrap();
        assert_eq!(printed(&next, LOOK).await, new, "after {some:?}");
    }
}

/// What code may do, and what must end with its user.
const LEFT: [(&str, &str); 12] = [
    ("files", "import os\nfor place in ('.', '/tmp', '/dev/shm'): open(place + '/left', 'w').write('x')"),
    ("folders that cannot be entered", "import os\nos.makedirs('a/b/c'); os.chmod('a/b', 0)"),
    ("System V memory", "import ctypes\nassert ctypes.CDLL(None).shmget(7, 4096, 0o1600) >= 0"),
    ("System V semaphores", "import ctypes\nassert ctypes.CDLL(None).semget(7, 1, 0o1600) >= 0"),
    ("System V messages", "import ctypes\nassert ctypes.CDLL(None).msgget(7, 0o1600) >= 0"),
    (
        "a POSIX queue",
        "import ctypes\nlibc = ctypes.CDLL(None)\nassert libc.mq_open(b'/left', 0o102, 0o600, None) >= 0",
    ),
    (
        "processes of their own sessions",
        "import os, time\nfor _ in range(5):\n    if os.fork() == 0:\n        os.setsid()\n        time.sleep(1000)",
    ),
    ("a mask and a priority of its own", "import os\nos.umask(0o777); os.nice(5)"),
    (
        "no files left",
        "import os, sys\ntry:\n    for n in range(10**6): open('f%d' % n, 'w').close()\nexcept OSError as error: sys.exit(0 if error.errno == 28 and n < 40000 else 1)\nsys.exit(2)",
    ),
    (
        "no disk left",
        "import os, sys\ntry:\n    with open('full', 'wb', 0) as file:\n        while True: file.write(bytes(1 << 20))\nexcept OSError as error: sys.exit(0 if error.errno == 28 else 1)",
    ),
    (
        "all watchers of files",
        "import ctypes\nlibc = ctypes.CDLL(None)\nwhile libc.inotify_init() >= 0: pass",
    ),
    (
        "limits of its own",
        "import resource\nfor name in ('FSIZE', 'NOFILE', 'CPU'): resource.setrlimit(getattr(resource, 'RLIMIT_' + name), (60, 60))",
    ),
];

#[tokio::test]
async fn what_one_user_leaves_behind_the_next_one_does_not_find() {
    let engine = engine(shared());
    let new = printed(&engine.sandbox().lease(None).await.unwrap(), LOOK).await;
    for (what, code) in LEFT {
        printed(&engine.sandbox().lease(None).await.unwrap(), code).await;
        let next = engine.sandbox().lease(None).await.unwrap();
        assert_eq!(printed(&next, LOOK).await, new, "{what}");
    }
}

#[tokio::test]
async fn a_container_whose_agent_was_changed_takes_no_further_run() {
    let mut config = shared();
    // By the daemon's own profile a process may do this to another one of its user.
    config.sandbox.seccomp = SandboxSeccomp::Daemon;
    let name = config.sandbox.name.clone();
    let engine = engine(config);
    let changes = [
        "import resource; resource.prlimit(1, resource.RLIMIT_FSIZE, (10, 10))",
        "import resource; resource.prlimit(1, resource.RLIMIT_NOFILE, (600, 600))",
        "import os; os.setpriority(os.PRIO_PROCESS, 1, 19)",
        "import os; os.sched_setscheduler(1, os.SCHED_BATCH, os.sched_param(0))",
    ];
    let new = printed(&engine.sandbox().lease(None).await.unwrap(), LOOK).await;
    for change in changes {
        // The next run of the same user is told that it did not begin.
        let sandbox = engine.sandbox().lease(None).await.unwrap();
        assert_eq!(printed(&sandbox, change).await, "");
        let next = sandbox.run(RunRequest::python("open('ran', 'w')")).await;
        let Err(SandboxError::NotRun { reason }) = next else { panic!("{change}: {next:?}") };
        assert!(reason.contains("an earlier run has changed"), "{reason}");
        drop(sandbox);
        // The next user has another container.
        let before = containers(&name);
        let sandbox = engine.sandbox().lease(None).await.unwrap();
        assert_eq!(printed(&sandbox, change).await, "");
        drop(sandbox);
        let next = engine.sandbox().lease(None).await.unwrap();
        assert_eq!(printed(&next, LOOK).await, new, "{change}");
        assert!(before.iter().all(|old| !containers(&name).contains(old)), "{change}: it is still in use");
    }
}

#[tokio::test]
async fn with_a_network_names_of_interfaces_can_be_asked_for_but_odd_sockets_stay_closed() {
    let mut config = config();
    config.sandbox.network = toolyard::sandbox::SandboxNetwork::Bridge;
    let (_engine, sandbox) = super::sandbox_with(config).await;
    let families = "import socket\nfor family in (16, 40, 38, 17):\n    try:\n        socket.socket(family, socket.SOCK_RAW if family != 40 else socket.SOCK_STREAM)\n        print(family)\n    except OSError: pass";
    assert_eq!(printed(&sandbox, families).await, "16\n");
}

#[tokio::test]
async fn a_profile_of_ones_own_is_read_from_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("profile.json");
    std::fs::write(&file, r#"{"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [{"names": ["mkdir", "mkdirat"], "action": "SCMP_ACT_ERRNO"}]}"#).unwrap();
    let mut config = config();
    config.sandbox.seccomp = SandboxSeccomp::File(file);
    let (_engine, sandbox) = super::sandbox_with(config.clone()).await;
    let mkdir =
        "import os\ntry:\n    os.mkdir('x')\n    print('made')\nexcept PermissionError: print('refused')";
    assert_eq!(printed(&sandbox, mkdir).await, "refused\n");

    config.sandbox.seccomp = SandboxSeccomp::File("/no/such/profile.json".into());
    let refused = engine(config).sandbox().lease(None).await.unwrap_err();
    assert!(refused.to_string().contains("/no/such/profile.json"), "{refused}");
}
