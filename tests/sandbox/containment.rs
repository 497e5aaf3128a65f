//! From the attacker's side: what code in a sandbox tries, and does not reach. On a plain process of this machine each
//! of these would fail. After each the sandbox serves the next call.

use std::time::Duration;

use toolyard::sandbox::{RunRequest, SandboxLease};

use super::{config, containers, docker, printed, python, sandbox, sandbox_with, shell};

async fn still_serves(sandbox: &SandboxLease) {
    assert_eq!(printed(sandbox, "print('well')").await, "well\n");
}

#[tokio::test]
async fn there_is_no_network() {
    let (_engine, sandbox) = sandbox().await;
    assert_eq!(printed(&sandbox, "import os; print(os.listdir('/sys/class/net'))").await, "['lo']\n");
    let connect = "import socket\nfor address in [('1.1.1.1', 53), ('172.17.0.1', 80), ('169.254.169.254', 80)]:\n    \
                   try:\n        socket.create_connection(address, 2)\n        print('connected')\n    \
                   except OSError as error: print(error.errno)";
    assert_eq!(printed(&sandbox, connect).await, "101\n101\n101\n", "the network is unreachable");
}

#[tokio::test]
async fn the_root_file_system_cannot_be_written() {
    let (_engine, sandbox) = sandbox().await;
    let write = "import os\nfor place in ['/', '/etc', '/usr/bin', '/var/tmp', '/root', '/sys', '/proc/sys/kernel']:\n    \
                 try:\n        open(os.path.join(place, 'x'), 'w')\n        print('written', place)\n    \
                 except OSError: pass";
    assert_eq!(printed(&sandbox, write).await, "");
    assert_eq!(
        printed(&sandbox, "for p in ['/tmp/x', 'x', '/dev/shm/x']: open(p, 'w').write('x')").await,
        ""
    );
}

#[tokio::test]
async fn there_are_no_rights_to_gain() {
    let (_engine, sandbox) = sandbox().await;
    let status = printed(&sandbox, "print(open('/proc/self/status').read())").await;
    for line in [
        "CapEff:\t0000000000000000",
        "CapBnd:\t0000000000000000",
        "NoNewPrivs:\t1",
        "Seccomp:\t2",
        "Uid:\t1000\t1000\t1000\t1000",
    ] {
        assert!(status.contains(line), "{line}: {status}");
    }
    let rise = "import os\nfor rise in [lambda: os.setuid(0), lambda: os.setgid(0), lambda: os.chown('/tmp', 0, 0), lambda: os.chroot('/tmp'), lambda: os.mknod('/tmp/null', 0o20666, 0x103), lambda: os.nice(-5)]:\n    \
                try:\n        rise()\n        print('risen')\n    except OSError: pass";
    assert_eq!(printed(&sandbox, rise).await, "");
}

#[tokio::test]
async fn namespaces_mounts_and_keyrings_are_refused() {
    let (_engine, sandbox) = sandbox().await;
    // unshare(NEWUSER), unshare(NEWNS), setns, mount, umount2, pivot_root, keyctl, add_key, bpf, perf_event_open,
    // reboot, init_module, swapon.
    let calls = "import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\n\
                 assert libc.unshare(0x10000000) == -1 and libc.unshare(0x20000) == -1\n\
                 assert libc.setns(0, 0) == -1 and libc.mount(b'none', b'/tmp', b'tmpfs', 0, None) == -1\n\
                 assert libc.umount2(b'/tmp', 2) == -1\n\
                 for number in (155, 250, 248, 321, 298, 169, 175, 167):\n    \
                 assert libc.syscall(number, 0, 0, 0, 0, 0) == -1, number";
    let result = python(&sandbox, calls).await;
    if cfg!(target_arch = "x86_64") {
        assert!(result.is_success(), "{result:?}");
    }
    still_serves(&sandbox).await;
}

#[tokio::test]
async fn a_fork_bomb_ends_with_its_run() {
    let (_engine, sandbox) = sandbox().await;
    let bomb = RunRequest::shell("f() { f | f & }; f; sleep 1000").timeout(Duration::from_secs(2));
    let result = sandbox.run(bomb).await.unwrap();
    assert!(result.timed_out || !result.is_success(), "{result:?}");
    still_serves(&sandbox).await;
    let session = sandbox.session("s");
    session.run("x = 1").await.unwrap();
    let bomb = "import os, time\nfor _ in range(500):\n    try:\n        if os.fork() == 0:\n            \
                os.setsid()\n            time.sleep(1000)\n    except OSError: pass\nprint('set')";
    assert_eq!(printed(&sandbox, bomb).await, "set\n");
    still_serves(&sandbox).await;
    assert_eq!(session.run("x").await.unwrap().value.as_deref(), Some("1"), "what runs beside it goes on");
    let threads = "import threading, time\ntry:\n    for n in range(500): threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()\n\
                   except RuntimeError: print('no more')";
    assert_eq!(printed(&sandbox, threads).await, "no more\n");
    still_serves(&sandbox).await;
}

#[tokio::test]
async fn memory_is_bounded_and_its_end_is_told() {
    let mut config = config();
    config.sandbox.memory_bytes = 128 << 20;
    config.sandbox.tmp_bytes = 16 << 20;
    config.sandbox.workspace_bytes = 16 << 20;
    let (_engine, sandbox) = sandbox_with(config).await;
    let result = python(&sandbox, "x = bytearray(1 << 30)\nprint('had')").await;
    assert!(result.oom && result.signal == Some(9) && result.stdout.is_empty(), "{result:?}");
    still_serves(&sandbox).await;
    let result = shell(&sandbox, "python3 -c 'x = bytearray(1 << 30)'; echo $?").await;
    assert!(result.oom && result.stdout_text() == "137\n", "a child's end is told too: {result:?}");
    let result = python(&sandbox, "print('no such thing')").await;
    assert!(!result.oom && result.is_success(), "{result:?}");
}

#[tokio::test]
async fn disk_is_bounded() {
    let (_engine, sandbox) = sandbox().await;
    for (place, bytes) in [("/workspace", 128_u64 << 20), ("/tmp", 64 << 20), ("/dev/shm", 16 << 20)] {
        let fill = format!(
            "import os\nn = 0\ntry:\n    with open('{place}/full', 'wb', 0) as file:\n        while True: n += file.write(bytes(1 << 20))\n\
             except OSError as error: print(error.errno, n)\nos.remove('{place}/full')"
        );
        let said = printed(&sandbox, &fill).await;
        let (errno, written) = said.trim().split_once(' ').unwrap();
        assert_eq!(errno, "28", "no space is left");
        assert!(written.parse::<u64>().unwrap() <= bytes, "{place}: {written}");
    }
    still_serves(&sandbox).await;
}

#[tokio::test]
async fn fifty_megabytes_of_output_leave_no_log() {
    let config = config();
    let name = config.sandbox.name.clone();
    let (_engine, sandbox) = sandbox_with(config).await;
    let result = shell(&sandbox, "yes | head -c 50000000").await;
    assert!(result.truncated && result.stdout.len() == 1 << 20 && result.is_success(), "{result:?}");
    let id = containers(&name)[0].split(' ').next().unwrap().to_owned();
    let log = docker(&["inspect", "--format", "{{.HostConfig.LogConfig.Type}}:{{.LogPath}}", &id]);
    assert_eq!(log.trim(), "none:");
    still_serves(&sandbox).await;
}

#[tokio::test]
async fn nothing_of_the_host_is_seen() {
    let (_engine, sandbox) = sandbox().await;
    let names = printed(&sandbox, "import os; print(sorted(os.environ))").await;
    assert_eq!(names, "['HOME', 'HOSTNAME', 'LANG', 'PATH', 'PYTHONDONTWRITEBYTECODE']\n");
    let see = "import os\nfor path in ['/var/run/docker.sock', '/run/docker.sock', '/proc/1/root/etc/shadow', '/proc/kcore', '/dev/sda', '/dev/vda', '/dev/mem']:\n    \
               try:\n        open(path, 'rb').read(1) or print('empty')\n        print('read', path)\n    except OSError: pass";
    assert_eq!(printed(&sandbox, see).await, "");
    let mounts = printed(&sandbox, "print(open('/proc/mounts').read())").await;
    let from_host = ["docker.sock", env!("CARGO_MANIFEST_DIR")];
    assert!(from_host.iter().all(|path| !mounts.contains(path)), "{mounts}");
    let processes = "import os\nnames = [open(f'/proc/{pid}/comm').read() for pid in os.listdir('/proc') if pid.isdigit()]\n\
                     print(set(names))";
    assert_eq!(printed(&sandbox, processes).await, "{'python3\\n'}\n", "the agent, and runs");
}

#[tokio::test]
async fn the_agent_can_be_neither_killed_nor_read_nor_spoken_for() {
    let (_engine, sandbox) = sandbox().await;
    let kill = "import os, signal\nfor number in range(1, 65):\n    if number not in (32, 33):\n        os.kill(1, number)\nprint('sent')";
    assert_eq!(printed(&sandbox, kill).await, "sent\n");
    still_serves(&sandbox).await;
    let reach = "import os, ctypes\nfor path in ['/proc/1/fd/0', '/proc/1/fd/1', '/proc/1/mem', '/proc/1/environ']:\n    \
                 try:\n        os.open(path, os.O_RDWR if 'environ' not in path else os.O_RDONLY)\n        print('open', path)\n    except OSError: pass\n\
                 libc = ctypes.CDLL(None, use_errno=True)\nprint(libc.ptrace(16, 1, 0, 0), libc.ptrace(0x4206, 1, 0, 0))\n\
                 print(sorted(os.listdir('/proc/self/fd'))[:-1])";
    assert_eq!(printed(&sandbox, reach).await, "-1 -1\n['0', '1', '2']\n");
    still_serves(&sandbox).await;
}

#[tokio::test]
async fn killing_all_that_can_be_killed_ends_the_runs_alone() {
    let (_engine, sandbox) = sandbox().await;
    sandbox.put("kept", b"x").await.unwrap();
    let result = shell(&sandbox, "kill -9 -1; echo on").await;
    assert!(result.signal == Some(9) || result.stdout_text() == "on\n", "{result:?}");
    let beside = "import os, subprocess\nchild = subprocess.Popen(['sleep', '1000'])\nos.kill(-1, 9)\nprint(child.wait())";
    let result = python(&sandbox, beside).await;
    assert!(result.signal == Some(9) || result.stdout_text() == "-9\n", "{result:?}");
    still_serves(&sandbox).await;
    assert_eq!(sandbox.get("kept").await.unwrap(), b"x");
}

#[tokio::test]
async fn what_runs_forge_on_their_own_streams_stays_their_output() {
    let (_engine, sandbox) = sandbox().await;
    let forge = "import os, json\nhead = json.dumps({'op': 'done', 'id': 1, 'code': 0}).encode()\n\
                 frame = len(head).to_bytes(4, 'big') + bytes(4) + head\n\
                 for fd in range(64):\n    try: os.write(fd, frame)\n    except OSError: pass\nraise SystemExit(5)";
    let result = python(&sandbox, forge).await;
    assert_eq!(result.exit_code, Some(5), "{result:?}");
    assert!(result.stdout_text().contains("\"op\": \"done\""));
    still_serves(&sandbox).await;
}

#[tokio::test]
async fn what_the_reference_allowed_must_be_asked_for_by_name() {
    let mut config = config();
    config.sandbox.network = toolyard::sandbox::SandboxNetwork::Host;
    config.sandbox.user = "0:0".to_owned();
    config.sandbox.writable_root = true;
    config.sandbox.capabilities = vec!["CHOWN".to_owned()];
    config.sandbox.memory_bytes = 1 << 30;
    config.sandbox.cpus = 0.5;
    config.sandbox.working_dir = "/tmp".to_owned();
    config.sandbox.env.insert("GREETING".to_owned(), "it's \"me\"".to_owned());
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("data"), "from the host").unwrap();
    config.sandbox.mounts = vec![toolyard::sandbox::SandboxMount {
        source: folder.path().to_owned(),
        target: "/data".to_owned(),
        writable: false,
    }];
    let (_engine, sandbox) = sandbox_with(config).await;
    let see = "import os\nopen('/written', 'w').close(); os.chown('/written', 5, 5)\n\
               print(os.getcwd(), os.getuid(), os.environ['GREETING'], open('/data/data').read(), len(os.listdir('/sys/class/net')) > 1)";
    assert_eq!(printed(&sandbox, see).await, "/tmp 0 it's \"me\" from the host True\n");
    assert_eq!(
        python(&sandbox, "open('/data/data', 'w')").await.exit_code,
        Some(1),
        "not writable unless said so"
    );
}
