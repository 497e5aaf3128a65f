//! Simulations: always the same way, whatever the machine does.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use serde_json::{Value, json};
use toolyard::{
    FunctionTool, Json, ToolSpec,
    sim::{Difference, Scenario, SimOutcome, Simulation},
};

/// A scenario that comes along, with fewer agents.
fn scenario(name: &str, agents: u32) -> Scenario {
    let file =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/scenarios").join(name).with_extension("toml");
    let mut scenario = Scenario::load(&file).unwrap();
    scenario.agents = agents;
    scenario
}

const ALL: [(&str, u32); 3] = [("market", 1_000), ("idle", 3_000), ("flaky", 60)];

/// Runs a simulation and gives its log too.
fn logged(simulation: Simulation) -> (SimOutcome, String) {
    let file = tempfile::NamedTempFile::new().unwrap();
    let outcome = simulation.log(file.path()).run().unwrap();
    (outcome, fs::read_to_string(file.path()).unwrap())
}

/// The first line that differs, which is easier to read than two logs.
fn assert_same(one: &str, other: &str, what: &str) {
    let differing = one.lines().zip(other.lines()).enumerate().find(|(_, (one, other))| one != other);
    assert!(differing.is_none(), "{what}: {differing:?}");
    assert_eq!(one.len(), other.len(), "{what}");
}

#[test]
fn one_seed_gives_one_log_and_another_seed_another() {
    for (name, agents) in ALL {
        let run = |seed| {
            let mut scenario = scenario(name, agents);
            scenario.seed = seed;
            logged(Simulation::new(scenario))
        };
        let ((first, log), (second, again), (third, other)) = (run(7), run(7), run(8));
        assert!(log.lines().count() > 10_000, "{name}");
        assert_same(&log, &again, name);
        assert_eq!(first.summary.states_sha256, second.summary.states_sha256);
        assert_ne!(log, other);
        assert_ne!(first.summary.states_sha256, third.summary.states_sha256);
    }
}

#[test]
fn several_arbiters_change_nothing() {
    for (name, agents) in ALL {
        let run = |arbiters| {
            let mut scenario = scenario(name, agents);
            scenario.groups = 6;
            logged(Simulation::new(scenario).arbiters(arbiters))
        };
        let ((one, log), (three, same)) = (run(1), run(3));
        assert_eq!((one.summary.arbiters, three.summary.arbiters), (1, 3));
        assert_same(&log, &same, name);
        assert_eq!(one.summary.states_sha256, three.summary.states_sha256);
    }
}

#[test]
fn what_is_counted_is_what_the_log_says() {
    let (outcome, log) = logged(Simulation::new(scenario("flaky", 60)));
    let mut outcomes = BTreeMap::new();
    let mut lists = 0;
    for line in log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()) {
        match line["event"].as_str().unwrap() {
            "finished" => *outcomes.entry(line["outcome"].as_str().unwrap().to_owned()).or_insert(0) += 1,
            "list_finished" => lists += 1,
            _ => {}
        }
    }
    let summary = outcome.summary;
    let counted: BTreeMap<_, _> =
        summary.outcomes.iter().map(|(&outcome, &count)| (outcome.to_owned(), count)).collect();
    assert_eq!((counted, summary.lists), (outcomes, lists));
    assert_eq!(summary.calls, 3 * summary.lists);
    assert!(summary.outcomes["failed"] > 0 && summary.outcomes["ok"] > summary.outcomes["failed"]);
    assert!(summary.run_ms.p50 > 1.0 && summary.run_ms.max <= 70_000.0, "{:?}", summary.run_ms);
    assert!((0.9..=1.0).contains(&summary.fairness), "{}", summary.fairness);
}

#[test]
fn a_log_that_was_altered_is_told_from_the_run_at_its_first_difference() {
    let simulation = || Simulation::new(scenario("flaky", 20));
    let (_, log) = logged(simulation());
    let replay = |log: &str| {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), log).unwrap();
        simulation().replay(file.path()).run().unwrap().difference
    };
    assert_eq!(replay(&log), None);
    let lines: Vec<&str> = log.lines().collect();
    let mut altered = lines.clone();
    altered[100] = "{}";
    altered[200] = "{}";
    let difference = Difference { line: 101, then: Some("{}".to_owned()), now: Some(lines[100].to_owned()) };
    assert_eq!(replay(&altered.join("\n")), Some(difference));
    let missing = replay(&lines[..50].join("\n")).unwrap();
    assert_eq!((missing.line, missing.then), (51, None));
}

#[test]
fn real_time_takes_its_time() {
    let scenario = Scenario::parse(
        r#"
        agents = 5
        duration_s = 0.3
        time = "real"
        think = { constant_ms = 20 }
        tool = [{ name = "nap", latency = { constant_ms = 400 } }]
        list = [{ calls = [{ tool = "nap" }] }]
        "#,
    );
    let summary = Simulation::new(scenario.unwrap()).run().unwrap().summary;
    assert!((0.3..5.0).contains(&summary.elapsed_s), "{}", summary.elapsed_s);
    assert!(summary.lists >= 5 && summary.run_ms.p50 >= 10.0, "{summary:?}");
}

#[test]
fn tools_of_the_host_take_part() {
    let scenario = Scenario::parse(
        r#"
        agents = 10
        groups = 2
        duration_s = 1
        lists_per_agent = 2
        think = { constant_ms = 1 }
        list = [{ calls = [{ tool = "double", arguments = { n = "{agent}" } }] }]
        "#,
    );
    let doubled = |world: u32| {
        let spec = ToolSpec::new("double").input_schema(json!({"type": "object", "required": ["n"]}));
        let double = FunctionTool::with_schema(spec, move |arguments: Value| {
            let agent = u32::try_from(arguments["n"].as_u64().unwrap()).unwrap();
            assert_eq!(agent % 2, world);
            Json(2 * agent)
        });
        vec![std::sync::Arc::new(double.quick()) as toolyard::SharedTool]
    };
    let summary = Simulation::new(scenario.unwrap()).host_tools(doubled).run().unwrap().summary;
    assert_eq!((summary.lists, summary.outcomes["ok"]), (20, 20));
}

fn sim(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_toolyard")).arg("sim").args(arguments).output().unwrap()
}

#[test]
fn the_program_prints_a_summary_and_says_where_a_replay_differs() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| -> PathBuf { folder.path().join(name) };
    let flaky = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/scenarios/flaky.toml");
    let log = file("log.jsonl");
    let log = log.to_str().unwrap();
    let run = |more: &[&str]| sim(&[&[flaky, "--agents", "10", "--seed"], more].concat());
    let first = run(&["3", "--events", log]);
    let summary: Value = serde_json::from_slice(&first.stdout).unwrap();
    assert_eq!((&summary["seed"], &summary["agents"], first.status.code()), (&json!(3), &json!(10), Some(0)));
    assert_eq!(run(&["3", "--replay", log]).status.code(), Some(0));
    let other = run(&["4", "--replay", log]);
    let difference: Value = serde_json::from_slice(&other.stdout).unwrap();
    assert_eq!(other.status.code(), Some(1));
    assert!(difference["difference"]["line"].is_u64() && difference["difference"]["now"].is_string());

    fs::write(file("bad.toml"), "agents = 1\nduration_s = 1\nthink = { exponential_ms = -1 }\nlist = []")
        .unwrap();
    let bad = sim(&[file("bad.toml").to_str().unwrap()]);
    let error = String::from_utf8(bad.stderr).unwrap();
    assert_eq!(bad.status.code(), Some(2));
    assert!(error.contains("bad.toml") && error.contains("exponential_ms") && error.contains('3'), "{error}");
}
