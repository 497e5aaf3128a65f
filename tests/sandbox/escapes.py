# What code in a sandbox tries. Each attempt prints `reached` where it gets what it wants, which it must not.
import ctypes
import os
import resource
import socket

libc = ctypes.CDLL(None, use_errno=True)
ARCH = ("x86_64", "aarch64").index(os.uname().machine)
AGENT = 1


def reached(attempt):
    try:
        result = attempt()
    except (OSError, ValueError):
        return
    if result != -1:
        print("reached", result)


def system(numbers, *arguments):
    """A call of the kernel by its number: one for all machines, or one for each."""
    number = numbers if isinstance(numbers, int) else numbers[ARCH]
    # What a machine does not have cannot be called.
    return -1 if number is None else libc.syscall(ctypes.c_long(number), *(ctypes.c_long(a) for a in arguments))


def opened(path, flags=os.O_WRONLY):
    return lambda: os.open(path, flags)


def pointer(*values):
    kept.append((ctypes.c_uint64 * len(values))(*values))
    return ctypes.addressof(kept[-1])


def text(value):
    kept.append(ctypes.create_string_buffer(value))
    return ctypes.addressof(kept[-1])


kept = []
ATTEMPTS = {}

# The agent has our user: its limits, processors and priority are those of all runs that follow.
for name in sorted(n for n in dir(resource) if n.startswith("RLIMIT_")):
    number = getattr(resource, name)
    ATTEMPTS["limit of the agent: " + name] = lambda number=number: resource.prlimit(AGENT, number, (1, 1))
SCHED_IDLE = 5
ATTEMPTS.update({
    "processors of the agent": lambda: os.sched_setaffinity(AGENT, {min(os.sched_getaffinity(0))}),
    "scheduler of the agent": lambda: os.sched_setscheduler(AGENT, SCHED_IDLE, os.sched_param(0)),
    "scheduler's parameter of the agent": lambda: os.sched_setparam(AGENT, os.sched_param(0)),
    "scheduler's attributes of the agent": lambda: system(
        (314, 274), AGENT, pointer(48 | SCHED_IDLE << 32, 0, 19, 0, 0, 0), 0),
    "priority of the agent": lambda: os.setpriority(os.PRIO_PROCESS, AGENT, 19),
    "priority of the agent's group": lambda: os.setpriority(os.PRIO_PGRP, AGENT, 19),
    "priority of our user": lambda: os.setpriority(os.PRIO_USER, 0, 19),
    "disk priority of the agent": lambda: system((251, 30), 1, AGENT, 3 << 13),
    "disk priority of the agent's group": lambda: system((251, 30), 2, AGENT, 3 << 13),
    "disk priority of our user": lambda: system((251, 30), 3, os.getuid(), 3 << 13),
    "process group of the agent": lambda: os.setpgid(AGENT, os.getpgrp()),
    "trace the agent": lambda: libc.ptrace(0x4206, AGENT, 0, 0),
    "attach to the agent": lambda: libc.ptrace(16, AGENT, 0, 0),
    "read the agent's memory": lambda: system((310, 270), AGENT, pointer(text(b" " * 8), 8), 1, pointer(0x400000, 8), 1, 0),
    "write the agent's memory": lambda: system((311, 271), AGENT, pointer(text(b" " * 8), 8), 1, pointer(0x400000, 8), 1, 0),
    "take a descriptor of the agent": lambda: system(438, os.pidfd_open(AGENT), 0, 0),
    "compare with the agent": lambda: system((312, 272), os.getpid(), AGENT, 0, 0, 0),
    "move the agent's pages": lambda: system((256, 238), AGENT, 1, pointer(1), pointer(1)),
})
for name in ("mem", "environ", "maps", "fd/0", "fd/1", "stack", "auxv", "cwd/x"):
    ATTEMPTS["/proc/1/" + name] = opened("/proc/1/" + name, os.O_RDONLY)
for name in ("oom_score_adj", "autogroup", "timerslack_ns", "comm", "coredump_filter", "clear_refs", "loginuid"):
    ATTEMPTS["write /proc/1/" + name] = lambda name=name: os.write(os.open("/proc/1/" + name, os.O_WRONLY), b"1")

# Sockets: nothing can be reached, and the kernel's odd corners are closed.
for name, family, kind in (
    ("vsock", 40, socket.SOCK_STREAM), ("netlink", 16, socket.SOCK_RAW), ("packet", 17, socket.SOCK_RAW),
    ("alg", 38, socket.SOCK_SEQPACKET), ("bluetooth", 31, socket.SOCK_RAW), ("can", 29, socket.SOCK_RAW),
    ("key", 15, socket.SOCK_RAW), ("rds", 21, socket.SOCK_SEQPACKET), ("tipc", 30, socket.SOCK_SEQPACKET),
    ("nfc", 39, socket.SOCK_SEQPACKET), ("qipcrtr", 42, socket.SOCK_DGRAM), ("xdp", 44, socket.SOCK_RAW),
    ("smc", 43, socket.SOCK_STREAM), ("ax25", 3, socket.SOCK_SEQPACKET), ("x25", 9, socket.SOCK_SEQPACKET),
    ("raw", socket.AF_INET, socket.SOCK_RAW),
):
    ATTEMPTS["socket: " + name] = lambda family=family, kind=kind: socket.socket(family, kind, 3 if kind == 3 else 0)
for address in (("1.1.1.1", 53), ("169.254.169.254", 80), ("172.17.0.1", 22), ("127.0.0.1", 2375)):
    ATTEMPTS["connect to %s" % address[0]] = lambda address=address: socket.create_connection(address, 1)

# The kernel.
ATTEMPTS.update({
    "new user namespace": lambda: libc.unshare(0x10000000),
    "new network namespace": lambda: libc.unshare(0x40000000),
    "new mount namespace": lambda: libc.unshare(0x20000),
    "child in a new user namespace": lambda: system((56, 220), 0x10000000 | 17, 0, 0, 0, 0),
    "clone3": lambda: system(435, pointer(0x10000000, 0, 0, 0, 17, 0, 0, 0), 64),
    "another namespace": lambda: libc.setns(os.open("/proc/self/ns/net", os.O_RDONLY), 0),
    "mount": lambda: libc.mount(b"none", b"/tmp", b"tmpfs", 0, None),
    "unmount": lambda: libc.umount2(b"/tmp", 2),
    "fsopen": lambda: system(430, text(b"tmpfs"), 0),
    "open_tree": lambda: system(428, -100, text(b"/"), 1),
    "move_mount": lambda: system(429, -100, text(b"/tmp"), -100, text(b"/mnt"), 0),
    "pivot_root": lambda: system((155, 41), text(b"/tmp"), text(b"/tmp")),
    "chroot": lambda: os.chroot("/tmp"),
    "bpf": lambda: system((321, 280), 0, pointer(0, 0, 0, 0, 0, 0), 48),
    "perf_event_open": lambda: system((298, 241), pointer(*[0] * 16), 0, -1, -1, 0),
    "userfaultfd": lambda: system((323, 282), 1),
    "io_uring_setup": lambda: system(425, 1, pointer(*[0] * 15)),
    "add_key": lambda: system((248, 217), text(b"user"), text(b"k"), text(b"v"), 1, -4),
    "request_key": lambda: system((249, 218), text(b"user"), text(b"k"), 0, -4),
    "keyctl": lambda: system((250, 219), 0, -4, 1),
    "init_module": lambda: system((175, 105), text(b"x"), 1, text(b"")),
    "delete_module": lambda: system((176, 106), text(b"x"), 0),
    "kexec_load": lambda: system((246, 104), 0, 0, 0, 0),
    "reboot": lambda: system((169, 142), 0xFEE1DEAD, 672274793, 0x89ABCDEF, 0),
    "swapon": lambda: system((167, 224), text(b"/tmp/x"), 0),
    "acct": lambda: system((163, 89), 0),
    "set the time": lambda: system((227, 112), 0, pointer(1, 0)),
    "set the host's name": lambda: socket.sethostname("x"),
    "iopl": lambda: system((172, None), 3),
    "ioperm": lambda: system((173, None), 0x80, 1, 1),
    "the kernel's log": lambda: system((103, 116), 3, text(b" " * 64), 64),
    "addresses without chance": lambda: libc.personality(0x40000),
    "file by handle": lambda: system((304, 265), -100, pointer(0, 0), 0),
    "fanotify_init": lambda: system((300, 262), 0, 0),
    "quotactl": lambda: system((179, 60), 0x80000100, 0, 0, 0),
    "memfd_secret": lambda: system(447, 0),
    "become root": lambda: os.setuid(0),
    "become root's group": lambda: os.setgid(0),
    "device": lambda: os.mknod("/tmp/null", 0o20666, 0x103),
    "give a file away": lambda: os.chown("/workspace", 0, 0),
    "go first": lambda: os.nice(-5),
    "be spared when memory runs out": lambda: os.write(os.open("/proc/self/oom_score_adj", os.O_WRONLY), b"-1000"),
})

# Files of the host and of the kernel.
for path in ("/x", "/etc/x", "/usr/bin/x", "/root/x", "/sys/x", "/proc/sys/kernel/x"):
    ATTEMPTS["write " + path] = opened(path, os.O_WRONLY | os.O_CREAT)
for path in (
    "/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger", "/proc/sys/vm/drop_caches", "/sys/kernel/uevent_helper",
    "/sys/fs/cgroup/release_agent", "/sys/fs/cgroup/cgroup.procs", "/sys/fs/cgroup/memory/memory.limit_in_bytes",
):
    ATTEMPTS["write " + path] = opened(path)
for path in (
    "/var/run/docker.sock", "/run/docker.sock", "/proc/1/root/etc/shadow", "/proc/kmsg", "/dev/mem",
    "/dev/kmsg", "/dev/sda", "/dev/vda", "/dev/kvm", "/dev/fuse", "/dev/vsock", "/dev/tty",
):
    ATTEMPTS["open " + path] = opened(path, os.O_RDWR)
