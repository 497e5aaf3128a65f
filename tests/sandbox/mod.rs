//! Containers to run code in, on a real daemon. The image is made by `toolyard sandbox build`.

#[cfg(all(feature = "mcp", feature = "python"))]
mod attached;
mod by_hand;
mod cli;
mod code;
mod containment;
mod ends;
mod engine_killed;
mod errors;
mod escapes;
mod files;
mod output;
mod pool;
#[cfg(feature = "python")]
mod python_files;
mod runner;
mod sessions;
mod tools;

use std::{
    process::Command,
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use tokio::time::{sleep, timeout};
use toolyard::{
    Engine,
    sandbox::{ExecResult, RunRequest, SandboxLease, SandboxPoolConfig},
};

/// Settings with a name of their own, so that tests do not see each other's containers.
fn config() -> SandboxPoolConfig {
    static TESTS: AtomicU32 = AtomicU32::new(0);
    let mut config = SandboxPoolConfig::default();
    config.sandbox.name = format!("test-{}-{}", std::process::id(), TESTS.fetch_add(1, Ordering::Relaxed));
    // Other tests keep the machine busy.
    config.sandbox.start_timeout = Duration::from_mins(2);
    config.patience = Duration::from_mins(2);
    config
}

fn engine(config: SandboxPoolConfig) -> Engine {
    Engine::builder().sandbox(config).build().expect("an engine")
}

/// An engine and one of its sandboxes.
async fn sandbox() -> (Engine, SandboxLease) {
    sandbox_with(config()).await
}

async fn sandbox_with(config: SandboxPoolConfig) -> (Engine, SandboxLease) {
    let engine = engine(config);
    let lease = engine.sandbox().lease(None).await.expect("a sandbox");
    (engine, lease)
}

async fn python(sandbox: &SandboxLease, code: &str) -> ExecResult {
    sandbox.run(RunRequest::python(code)).await.expect("a run")
}

async fn shell(sandbox: &SandboxLease, commands: &str) -> ExecResult {
    sandbox.run(RunRequest::shell(commands)).await.expect("a run")
}

/// What code prints that must work.
async fn printed(sandbox: &SandboxLease, code: &str) -> String {
    let result = python(sandbox, code).await;
    assert!(result.is_success(), "{code}: {result:?}");
    result.stdout_text()
}

/// The containers whose names begin so, with their states.
fn containers(name: &str) -> Vec<String> {
    let listed =
        docker(&["ps", "--all", "--filter", &format!("name=^/?{name}-"), "--format", "{{.ID}} {{.State}}"]);
    listed.lines().map(str::to_owned).collect()
}

fn docker(arguments: &[&str]) -> String {
    let output = Command::new("docker").args(arguments).output().expect("the program docker");
    assert!(output.status.success(), "docker {arguments:?}: {output:?}");
    String::from_utf8(output.stdout).expect("text")
}

/// Waits for something that a process elsewhere brings about.
async fn eventually(what: &str, is_so: impl Fn() -> bool) {
    let watching = async {
        while !is_so() {
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(Duration::from_mins(1), watching).await.unwrap_or_else(|_| panic!("within a minute: {what}"));
}
