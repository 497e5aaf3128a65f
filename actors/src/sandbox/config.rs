//! What a container is given, and what it may take.

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

/// The network of a container.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum SandboxNetwork {
    /// Only the loopback interface: nothing can be reached.
    #[default]
    None,
    /// The daemon's bridge: the code can reach whatever this machine can.
    Bridge,
    /// The machine's own interfaces, with all that listens on them.
    Host,
    /// A network that was made for the purpose.
    Named(String),
}

impl SandboxNetwork {
    pub(super) fn mode(&self) -> &str {
        match self {
            Self::None => "none",
            Self::Bridge => "bridge",
            Self::Host => "host",
            Self::Named(name) => name,
        }
    }
}

/// Which calls of the kernel the code in a container may make.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum SandboxSeccomp {
    /// Those that programs need which compute, write files, start processes and use the network that there is; on
    /// itself alone a process may set limits, priority and processors, and sockets are of the families `AF_UNIX`,
    /// `AF_INET` and `AF_INET6`, with a network also `AF_NETLINK`. Debuggers and 32-bit programs do not work.
    #[default]
    Own,
    /// Those of the daemon's profile. Code can then lower the limits of the container's first process; such a container
    /// takes no further run.
    Daemon,
    /// Those of the profile in this file, in Docker's JSON form. It is read for each container.
    File(PathBuf),
}

/// A folder of this machine that a container sees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SandboxMount {
    /// The folder here.
    pub source: PathBuf,
    /// Where the container sees it.
    pub target: String,
    /// Whether the code may change what is in it.
    pub writable: bool,
}

/// What a container is given, and what it may take. Every field has a default; the defaults let code compute, and
/// write into its own folders, and nothing else.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
#[allow(clippy::struct_excessive_bools)] // switches, as people set them
pub struct SandboxConfig {
    /// Where the daemon listens: `unix:///…` or `tcp://…`. Default: what `DOCKER_HOST` says, else
    /// `/var/run/docker.sock`. Podman's compatible socket works too.
    pub daemon: Option<String>,
    /// The image. Default `toolyard-sandbox:latest`, which `toolyard sandbox build` makes.
    pub image: String,
    /// What the names of containers begin with; a unique ending follows. Default `toolyard`.
    pub name: String,
    /// The program that starts the agent, with its arguments, as Docker's `Entrypoint`. Default: none.
    pub entrypoint: Vec<String>,
    /// The interpreter inside the image. Default `python3`. An image that has none runs shell commands only, each
    /// through `exec`.
    pub python: String,
    /// The folder that runs begin in, in memory of its own. Default `/workspace`.
    pub working_dir: String,
    /// Size of that folder, in bytes; it takes a file for each 4 KiB of it, but 1,024 in any case. Default 128 MiB: a
    /// quarter of the memory, which it counts into.
    pub workspace_bytes: u64,
    /// Size of `/tmp`, in bytes, with as many files. Default 64 MiB.
    pub tmp_bytes: u64,
    /// Size of `/dev/shm`, in bytes. Default 16 MiB: enough for semaphores.
    pub shm_bytes: u64,
    /// Whether the image's own file system can be written to. Default false: nothing bounds its size.
    pub writable_root: bool,
    /// Folders of this machine that the container sees. Default: none.
    pub mounts: Vec<SandboxMount>,
    /// Memory of the container, with swap, in bytes. Default 512 MiB.
    pub memory_bytes: u64,
    /// How many processors it may use. Default 1.
    pub cpus: f64,
    /// How many processes and threads it may have. Default 64.
    pub processes: u32,
    /// How many files a process may have open. Default 1,024.
    pub open_files: u32,
    /// What it can reach. Default: nothing.
    pub network: SandboxNetwork,
    /// User and group inside. Default `1000:1000`.
    pub user: String,
    /// Capabilities that it keeps. Default: none.
    pub capabilities: Vec<String>,
    /// Whether a program may gain rights that its caller has not, as `sudo` does. Default false.
    pub new_privileges: bool,
    /// Which calls of the kernel its code may make. Default: a profile of our own, narrower than the daemon's. Who adds
    /// [`capabilities`](Self::capabilities) may need another.
    pub seccomp: SandboxSeccomp,
    /// Variables of its environment, beside `PATH`, `HOME` and `LANG`. Nothing of this process's is inherited.
    pub env: BTreeMap<String, String>,
    /// The OCI runtime, such as `runsc`. Default: the daemon's.
    pub runtime: Option<String>,
    /// Whether the daemon removes the container when it ends. Default true; else it stays, stopped.
    pub auto_remove: bool,
    /// Whether a daemon that cannot hold all limits is good enough. Default false.
    pub without_limits: bool,
    /// How long one run may take. Default 30 s.
    pub timeout: Duration,
    /// How much one run may print to each of its two streams, in bytes; the rest is thrown away. Default 1 MiB.
    pub output_bytes: usize,
    /// The largest file that is taken out, in bytes. Default 64 MiB.
    pub file_bytes: u64,
    /// How many runs there may be at once in one container; more wait. Default 8.
    pub runs: usize,
    /// How long starting may take. Default 60 s: a busy machine takes several.
    pub start_timeout: Duration,
    /// How long a container may live. Default 1 h. It ends by itself, whatever became of this process.
    pub life: Duration,
}

impl Default for SandboxConfig {
    fn default() -> Self {
        Self {
            daemon: None,
            image: "toolyard-sandbox:latest".to_owned(),
            name: "toolyard".to_owned(),
            entrypoint: Vec::new(),
            python: "python3".to_owned(),
            working_dir: "/workspace".to_owned(),
            workspace_bytes: 128 << 20,
            tmp_bytes: 64 << 20,
            shm_bytes: 16 << 20,
            writable_root: false,
            mounts: Vec::new(),
            memory_bytes: 512 << 20,
            cpus: 1.0,
            processes: 64,
            open_files: 1024,
            network: SandboxNetwork::None,
            user: "1000:1000".to_owned(),
            capabilities: Vec::new(),
            new_privileges: false,
            seccomp: SandboxSeccomp::Own,
            env: BTreeMap::new(),
            runtime: None,
            auto_remove: true,
            without_limits: false,
            timeout: Duration::from_secs(30),
            output_bytes: 1 << 20,
            file_bytes: 64 << 20,
            runs: 8,
            start_timeout: Duration::from_mins(1),
            life: Duration::from_hours(1),
        }
    }
}
