//! What the code in a container may ask the kernel for: a seccomp profile of our own.
//!
//! It names what is allowed; all else is refused with `EPERM`. The daemon's own profile is wider: by it a process may
//! change the limits, the priority and the processors of another one of its user, also of the container's first
//! process, which serves the runs that follow, and open sockets of any family.

use serde_json::{Value, json};

use super::config::SandboxNetwork;

/// Files, folders and what is in them.
const FILES: &[&str] = &[
    "access",
    "chdir",
    "chmod",
    "chown",
    "close",
    "close_range",
    "copy_file_range",
    "creat",
    "dup",
    "dup2",
    "dup3",
    "eventfd",
    "eventfd2",
    "faccessat",
    "faccessat2",
    "fadvise64",
    "fallocate",
    "fchdir",
    "fchmod",
    "fchmodat",
    "fchmodat2",
    "fchown",
    "fchownat",
    "fcntl",
    "fdatasync",
    "fgetxattr",
    "flistxattr",
    "flock",
    "fremovexattr",
    "fsetxattr",
    "fstat",
    "fstatfs",
    "fsync",
    "ftruncate",
    "futimesat",
    "getcwd",
    "getdents",
    "getdents64",
    "getxattr",
    "inotify_add_watch",
    "inotify_init",
    "inotify_init1",
    "inotify_rm_watch",
    "ioctl",
    "lchown",
    "lgetxattr",
    "link",
    "linkat",
    "listxattr",
    "llistxattr",
    "lremovexattr",
    "lseek",
    "lsetxattr",
    "lstat",
    "mkdir",
    "mkdirat",
    "mknod",
    "mknodat",
    "newfstatat",
    "open",
    "openat",
    "openat2",
    "pipe",
    "pipe2",
    "pread64",
    "preadv",
    "preadv2",
    "pwrite64",
    "pwritev",
    "pwritev2",
    "read",
    "readahead",
    "readlink",
    "readlinkat",
    "readv",
    "removexattr",
    "rename",
    "renameat",
    "renameat2",
    "rmdir",
    "sendfile",
    "setxattr",
    "splice",
    "stat",
    "statfs",
    "statx",
    "symlink",
    "symlinkat",
    "sync",
    "sync_file_range",
    "syncfs",
    "tee",
    "truncate",
    "umask",
    "unlink",
    "unlinkat",
    "utime",
    "utimensat",
    "utimes",
    "vmsplice",
    "write",
    "writev",
];

/// Memory of the process itself.
const MEMORY: &[&str] = &[
    "brk",
    "madvise",
    "membarrier",
    "memfd_create",
    "mincore",
    "mlock",
    "mlock2",
    "mlockall",
    "mmap",
    "mprotect",
    "mremap",
    "msync",
    "munlock",
    "munlockall",
    "munmap",
    "pkey_alloc",
    "pkey_free",
    "pkey_mprotect",
    "remap_file_pages",
];

/// Processes, threads and signals.
const PROCESSES: &[&str] = &[
    "arch_prctl",
    "execve",
    "execveat",
    "exit",
    "exit_group",
    "fork",
    "futex",
    "futex_requeue",
    "futex_wait",
    "futex_waitv",
    "futex_wake",
    "get_robust_list",
    "get_thread_area",
    "getcpu",
    "getpgid",
    "getpgrp",
    "getpid",
    "getppid",
    "getpriority",
    "getrlimit",
    "getrusage",
    "getsid",
    "gettid",
    "ioprio_get",
    "kill",
    "pause",
    "pidfd_open",
    "pidfd_send_signal",
    "prctl",
    "restart_syscall",
    "rseq",
    "rt_sigaction",
    "rt_sigpending",
    "rt_sigprocmask",
    "rt_sigqueueinfo",
    "rt_sigreturn",
    "rt_sigsuspend",
    "rt_sigtimedwait",
    "rt_tgsigqueueinfo",
    "sched_get_priority_max",
    "sched_get_priority_min",
    "sched_getaffinity",
    "sched_getattr",
    "sched_getparam",
    "sched_getscheduler",
    "sched_rr_get_interval",
    "sched_yield",
    "set_robust_list",
    "set_thread_area",
    "set_tid_address",
    "setpgid",
    "setrlimit",
    "setsid",
    "sigaltstack",
    "signalfd",
    "signalfd4",
    "tgkill",
    "tkill",
    "vfork",
    "wait4",
    "waitid",
];

/// Users, groups and capabilities: the container has few to choose from.
const IDENTITY: &[&str] = &[
    "capget",
    "capset",
    "getegid",
    "geteuid",
    "getgid",
    "getgroups",
    "getresgid",
    "getresuid",
    "getuid",
    "setfsgid",
    "setfsuid",
    "setgid",
    "setgroups",
    "setregid",
    "setresgid",
    "setresuid",
    "setreuid",
    "setuid",
];

/// Time, chance, and what the system says of itself.
const SYSTEM: &[&str] = &[
    "alarm",
    "clock_getres",
    "clock_gettime",
    "clock_nanosleep",
    "getitimer",
    "getrandom",
    "gettimeofday",
    "landlock_add_rule",
    "landlock_create_ruleset",
    "landlock_restrict_self",
    "nanosleep",
    "seccomp",
    "setitimer",
    "sysinfo",
    "time",
    "timer_create",
    "timer_delete",
    "timer_getoverrun",
    "timer_gettime",
    "timer_settime",
    "timerfd_create",
    "timerfd_gettime",
    "timerfd_settime",
    "times",
    "uname",
];

/// Waiting, sockets that are open already, and objects shared by processes of the container.
const COMMUNICATION: &[&str] = &[
    "accept",
    "accept4",
    "bind",
    "connect",
    "epoll_create",
    "epoll_create1",
    "epoll_ctl",
    "epoll_ctl_old",
    "epoll_pwait",
    "epoll_pwait2",
    "epoll_wait",
    "epoll_wait_old",
    "getpeername",
    "getsockname",
    "getsockopt",
    "listen",
    "mq_getsetattr",
    "mq_notify",
    "mq_open",
    "mq_timedreceive",
    "mq_timedsend",
    "mq_unlink",
    "msgctl",
    "msgget",
    "msgrcv",
    "msgsnd",
    "poll",
    "ppoll",
    "pselect6",
    "recvfrom",
    "recvmmsg",
    "recvmsg",
    "select",
    "semctl",
    "semget",
    "semop",
    "semtimedop",
    "sendmmsg",
    "sendmsg",
    "sendto",
    "setsockopt",
    "shmat",
    "shmctl",
    "shmdt",
    "shmget",
    "shutdown",
    "socketpair",
];

/// What acts on a process that its first argument names: allowed for the caller alone, which is 0.
const ON_ONESELF: &[&str] =
    &["prlimit64", "sched_setaffinity", "sched_setattr", "sched_setparam", "sched_setscheduler"];

const AF_UNIX: u64 = 1;
const AF_INET: u64 = 2;
const AF_INET6: u64 = 10;
const AF_NETLINK: u64 = 16;

/// The bits of `clone` that make new namespaces.
const NEW_NAMESPACES: u64 = 0x7e02_0000;
/// What `ioprio_set` and `setpriority` call a single process.
const IOPRIO_WHO_PROCESS: u64 = 1;
const PRIO_PROCESS: u64 = 0;
const ENOSYS: u32 = 38;
const EPERM: u32 = 1;

/// Makes the profile, as the daemon takes it.
pub(super) fn profile(network: &SandboxNetwork) -> String {
    let names: Vec<&str> =
        [FILES, MEMORY, PROCESSES, IDENTITY, SYSTEM, COMMUNICATION].into_iter().flatten().copied().collect();
    let mut rules = vec![json!({"names": names, "action": "SCMP_ACT_ALLOW"})];
    rules.push(allow(ON_ONESELF, &[equal(0, 0)]));
    // Reading another one's limits changes nothing: there is no pointer to new ones.
    rules.push(allow(&["prlimit64"], &[equal(2, 0)]));
    rules.push(allow(&["setpriority"], &[equal(0, PRIO_PROCESS), equal(1, 0)]));
    rules.push(allow(&["ioprio_set"], &[equal(0, IOPRIO_WHO_PROCESS), equal(1, 0)]));
    let netlink = (*network != SandboxNetwork::None).then_some(AF_NETLINK);
    for family in [AF_UNIX, AF_INET, AF_INET6].into_iter().chain(netlink) {
        rules.push(allow(&["socket"], &[equal(0, family)]));
    }
    rules.push(allow(&["clone"], &[masked(0, NEW_NAMESPACES, 0)]));
    // Linux and 32-bit Linux on a 64-bit kernel: what programs ask for to be sure of either.
    for persona in [0, 8, 0xffff_ffff] {
        rules.push(allow(&["personality"], &[equal(0, persona)]));
    }
    // Its flags are in memory, where a filter cannot look; the C library takes `clone` then.
    rules.push(json!({"names": ["clone3"], "action": "SCMP_ACT_ERRNO", "errnoRet": ENOSYS}));
    let profile = json!({
        "defaultAction": "SCMP_ACT_ERRNO",
        "defaultErrnoRet": EPERM,
        "architectures": ["SCMP_ARCH_X86_64", "SCMP_ARCH_AARCH64"],
        "syscalls": rules,
    });
    profile.to_string()
}

fn allow(names: &[&str], conditions: &[Value]) -> Value {
    json!({"names": names, "action": "SCMP_ACT_ALLOW", "args": conditions})
}

fn equal(argument: u8, value: u64) -> Value {
    json!({"index": argument, "value": value, "op": "SCMP_CMP_EQ"})
}

fn masked(argument: u8, mask: u64, value: u64) -> Value {
    json!({"index": argument, "value": mask, "valueTwo": value, "op": "SCMP_CMP_MASKED_EQ"})
}
