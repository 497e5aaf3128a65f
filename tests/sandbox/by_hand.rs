//! A sandbox without a pool, and one without the agent.

use std::{sync::Arc, time::Duration};

use tokio::sync::Notify;
use toolyard::sandbox::{RunRequest, Sandbox, SandboxConfig, SandboxError};

use super::{config, containers};

/// Runs on an actix system, as a host does.
fn on_a_system<T>(work: impl Future<Output = T>) -> T {
    actix::System::new().block_on(work)
}

/// An image without Python: so it seems where its interpreter has another name.
fn without_python() -> SandboxConfig {
    let mut config = config().sandbox;
    config.python = "no-such-python".to_owned();
    config
}

#[test]
fn a_sandbox_is_started_and_stopped_by_hand() {
    on_a_system(async {
        let config = config().sandbox;
        let name = config.name.clone();
        let sandbox = Sandbox::start(config).await.unwrap();
        assert_eq!(sandbox.run(RunRequest::python("print(1)")).await.unwrap().stdout_text(), "1\n");
        sandbox.ping().await.unwrap();
        sandbox.stop().await.unwrap();
        assert!(!sandbox.is_up() && containers(&name).is_empty());
        let dropped = Sandbox::start(super::config().sandbox).await.unwrap();
        let name = dropped.config().name.clone();
        drop(dropped);
        super::eventually("it ends when nobody has it", || containers(&name).is_empty()).await;
    });
}

#[test]
fn a_container_that_is_to_stay_is_only_stopped() {
    on_a_system(async {
        let mut config = config().sandbox;
        config.auto_remove = false;
        let name = config.name.clone();
        let sandbox = Sandbox::start(config).await.unwrap();
        sandbox.stop().await.unwrap();
        super::eventually("it is stopped", || containers(&name).iter().all(|one| one.ends_with("exited")))
            .await;
        let left = containers(&name);
        assert_eq!(left.len(), 1, "{left:?}");
        super::docker(&["rm", left[0].split(' ').next().unwrap()]);
    });
}

#[test]
fn an_image_without_python_runs_shell_commands_by_exec() {
    on_a_system(async {
        let sandbox = Sandbox::start(without_python()).await.unwrap();
        let shell = async |commands: &str| sandbox.run(RunRequest::shell(commands)).await.unwrap();
        let result = shell("echo 'it'\"'\"'s' \"q\" \\\\; echo err >&2; cat; exit 7").await;
        assert_eq!((result.exit_code, result.signal), (Some(7), None), "{result:?}");
        assert_eq!(
            (result.stdout_text(), result.stderr_text()),
            ("it's q \\\n".to_owned(), "err\n".to_owned())
        );
        let long = format!("# {}\necho done", "x".repeat(1 << 20));
        assert_eq!(shell(&long).await.stdout_text(), "done\n");
        let flood = RunRequest::shell("head -c 5000000 /dev/zero").output_bytes(1000);
        let flood = sandbox.run(flood).await.unwrap();
        assert!(flood.truncated && flood.stdout.len() == 1000 && flood.is_success());
        assert_eq!(
            sandbox.run(RunRequest::python("1")).await.unwrap_err(),
            SandboxError::NoPython { image: sandbox.config().image.clone() }
        );
        assert!(sandbox.put("a", b"x").await.is_err());
        sandbox.stop().await.unwrap();
    });
}

#[test]
fn a_run_by_exec_is_really_stopped() {
    on_a_system(async {
        let sandbox = Sandbox::start(without_python()).await.unwrap();
        let endless =
            RunRequest::shell("echo begun; sleep 1000 & while :; do :; done").timeout(Duration::from_secs(1));
        let late = sandbox.run(endless).await.unwrap();
        assert!(late.timed_out && late.signal == Some(9) && late.stdout_text() == "begun\n", "{late:?}");
        let begun = Arc::new(Notify::new());
        let tell = begun.clone();
        let endless = RunRequest::shell("echo begun; sleep 1000").on_output(move |_, _| tell.notify_one());
        tokio::select! {
            ended = sandbox.run(endless) => panic!("{ended:?}"),
            () = begun.notified() => {}
        }
        let gone = "while ps -eo args | grep -q '^sleep 1000'; do sleep 0.05; done; echo gone";
        let gone = sandbox.run(RunRequest::shell(gone).timeout(Duration::from_secs(20))).await.unwrap();
        assert_eq!(gone.stdout_text(), "gone\n", "{gone:?}");
        sandbox.stop().await.unwrap();
    });
}
