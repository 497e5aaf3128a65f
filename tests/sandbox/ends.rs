//! Whatever goes wrong, nothing stays.

use std::{
    fs::File,
    sync::Arc,
    time::{Duration, Instant},
};

use tokio::sync::Notify;
use toolyard::sandbox::{RunRequest, SandboxError};

use super::{config, containers, docker, engine, eventually, printed, sandbox_with};

#[tokio::test]
async fn stopping_is_quick_may_be_repeated_and_leaves_nothing() {
    let config = config();
    let name = config.sandbox.name.clone();
    let (_engine, sandbox) = sandbox_with(config).await;
    let begun = Arc::new(Notify::new());
    let tell = begun.clone();
    let endless =
        RunRequest::python("print('begun')\nwhile True: pass").on_output(move |_, _| tell.notify_one());
    let stop = async {
        begun.notified().await;
        let asked = Instant::now();
        sandbox.stop().await.unwrap();
        asked.elapsed()
    };
    let (run, took) = tokio::join!(sandbox.run(endless), stop);
    assert_eq!(run.unwrap_err(), SandboxError::NotStarted);
    assert!(took < Duration::from_secs(8), "a daemon's own way takes 10 s: {took:?}");
    assert_eq!(containers(&name), Vec::<String>::new());
    sandbox.stop().await.unwrap();
    assert_eq!(sandbox.run(RunRequest::python("1")).await.unwrap_err(), SandboxError::NotStarted);
}

#[tokio::test]
async fn an_engine_that_shuts_down_or_is_dropped_takes_its_sandboxes_along() {
    for shut_down in [true, false] {
        let mut config = config();
        config.warm = 1;
        let name = config.sandbox.name.clone();
        let engine = engine(config);
        let lease = engine.sandbox().lease(Some("agent")).await.unwrap();
        // A start that is still under way ends too.
        let pool = engine.sandbox().clone();
        let starting = tokio::spawn(async move { pool.lease(Some("other")).await.map(|_| ()) });
        if shut_down {
            engine.shutdown(Duration::ZERO).await;
            assert_eq!(containers(&name), Vec::<String>::new());
        } else {
            drop(engine);
            eventually("nothing is left", || containers(&name).is_empty()).await;
        }
        // Whether it was up before the end is a matter of luck.
        let _ = starting.await.unwrap();
        drop(lease);
    }
}

#[tokio::test]
async fn a_run_that_nobody_waits_for_any_more_is_stopped() {
    let (_engine, sandbox) = sandbox_with(config()).await;
    let begun = Arc::new(Notify::new());
    let tell = begun.clone();
    let endless = "import os, time\nopen('pid', 'w').write(str(os.getpid()))\nprint('begun')\nwhile True: time.sleep(1)";
    let endless = RunRequest::python(endless).on_output(move |_, _| tell.notify_one());
    tokio::select! {
        ended = sandbox.run(endless) => panic!("{ended:?}"),
        () = begun.notified() => {}
    }
    let gone = "import os, time\npid = open('pid').read()\nwhile os.path.exists('/proc/' + pid): time.sleep(0.01)\nprint('gone')";
    assert_eq!(printed(&sandbox, gone).await, "gone\n");
}

#[tokio::test]
async fn an_agent_that_does_not_answer_costs_its_container_alone() {
    let config = config();
    let name = config.sandbox.name.clone();
    let engine = engine(config);
    let lease = engine.sandbox().lease(Some("a")).await.unwrap();
    let id = containers(&name)[0].split(' ').next().unwrap().to_owned();
    docker(&["pause", &id]);
    let stuck = lease.run(RunRequest::python("1").timeout(Duration::from_millis(100))).await;
    assert!(
        matches!(&stuck, Err(SandboxError::Died { reason }) if reason.contains("did not answer")),
        "{stuck:?}"
    );
    drop(lease);
    let next = engine.sandbox().lease(Some("a")).await.unwrap();
    assert_eq!(printed(&next, "print('anew')").await, "anew\n");
    eventually("the stuck one is gone", || containers(&name).iter().all(|other| !other.starts_with(&id)))
        .await;
}

#[tokio::test]
async fn a_container_that_is_killed_from_outside_loses_what_was_under_way_and_is_replaced() {
    let config = config();
    let name = config.sandbox.name.clone();
    let engine = engine(config);
    let lease = engine.sandbox().lease(Some("a")).await.unwrap();
    let id = containers(&name)[0].split(' ').next().unwrap().to_owned();
    let begun = Arc::new(Notify::new());
    let tell = begun.clone();
    let endless =
        RunRequest::python("print('begun')\nwhile True: pass").on_output(move |_, _| tell.notify_one());
    let kill = async {
        begun.notified().await;
        docker(&["kill", &id]);
    };
    let (run, ()) = tokio::join!(lease.run(endless), kill);
    assert!(matches!(run, Err(SandboxError::Died { .. })), "{run:?}");
    let next = engine.sandbox().lease(Some("a")).await.unwrap();
    assert_eq!(printed(&next, "import os; print(os.listdir())").await, "[]\n");
}

#[tokio::test]
async fn a_container_ends_by_itself_when_its_life_is_over() {
    let mut config = config();
    let name = config.sandbox.name.clone();
    config.sandbox.life = Duration::from_secs(2);
    let (_engine, sandbox) = sandbox_with(config).await;
    let run = sandbox.run(RunRequest::python("while True: pass")).await;
    assert!(matches!(run, Err(SandboxError::Died { .. })), "{run:?}");
    eventually("it is gone", || containers(&name).is_empty()).await;
}

/// A container that was made and never started, of an owner with this id.
fn left_behind(name: &str, owner: &str, until: u64) {
    let labels = [format!("toolyard.owner={owner}"), format!("toolyard.until={until}")];
    let name = format!("{name}-{owner}");
    let create = ["create", "--name", &name, "--label", &labels[0], "--label", &labels[1]];
    docker(&[&create[..], &["toolyard-sandbox:latest", "true"]].concat());
}

#[tokio::test]
async fn the_next_engine_removes_what_an_owner_that_is_gone_has_left_and_nothing_of_others() {
    let folder =
        std::env::temp_dir().join(format!("toolyard-sandbox-{}", rustix::process::getuid().as_raw()));
    std::fs::create_dir_all(&folder).unwrap();
    let id = |number: u32| format!("{:08x}{number:08x}", std::process::id());
    let (gone, alive, elsewhere, late) = (id(1), id(2), id(3), id(4));
    let file = |owner: &str| folder.join(format!("{owner}.lock"));
    File::create(file(&gone)).unwrap();
    let held = File::create(file(&alive)).unwrap();
    held.lock().unwrap();
    let config = config();
    let name = config.sandbox.name.clone();
    let soon = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs() + 3600;
    left_behind(&name, &gone, soon);
    left_behind(&name, &alive, soon);
    // Of an owner without a file here, only what has outlived its time.
    left_behind(&name, &elsewhere, soon);
    left_behind(&name, &late, 1000);
    let mut other = super::config();
    other.warm = 1;
    let (_engine, _lease) = sandbox_with(other).await;
    eventually("two are gone", || containers(&name).len() == 2).await;
    let left = docker(&["ps", "--all", "--filter", &format!("name={name}-"), "--format", "{{.Names}}"]);
    assert!(left.contains(&alive) && left.contains(&elsewhere), "{left}");
    assert!(!file(&gone).exists());
    for owner in [&alive, &elsewhere] {
        docker(&["rm", "--force", &format!("{name}-{owner}")]);
    }
    std::fs::remove_file(file(&alive)).unwrap();
}

#[tokio::test]
async fn two_engines_on_one_daemon_leave_each_other_alone() {
    let (first, second) = (config(), config());
    let (_first_engine, first) = sandbox_with(first).await;
    let (second_engine, second) = sandbox_with(second).await;
    assert_eq!(printed(&first, "print(1)").await, "1\n");
    assert_eq!(printed(&second, "print(2)").await, "2\n");
    second_engine.shutdown(Duration::ZERO).await;
    let (_third_engine, third) = sandbox_with(config()).await;
    assert_eq!(printed(&first, "print(1)").await, "1\n");
    assert_eq!(printed(&third, "print(3)").await, "3\n");
}
