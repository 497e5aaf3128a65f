//! A process that goes on with a list is killed, at every step of its way.

use std::{env, fs, path::Path, process::Command};

use futures::executor::block_on;
use serde_json::json;
use toolyard::{
    Answers, Engine, ExecuteOptions, Outcome, Refusal, RunControl, SuspendedList, ToolSpec,
    suspend::SuspendFile,
};

use super::{ids, rules, run};
use crate::engine::tools::{blocking, call};

const STEP: &str = "TOOLYARD_TEST_KILL_AT";
const FOLDER: &str = "TOOLYARD_TEST_KILL_FOLDER";

/// Each step at which the process dies, what the call's result is then, and whether it had its effect.
const STEPS: [(&str, Outcome, bool); 6] = [
    ("before the claim is safe", Outcome::Suspended, false),
    ("after the claim is safe", Outcome::Lost, false),
    ("before the effect", Outcome::Lost, false),
    ("after the effect", Outcome::Lost, true),
    ("before the end is safe", Outcome::Lost, true),
    ("after the end is safe", Outcome::Ok, true),
];

fn die_at(step: &str) {
    if env::var(STEP).is_ok_and(|wanted| wanted == step) {
        let me = std::process::id().to_string();
        Command::new("kill").args(["-9", &me]).status().unwrap();
    }
}

fn engine(folder: &Path) -> Engine {
    let effects = folder.join("effects");
    let guarded = blocking(ToolSpec::new("guarded"), move |_| {
        die_at("before the effect");
        let before = fs::read_to_string(&effects).unwrap_or_default();
        fs::write(&effects, before + "once\n").unwrap();
        die_at("after the effect");
        Ok("did it".into())
    });
    Engine::builder().tool(guarded).permissions(rules()).build().unwrap()
}

fn go_on(folder: &Path) -> Result<SuspendedList, Refusal> {
    let (mut file, mut list) = SuspendFile::open(&folder.join("list")).unwrap();
    list.recover();
    let engine = engine(folder);
    let answers = ids(&list).into_iter().fold(Answers::new(), Answers::approve);
    let claim = engine.claim(&mut list, &answers, &ExecuteOptions::new())?;
    die_at("before the claim is safe");
    file.save(&list).unwrap();
    die_at("after the claim is safe");
    block_on(engine.run_claim(&mut list, claim, ExecuteOptions::new(), RunControl::new())).unwrap();
    die_at("before the end is safe");
    file.save(&list).unwrap();
    die_at("after the end is safe");
    Ok(list)
}

#[test]
#[ignore = "started by the test below, in a process of its own that is killed"]
fn the_process_that_goes_on() {
    go_on(Path::new(&env::var(FOLDER).expect("the test below says where"))).unwrap();
}

#[test]
fn killed_at_any_step_a_call_runs_at_most_once_and_says_so() {
    for (step, outcome, had_effect) in STEPS {
        let folder = tempfile::tempdir().unwrap();
        let (_, list) = run(&engine(folder.path()), vec![call("guarded", json!({}))]);
        let file = folder.path().join("list");
        SuspendFile::reserve(&file).unwrap().write(&list).unwrap();
        let request = ids(&list)[0].clone();

        let status = Command::new(env::current_exe().unwrap())
            .args(["--ignored", "--exact", "permission::kill::the_process_that_goes_on"])
            .env(STEP, step)
            .env(FOLDER, folder.path())
            .output()
            .unwrap()
            .status;
        assert!(!status.success(), "{step}: it was to be killed");

        let effects = || fs::read_to_string(folder.path().join("effects")).unwrap_or_default();
        assert_eq!(effects().lines().count(), usize::from(had_effect), "{step}");
        let (_, mut found) = SuspendFile::open(&file).unwrap();
        found.recover();
        assert_eq!(found.results[0].outcome, outcome, "{step}");
        let again =
            engine(folder.path()).claim(&mut found, &Answers::new().approve(request), &ExecuteOptions::new());
        assert_eq!(again.is_ok(), outcome == Outcome::Suspended, "{step}: {again:?}");

        let list = go_on(folder.path()).unwrap();
        let ended = if outcome == Outcome::Suspended { Outcome::Ok } else { outcome };
        assert_eq!(list.results[0].outcome, ended, "{step}");
        let times = usize::from(had_effect || outcome == Outcome::Suspended);
        assert_eq!(effects().lines().count(), times, "{step}: nothing runs twice");
    }
}

#[test]
fn two_processes_cannot_go_on_with_one_list_at_the_same_time() {
    let folder = tempfile::tempdir().unwrap();
    let (_, list) = run(&engine(folder.path()), vec![call("guarded", json!({}))]);
    let path = folder.path().join("list");
    SuspendFile::reserve(&path).unwrap().write(&list).unwrap();
    let (mut file, list) = SuspendFile::open(&path).unwrap();
    let busy = |when: &str| {
        let error = SuspendFile::open(&path).unwrap_err().to_string();
        assert!(error.ends_with("another process is going on with this list"), "{when}: {error}");
    };
    busy("before it is replaced");
    file.save(&list).unwrap();
    busy("after it was replaced");
    drop(file);
    SuspendFile::open(&path).unwrap();
}

#[cfg(unix)]
#[test]
fn the_file_is_its_owners_alone() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let (_, list) = run(&engine(folder.path()), vec![call("guarded", json!({}))]);
    let path = folder.path().join("list");
    SuspendFile::reserve(&path).unwrap().write(&list).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
}
