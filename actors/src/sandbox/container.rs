//! One container, from its making to its end.

use std::{collections::HashMap, fmt::Write as _, time::Duration};

use bollard::models::{
    ContainerCreateBody, HostConfig, HostConfigLogConfig, Mount, MountType, ResourcesUlimits,
};

use super::{
    config::SandboxConfig,
    docker::{Daemon, Input, Output},
    error::SandboxError,
    owner::Owner,
    security::Security,
};

/// The agent's source, in the order of its parts.
const AGENT: &str = concat!(
    include_str!("agent/wire.py"),
    include_str!("agent/processes.py"),
    include_str!("agent/condition.py"),
    include_str!("agent/files.py"),
    include_str!("agent/child.py"),
    include_str!("agent/session.py"),
    include_str!("agent/runs.py"),
    include_str!("agent/loop.py"),
);

/// Runs the agent, under a name that no frame of other code has.
const BEGIN: &str = "import sys; exec(compile(sys.argv[1], '<agent>', 'exec'))";

/// Ends when its input ends, as the agent does.
const WITHOUT_AGENT: &str = "cat >/dev/null";

/// A folder in memory takes one file for so many of its bytes, as a small page, and this many in any case: empty files
/// take memory of the kernel, too.
const BYTES_FOR_A_FILE: u64 = 4096;
const FEWEST_FILES: u64 = 1024;

/// What serves a container's runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Service {
    /// The agent, as first process.
    Agent,
    /// `exec`, for images without Python.
    Exec,
    /// Nothing: this program is all that the container is for.
    #[cfg(feature = "python")]
    Program(Vec<String>),
}

/// A container that has been started, and its streams.
pub(super) struct Container {
    pub(super) id: String,
    pub(super) service: Service,
    pub(super) output: Output,
    pub(super) input: Input,
}

impl Container {
    /// Makes and starts a container. Its streams are held before it starts: when this process dies, they close, the
    /// first process of the container ends, and the daemon removes it.
    ///
    /// # Errors
    /// When the daemon refuses; then nothing is left.
    pub(super) async fn start(
        daemon: &Daemon,
        config: &SandboxConfig,
        owner: &Owner,
    ) -> Result<Self, SandboxError> {
        match Self::start_with(daemon, config, owner, Service::Agent).await {
            Err(SandboxError::Refused { reason }) if is_no_program(&reason, &config.python) => {
                Self::start_with(daemon, config, owner, Service::Exec).await
            }
            other => other,
        }
    }

    /// As [`start`](Self::start), with this service and no other.
    pub(super) async fn start_with(
        daemon: &Daemon,
        config: &SandboxConfig,
        owner: &Owner,
        service: Service,
    ) -> Result<Self, SandboxError> {
        let mut made = Made { daemon: daemon.clone(), name: Some(owner.container_name(&config.name)) };
        let name = made.name.clone().unwrap_or_default();
        let started = async {
            let security = Security::of(config, daemon)?;
            let body = body(config, owner, &service, &security);
            let (id, warnings) = daemon.create(&name, &config.image, body).await?;
            if !config.without_limits
                && let Some(reason) = warnings.into_iter().find(|warning| is_about_limits(warning))
            {
                return Err(SandboxError::LimitsUnsupported { reason });
            }
            let (output, input) = daemon.attach(&id).await?;
            daemon.start(&id).await?;
            Ok(Self { id, service, output, input })
        };
        let started = started.await;
        made.name = None;
        if started.is_err()
            && let Err(error) = daemon.remove(&name).await
        {
            tracing::warn!(container = name, %error, "a container that did not start is left");
        }
        started
    }
}

/// A container that nobody may be left to remove: when its start is given up, this does it.
struct Made {
    daemon: Daemon,
    name: Option<String>,
}

/// When it is tried to remove a container whose start was given up: the daemon may only be making it.
const REMOVALS: [Duration; 3] = [Duration::ZERO, Duration::from_secs(2), Duration::from_secs(10)];

impl Drop for Made {
    fn drop(&mut self) {
        if let (Some(name), Ok(runtime)) = (self.name.take(), tokio::runtime::Handle::try_current()) {
            let daemon = self.daemon.clone();
            runtime.spawn(async move {
                for pause in REMOVALS {
                    tokio::time::sleep(pause).await;
                    // The reaper takes what stays.
                    let _ = daemon.remove(&name).await;
                }
            });
        }
    }
}

/// Whether a start failed because the image has no such program.
fn is_no_program(reason: &str, program: &str) -> bool {
    let not_found = ["executable file not found", "no such file or directory"];
    reason.contains(program) && not_found.iter().any(|text| reason.contains(text))
}

fn is_about_limits(warning: &str) -> bool {
    let warning = warning.to_lowercase();
    let no_limit = ["not support", "discarded", "without swap", "not mounted", "unable"];
    no_limit.iter().any(|text| warning.contains(text))
}

fn body(
    config: &SandboxConfig,
    owner: &Owner,
    service: &Service,
    security: &Security,
) -> ContainerCreateBody {
    let life = Some(config.life);
    let (command, life) = match service {
        Service::Agent => (vec![&*config.python, "-I", "-S", "-B", "-c", BEGIN, AGENT], life),
        Service::Exec => (vec!["/bin/sh", "-c", WITHOUT_AGENT], life),
        // It lives as long as whoever uses it.
        #[cfg(feature = "python")]
        Service::Program(command) => (command.iter().map(String::as_str).collect(), None),
    };
    // A program knows nothing of the duties of a first process.
    let host_config = HostConfig { init: Some(life.is_none()), ..host_config(config, security) };
    ContainerCreateBody {
        image: Some(config.image.clone()),
        entrypoint: Some(config.entrypoint.clone()),
        cmd: Some(command.into_iter().map(str::to_owned).collect()),
        user: Some(config.user.clone()),
        working_dir: Some(config.working_dir.clone()),
        env: Some(environment(config)),
        labels: Some(owner.labels(life)),
        tty: Some(false),
        open_stdin: Some(true),
        stdin_once: Some(true),
        attach_stdin: Some(true),
        attach_stdout: Some(true),
        attach_stderr: Some(true),
        host_config: Some(host_config),
        ..ContainerCreateBody::default()
    }
}

fn environment(config: &SandboxConfig) -> Vec<String> {
    let own = [
        ("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"),
        ("HOME", &config.working_dir),
        ("LANG", "C.UTF-8"),
        ("PYTHONDONTWRITEBYTECODE", "1"),
    ];
    let mut variables: std::collections::BTreeMap<_, _> = own.into_iter().collect();
    variables.extend(config.env.iter().map(|(name, value)| (name.as_str(), value.as_str())));
    variables.into_iter().map(|(name, value)| format!("{name}={value}")).collect()
}

fn host_config(config: &SandboxConfig, security: &Security) -> HostConfig {
    let memory = i64::try_from(config.memory_bytes).unwrap_or(i64::MAX);
    let most = |name: &str, limit: u32| ResourcesUlimits {
        name: Some(name.to_owned()),
        soft: Some(limit.into()),
        hard: Some(limit.into()),
    };
    let folder = |bytes: u64| {
        let files = (bytes / BYTES_FOR_A_FILE).max(FEWEST_FILES);
        let files = if security.bounds_files { format!(",nr_inodes={files}") } else { String::new() };
        format!("rw,exec,nosuid,nodev,mode=1777,size={bytes}{files}")
    };
    let folders = [
        (config.working_dir.clone(), folder(config.workspace_bytes)),
        ("/tmp".to_owned(), folder(config.tmp_bytes)),
    ];
    HostConfig {
        network_mode: Some(config.network.mode().to_owned()),
        readonly_rootfs: Some(!config.writable_root),
        tmpfs: Some(HashMap::from(folders)),
        shm_size: Some(i64::try_from(config.shm_bytes).unwrap_or(i64::MAX)),
        mounts: Some(mounts(config)),
        memory: Some(memory),
        memory_swap: Some(memory),
        pids_limit: Some(config.processes.into()),
        cpu_period: Some(100_000),
        #[allow(clippy::cast_possible_truncation)] // so many processors are nowhere
        cpu_quota: Some((config.cpus * 100_000.0) as i64),
        ulimits: Some(vec![most("nofile", config.open_files), most("core", 0)]),
        cap_drop: Some(vec!["ALL".to_owned()]),
        cap_add: Some(config.capabilities.clone()),
        security_opt: Some(security.options.clone()),
        runtime: config.runtime.clone(),
        auto_remove: Some(config.auto_remove),
        // What the first process prints is our business, and the daemon's disk has no limit.
        log_config: Some(HostConfigLogConfig { typ: Some("none".to_owned()), config: None }),
        ..HostConfig::default()
    }
}

fn mounts(config: &SandboxConfig) -> Vec<Mount> {
    let mount = |mount: &super::config::SandboxMount| Mount {
        typ: Some(MountType::BIND),
        source: Some(mount.source.to_string_lossy().into_owned()),
        target: Some(mount.target.clone()),
        read_only: Some(!mount.writable),
        ..Mount::default()
    };
    config.mounts.iter().map(mount).collect()
}

/// A short text that no two calls give.
pub(super) fn unique() -> String {
    let mut text = String::with_capacity(16);
    for _ in 0..2 {
        // Writing to a text cannot fail.
        let _ = write!(text, "{:08x}", fastrand::u32(..));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_about_limits_are_told_from_others() {
        for warning in [
            "Your kernel does not support swap limit capabilities or the cgroup is not mounted. Memory limited without swap.",
            "Your kernel does not support pids limit capabilities or the cgroup is not mounted. PIDs limit discarded.",
            "Your kernel does not support CPU CFS scheduler. CPU quota discarded.",
        ] {
            assert!(is_about_limits(warning), "{warning}");
        }
        assert!(!is_about_limits("The requested image's platform (linux/arm64) does not match"));
    }

    #[test]
    fn only_a_missing_interpreter_leads_to_exec() {
        let missing =
            |program: &str| format!("exec: {program:?}: executable file not found in $PATH: unknown");
        assert!(is_no_program(&missing("python3"), "python3"));
        assert!(!is_no_program(&missing("/my/entrypoint"), "python3"));
        assert!(!is_no_program("python3: permission denied", "python3"));
    }
}
