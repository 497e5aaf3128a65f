//! `[sandbox]`: the containers that code runs in.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use toolyard_actors::sandbox::{SandboxMount, SandboxNetwork, SandboxPoolConfig, SandboxSeccomp};

use super::seconds::Seconds;

/// The `[sandbox]` part. A key that is absent has the default of
/// [`SandboxConfig`](toolyard_actors::sandbox::SandboxConfig) or [`SandboxPoolConfig`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct SandboxSection {
    /// Where the daemon listens. Default: what `DOCKER_HOST` says, else `/var/run/docker.sock`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub daemon: Option<String>,
    /// The image. Default `toolyard-sandbox:latest`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// What the names of containers begin with. Default `toolyard`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The program that starts the agent, with its arguments. Default: none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub entrypoint: Vec<String>,
    /// The interpreter inside the image. Default `python3`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub python: Option<String>,
    /// The folder that runs begin in. Default `/workspace`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub working_dir: Option<String>,
    /// Size of that folder, in bytes. Default 134,217,728.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace_bytes: Option<u64>,
    /// Size of `/tmp`, in bytes. Default 67,108,864.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tmp_bytes: Option<u64>,
    /// Size of `/dev/shm`, in bytes. Default 16,777,216.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shm_bytes: Option<u64>,
    /// Whether the image's own file system can be written to. Default false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub writable_root: Option<bool>,
    /// Folders of this machine that the container sees. Default: none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mounts: Vec<MountSection>,
    /// Memory with swap, in bytes. Default 536,870,912.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// How many processors. Default 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpus: Option<f64>,
    /// How many processes and threads. Default 64.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processes: Option<u32>,
    /// How many open files for each process. Default 1,024.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_files: Option<u32>,
    /// `none`, `bridge`, `host`, or the name of a network. Default `none`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<String>,
    /// User and group inside. Default `1000:1000`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// Capabilities that it keeps. Default: none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub capabilities: Vec<String>,
    /// Whether a program may gain rights that its caller has not. Default false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub new_privileges: Option<bool>,
    /// Which calls of the kernel its code may make: `toolyard`, `daemon` for the daemon's profile, or the path of a
    /// profile in Docker's JSON form, from the folder of the configuration file. Default `toolyard`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seccomp: Option<String>,
    /// Variables of its environment. Default: none of this process's.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// The OCI runtime, such as `runsc`. Default: the daemon's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runtime: Option<String>,
    /// Whether the daemon removes the container when it ends. Default true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auto_remove: Option<bool>,
    /// Whether a daemon that cannot hold all limits is good enough. Default false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub without_limits: Option<bool>,
    /// How long one run may take, in seconds. Default 30.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_s: Option<Seconds>,
    /// How much one run may print to each stream, in bytes. Default 1,048,576.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_bytes: Option<usize>,
    /// The largest file that is taken out, in bytes. Default 67,108,864.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file_bytes: Option<u64>,
    /// How many runs at once in one container. Default 8.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runs: Option<usize>,
    /// How long starting may take, in seconds. Default 60.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_timeout_s: Option<Seconds>,
    /// How long a container may live, in seconds. Default 3,600.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub life_s: Option<Seconds>,
    /// How many containers are kept ready. Default 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warm: Option<usize>,
    /// How many containers there may be. Default 8.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub most: Option<usize>,
    /// How long an idle agent keeps its own, in seconds. Default 300.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_s: Option<Seconds>,
    /// How many may have a container one after another. Default 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uses: Option<u32>,
    /// How long somebody waits for a container, in seconds. Default 60.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub patience_s: Option<Seconds>,
}

/// `{ source = "/data", target = "/data", writable = false }`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MountSection {
    /// The folder here.
    pub source: PathBuf,
    /// Where the container sees it.
    pub target: String,
    /// Whether code may change what is in it. Default false.
    #[serde(default)]
    pub writable: bool,
}

impl SandboxSection {
    pub(super) fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Lets relative paths begin at a folder.
    pub(super) fn start_at(&mut self, folder: &Path) {
        if let Some(seccomp) = &mut self.seccomp
            && !matches!(seccomp.as_str(), "toolyard" | "daemon")
        {
            *seccomp = folder.join(&*seccomp).to_string_lossy().into_owned();
        }
    }

    /// The settings of the pool.
    pub fn pool_config(&self) -> SandboxPoolConfig {
        let mut pool = SandboxPoolConfig::default();
        let seconds = |said: Option<Seconds>| said.map(|seconds| seconds.0);
        set(&mut pool.warm, self.warm);
        set(&mut pool.most, self.most);
        set(&mut pool.idle, seconds(self.idle_s));
        set(&mut pool.uses, self.uses);
        set(&mut pool.patience, seconds(self.patience_s));
        let config = &mut pool.sandbox;
        config.daemon.clone_from(&self.daemon);
        set(&mut config.image, self.image.clone());
        set(&mut config.name, self.name.clone());
        config.entrypoint.clone_from(&self.entrypoint);
        set(&mut config.python, self.python.clone());
        set(&mut config.working_dir, self.working_dir.clone());
        set(&mut config.workspace_bytes, self.workspace_bytes);
        set(&mut config.tmp_bytes, self.tmp_bytes);
        set(&mut config.shm_bytes, self.shm_bytes);
        set(&mut config.writable_root, self.writable_root);
        config.mounts = self.mounts.iter().map(MountSection::mount).collect();
        set(&mut config.memory_bytes, self.memory_bytes);
        set(&mut config.cpus, self.cpus);
        set(&mut config.processes, self.processes);
        set(&mut config.open_files, self.open_files);
        set(&mut config.network, self.network.as_deref().map(network));
        set(&mut config.user, self.user.clone());
        config.capabilities.clone_from(&self.capabilities);
        set(&mut config.new_privileges, self.new_privileges);
        set(&mut config.seccomp, self.seccomp.as_deref().map(seccomp));
        config.env.clone_from(&self.env);
        config.runtime.clone_from(&self.runtime);
        set(&mut config.auto_remove, self.auto_remove);
        set(&mut config.without_limits, self.without_limits);
        set(&mut config.timeout, seconds(self.timeout_s));
        set(&mut config.output_bytes, self.output_bytes);
        set(&mut config.file_bytes, self.file_bytes);
        set(&mut config.runs, self.runs);
        set(&mut config.start_timeout, seconds(self.start_timeout_s));
        set(&mut config.life, seconds(self.life_s));
        pool
    }
}

impl MountSection {
    fn mount(&self) -> SandboxMount {
        SandboxMount { source: self.source.clone(), target: self.target.clone(), writable: self.writable }
    }
}

fn network(name: &str) -> SandboxNetwork {
    match name {
        "none" => SandboxNetwork::None,
        "bridge" => SandboxNetwork::Bridge,
        "host" => SandboxNetwork::Host,
        other => SandboxNetwork::Named(other.to_owned()),
    }
}

fn seccomp(name: &str) -> SandboxSeccomp {
    match name {
        "toolyard" => SandboxSeccomp::Own,
        "daemon" => SandboxSeccomp::Daemon,
        file => SandboxSeccomp::File(file.into()),
    }
}

fn set<T>(setting: &mut T, said: Option<T>) {
    if let Some(value) = said {
        *setting = value;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::config::Config;

    #[test]
    fn what_is_said_reaches_the_pool_and_the_rest_is_safe() {
        let config = Config::parse(
            "[sandbox]\nimage = \"x\"\nnetwork = \"bridge\"\ntimeout_s = 1.5\nmost = 2\n\
             mounts = [{ source = \"/a\", target = \"/b\" }]",
        );
        let pool = config.unwrap().sandbox.pool_config();
        let sandbox = &pool.sandbox;
        assert_eq!((sandbox.image.as_str(), &sandbox.network), ("x", &SandboxNetwork::Bridge));
        assert_eq!((sandbox.timeout, pool.most), (Duration::from_millis(1_500), 2));
        let mount = SandboxMount { source: "/a".into(), target: "/b".to_owned(), writable: false };
        assert_eq!(sandbox.mounts, [mount]);
        assert!(!sandbox.writable_root && !sandbox.new_privileges && sandbox.capabilities.is_empty());
        assert_eq!(Config::default().sandbox.pool_config(), SandboxPoolConfig::default());
    }
}
