use std::time::Duration;

use toolyard_contract::{ActivationMode, ActivationRule, PermissionRule, ToolSet, Verdict};

use super::*;
use crate::{Engine, builtin::BuiltinRegistry};

const EVERY_KEY: &str = r#"
[engine]
timeout_s = 1.5
deadline_s = 60
max_in_flight = 10
max_blocking = 2
max_lists = 3
admission_timeout_s = 4
arbiters = 1
child_depth = 2
max_result_bytes = 5000

[engine.retry]
attempts = 3
first_delay_s = 0.25
max_delay_s = 5

[engine.agent]
max_in_flight = 4
weight = 1

[engine.agent.rate]
calls = 10
per_s = 2

[engine.agents.planner]
weight = 4

[tools]
enable = ["calc", "file_read"]
root = "."
default = "deactivate"

[tools.limits.calculator]
max_in_flight = 1
rate = { calls = 1, per_s = 0.5 }

[[tools.rule]]
mode = "activate"
pattern = "calc*"

[permissions]
default = "deny"

[[permissions.rule]]
action = "file.*"
resource = "out/*"
verdict = "ask"
"#;

fn builtins(config: &Config) -> Result<(ToolSet, BuiltinRegistry), ConfigError> {
    config.builtins(
        #[cfg(feature = "docker")]
        &crate::sandbox::SandboxPool::default(),
    )
}

fn error(text: &str) -> String {
    Config::parse(text).unwrap_err().to_string()
}

#[test]
fn every_key_reaches_the_engine() {
    let config = Config::parse(EVERY_KEY).unwrap();
    let mut yard = YardConfig::default();
    config.apply(&mut yard);
    assert_eq!(
        (yard.timeout, yard.deadline),
        (Some(Duration::from_millis(1_500)), Some(Duration::from_mins(1)))
    );
    assert_eq!((yard.limits.max_in_flight, yard.limits.max_blocking, yard.limits.max_lists), (10, 2, 3));
    assert_eq!((yard.limits.admission_timeout, yard.arbiters), (Duration::from_secs(4), 1));
    assert_eq!((yard.child_depth, yard.max_result_bytes), (2, 5_000));
    assert_eq!((yard.retry.attempts, yard.retry.first_delay), (3, Duration::from_millis(250)));
    assert_eq!(yard.retry.max_delay, Duration::from_secs(5));
    assert_eq!(yard.limits.agent.max_in_flight, Some(4));
    assert_eq!(yard.limits.agent.rate.unwrap().to_string(), "10 calls in 2 s");
    assert_eq!(yard.limits.agents["planner"].weight.get(), 4);
    let calculator = &yard.limits.tools["calculator"];
    assert_eq!(
        (calculator.max_in_flight, calculator.rate.unwrap().per),
        (Some(1), Duration::from_millis(500))
    );
    assert_eq!(config.permissions.default, Verdict::Deny);
    assert_eq!(config.permissions.rule, [PermissionRule::new(Verdict::Ask, "file.*", "out/*")]);
    assert!(yard.activation.is_active("calculator") && !yard.activation.is_active("file_read"));
}

#[test]
fn a_limit_of_zero_seconds_is_no_limit() {
    let mut yard = YardConfig::default();
    Config::parse("[engine]\ntimeout_s = 0\ndeadline_s = 0").unwrap().apply(&mut yard);
    assert_eq!((yard.timeout, yard.deadline), (None, None));
}

#[test]
fn an_unknown_key_is_an_error_with_its_place_and_the_nearest_known_key() {
    let cases = [
        (
            "[engine]\nmax_in_fligth = 1",
            "line 2, column 1: unknown key \"max_in_fligth\"; the nearest known one is \"max_in_flight\"",
        ),
        ("[enigne]", "line 1, column 2: unknown key \"enigne\"; the nearest known one is \"engine\""),
        (
            "[engine.agents.a]\nwieght = 1",
            "line 2, column 1: unknown key \"wieght\"; the nearest known one is \"weight\"",
        ),
        (
            "[[tools.rule]]\nmode = \"activate\"\npatern = \"*\"",
            "line 3, column 1: unknown key \"patern\"; the nearest known one is \"pattern\"",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(error(text), expected, "{text}");
    }
    let nothing_like_it = error("[zzz]");
    let known =
        "line 1, column 2: unknown key \"zzz\"; known are: engine, tools, file_read, file_write, permissions";
    assert!(nothing_like_it.starts_with(known), "{nothing_like_it}");
}

#[test]
fn a_value_that_does_not_fit_is_an_error_with_its_place() {
    for (text, place, reason) in [
        ("[engine]\nmax_in_flight = \"x\"", "line 2, column 17: ", "expected usize"),
        (
            "[engine]\ntimeout_s = -1",
            "line 2, column 13: ",
            "-1 is not a number of seconds from 0 to 946080000 (30 years)",
        ),
        ("[engine]\nmax_in_flight = ", "line 2, column ", ""),
        ("[[tools.rule]]\nmode = \"maybe\"\npattern = \"*\"", "line 2, column 8: ", "maybe"),
        ("[[tools.rule]]\nmode = \"activate\"\npattern = \"[\"", "line 3, column 11: ", "cannot be read"),
        (
            "[[permissions.rule]]\naction = \"file.[\"\nverdict = \"ask\"",
            "line 2, column 10: ",
            "cannot be read",
        ),
        ("[engine.agent]\nrate = { calls = 0, per_s = 1 }", "line 2, column 8: ", "at least one call"),
    ] {
        let error = error(text);
        assert!(error.starts_with(place) && error.contains(reason), "{text}: {error}");
        assert!(!error.contains('\n'), "one line: {error}");
    }
}

#[test]
fn a_file_is_named_in_its_errors_and_its_folder_is_where_root_begins() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("toolyard.toml");
    std::fs::create_dir(folder.path().join("files")).unwrap();
    std::fs::write(&file, "[tools]\nroot = \"files\"").unwrap();
    assert_eq!(Config::read(&file).unwrap().tools.root, Some(folder.path().join("files")));
    std::fs::write(&file, "[engin]").unwrap();
    let error = Config::read(&file).unwrap_err().to_string();
    assert!(error.starts_with(&format!("{}: line 1, column 2: unknown key", file.display())), "{error}");
    let missing = Config::read(&folder.path().join("none.toml")).unwrap_err().to_string();
    assert!(missing.contains("none.toml: "), "{missing}");
}

#[test]
fn a_tool_that_is_not_built_in_is_an_error_with_the_nearest_name() {
    let config = Config::parse("[tools]\nenable = [\"calculater\"]").unwrap();
    let error = builtins(&config).unwrap_err().to_string();
    assert_eq!(error, "tools.enable: no built-in tool is named \"calculater\"; there is: calculator");
}

#[test]
fn an_engine_is_written_down_and_built_again_with_the_same_settings() {
    let config = Config::parse(EVERY_KEY).unwrap();
    let engine = Engine::builder().config(&config).unwrap().build().unwrap();
    engine.activation().activate("file_read");
    let written = engine.to_config();
    assert!(written.left_out.is_empty());
    let text = written.config.to_toml().unwrap();
    let again = Config::parse(&text).unwrap();
    assert_eq!(again, written.config, "{text}");

    let rebuilt = Engine::builder().config(&again).unwrap().build().unwrap();
    assert_eq!(rebuilt.to_config(), engine.to_config());
    let names = |engine: &Engine| engine.active_specs().into_iter().map(|spec| spec.name).collect::<Vec<_>>();
    assert_eq!(names(&rebuilt), ["calculator", "file_read"]);
    let settings = |config: &Config| {
        let mut yard = YardConfig::default();
        config.apply(&mut yard);
        format!("{:?} {:?} {:?} {:?}", yard.limits, yard.timeout, yard.deadline, yard.retry)
    };
    assert_eq!(settings(&again), settings(&config));
    assert_eq!(again.tools.enable.unwrap(), ["calculator", "file_read"], "by their own names");
    assert_eq!(again.tools.rule[0], ActivationRule::new(ActivationMode::Activate, "file_read").unwrap());
}

#[test]
fn settings_that_are_the_defaults_are_not_written() {
    let engine = Engine::builder().tool(crate::builtin::calculator::CalculatorTool::new()).build().unwrap();
    let written = engine.to_config();
    assert_eq!(written.left_out, ["calculator"], "a tool that the host added is the host's");
    assert_eq!(written.config.to_toml().unwrap(), "[engine]\n\n[tools]\nenable = []\n");
}

#[cfg(feature = "python")]
#[test]
fn python_files_come_from_the_configuration_and_go_back_into_it() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("tools.py"), "def odd(): return float('nan')\ndef other(): return 1\n")
        .unwrap();
    let file = folder.path().join("toolyard.toml");
    let text =
        "[tools]\nenable = []\n\n[python]\nfiles = [\"tools.py:odd\"]\nnan = \"text\"\nprocesses = 2\n";
    std::fs::write(&file, text).unwrap();
    let config = Config::read(&file).unwrap();
    let engine = Engine::builder().config(&config).unwrap().build().unwrap();
    assert_eq!(engine.python_report().tools, ["odd"], "{:?}", engine.python_report());
    let calls = vec![toolyard_contract::ToolCall::new("odd", toolyard_contract::Arguments::empty())];
    let report = engine.execute_blocking(calls, toolyard_actors::ExecuteOptions::new()).unwrap();
    assert_eq!(report.results[0].output.as_ref().unwrap().as_text(), Some("NaN"));
    let written = engine.to_config();
    assert_eq!((written.config.python, written.left_out), (config.python, vec![]));
}

#[cfg(feature = "search")]
#[test]
fn settings_of_the_web_tools_reach_them_and_go_back_into_the_file() {
    let text = "[http]\nallow = [\"127.0.0.1:8080\", \"10.0.0.0/8\"]\ntimeout_s = 5\nattempts = 1\n\
                max_response_bytes = 1000\nmax_redirects = 2\nproxy = \"http://proxy:3128\"\n\
                [http.headers]\naccept-language = \"en\"\n\
                [search]\nbackend = \"searxng\"\nbase_url = \"http://127.0.0.1:8888\"\nmax_results = 3\n";
    let config = Config::parse(text).unwrap();
    let web = config.http.web_config().unwrap();
    assert!(web.policy.allows("h", "127.0.0.1".parse().unwrap(), 8080));
    assert!(!web.policy.allows("h", "127.0.0.1".parse().unwrap(), 8081));
    assert_eq!((web.timeout, web.attempts, web.max_redirects), (Duration::from_secs(5), 1, 2));
    assert_eq!((web.max_response_bytes, web.headers.len(), web.proxy.is_some()), (1000, 1, true));
    let engine = Engine::builder().config(&config).unwrap().build().unwrap();
    assert!(engine.specs().iter().any(|spec| spec.name == "web_search"), "its service is configured");
    let written = engine.to_config();
    assert_eq!((&written.config.http, &written.config.search), (&config.http, &config.search));
    assert_eq!(Config::parse(&written.config.to_toml().unwrap()).unwrap(), written.config);
}

#[cfg(feature = "search")]
#[test]
fn a_search_engine_that_is_not_configured_is_there_only_by_name() {
    let names = |text: &str| {
        let (set, _) = builtins(&Config::parse(text).unwrap()).unwrap();
        set.names().map(str::to_owned).collect::<Vec<_>>()
    };
    assert!(names("").contains(&"http".to_owned()) && !names("").contains(&"web_search".to_owned()));
    assert_eq!(names("[tools]\nenable = [\"duckduckgo\", \"http_request\"]"), ["web_search", "http"]);
    assert!(names("[search]").contains(&"web_search".to_owned()));
}

#[cfg(feature = "search")]
#[test]
fn settings_of_the_web_tools_that_cannot_be_used_are_named_without_secrets() {
    for (text, expected) in [
        ("[http]\nallow = [\"http://x\"]", "http.allow: \"http://x\" names no host"),
        ("[http]\nproxy = \"socks5://me:secret@h\"", "http.proxy: the proxy's URL cannot be used"),
        ("[http.headers]\nx = \"secret\\n\"", "http.headers: the header \"x\" has no usable value"),
        (
            "[search]\nbackend = \"searxng\"",
            "search.base_url: backend \"searxng\" needs the URL of an instance",
        ),
        ("[search]\nbase_url = \"ftp://x\"", "search.base_url: the URL cannot be used: only http and https"),
    ] {
        let error = builtins(&Config::parse(text).unwrap()).err().unwrap().to_string();
        assert!(error.starts_with(expected) && !error.contains("secret"), "{text}: {error}");
    }
}

#[cfg(feature = "python")]
#[test]
fn settings_of_python_sessions_reach_the_tool_and_go_back_into_the_file() {
    let text = "[python]\nrepl = \"unsafe_host_process\"\n\n[python_repl]\ntimeout_s = 5\nmax_output_bytes = 100\n\
                allowed_modules = [\"math\"]\nmax_sessions = 2\nmax_snapshot_bytes = 0\nmemory_bytes = 1000000000\n\
                max_processes = 8\n";
    let config = Config::parse(text).unwrap();
    let engine = Engine::builder().config(&config).unwrap().build().unwrap();
    let spec = engine.specs().into_iter().find(|spec| spec.name == "python_repl").unwrap();
    assert!(spec.description_text().contains("may be imported: math"));
    let written = engine.to_config();
    assert_eq!((&written.config.python, &written.config.python_repl), (&config.python, &config.python_repl));
    assert_eq!(Config::parse(&written.config.to_toml().unwrap()).unwrap(), written.config);
    let none = builtins(&Config::default()).unwrap().0;
    assert!(none.names().all(|name| name != "python_repl"), "nothing is configured that could run it");
}

#[test]
fn limits_of_the_file_tools_reach_them_and_go_back_into_the_file() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("long.txt"), "12345").unwrap();
    std::fs::write(folder.path().join("short.md"), "1").unwrap();
    let text = format!(
        "[tools]\nenable = [\"file_read\", \"file_write\"]\nroot = {:?}\n\
         [file_read]\nmax_bytes = 4\nextensions = [\"txt\"]\n\
         [file_write]\nmax_bytes = 3\nextensions = [\".TXT\"]\ncreate_folders = false\n",
        folder.path().display().to_string()
    );
    let config = Config::parse(&text).unwrap();
    let engine = Engine::builder().config(&config).unwrap().build().unwrap();
    let error = |tool: &str, arguments: serde_json::Value| {
        let calls = vec![toolyard_contract::ToolCall::new(tool, arguments.into())];
        let report = engine.execute_blocking(calls, toolyard_actors::ExecuteOptions::new()).unwrap();
        report.results[0].error.clone().unwrap_or_default()
    };
    let json = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
    assert!(error("file_read", json(r#"{"path": "long.txt"}"#)).contains('4'));
    assert!(
        error("file_read", json(r#"{"path": "short.md"}"#)).contains("these extensions may be used: txt")
    );
    assert!(error("file_write", json(r#"{"path": "a.txt", "content": "1234"}"#)).contains("may have 3"));
    assert!(error("file_write", json(r#"{"path": "a.md", "content": "1"}"#)).contains("extensions"));
    assert!(
        error("file_write", json(r#"{"path": "new/a.txt", "content": "1"}"#))
            .contains("folder does not exist")
    );
    assert_eq!(error("file_write", json(r#"{"path": "a.txt", "content": "123"}"#)), "");
    let written = engine.to_config();
    assert_eq!(
        (&written.config.file_read, &written.config.file_write),
        (&config.file_read, &config.file_write)
    );
    assert_eq!(Config::parse(&written.config.to_toml().unwrap()).unwrap(), written.config);
}

#[cfg(feature = "python")]
#[test]
fn switches_of_python_schemas_reach_the_tools_and_go_back_into_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let source =
        "def f(a: int, *more: int, key: int = 1, **rest: int):\n    'Short.\\n\\nLong.'\n    return a\n";
    std::fs::write(folder.path().join("tools.py"), source).unwrap();
    let text = format!(
        "[tools]\nenable = []\n[python]\nfiles = [{:?}]\nexclude_parameters = [\"key\"]\n\
         long_descriptions = false\nvarargs = false\nvarkwargs = false\n",
        folder.path().join("tools.py").display().to_string()
    );
    let config = Config::parse(&text).unwrap();
    let engine = Engine::builder().config(&config).unwrap().build().unwrap();
    let spec = engine.specs().remove(0);
    assert_eq!(spec.description_text(), "Short.");
    assert_eq!(spec.parameters()["properties"].as_object().unwrap().keys().collect::<Vec<_>>(), ["a"]);
    assert_eq!(engine.python_report().excluded["f"], ["more", "key", "rest"]);
    assert_eq!(engine.to_config().config.python, config.python);
}

#[cfg(feature = "python")]
#[test]
fn globals_of_python_sessions_must_be_names() {
    for (text, fits) in [
        ("limit = 3\n\"näme\" = [1, {x = true}]\n_x1 = \"t\"", true),
        ("1x = 3", false),
        ("\"a b\" = 3", false),
        ("__builtins__ = 3", false),
        ("\"\" = 3", false),
    ] {
        let config = Config::parse(&format!("[python_repl.globals]\n{text}")).unwrap();
        assert_eq!(Config::parse(&config.to_toml().unwrap()).unwrap(), config);
        let error = builtins(&config).err().map(|error| error.to_string());
        assert_eq!(error.is_none(), fits, "{text}: {error:?}");
        if let Some(error) = error {
            assert!(
                error.starts_with("python_repl.globals: ") && error.contains("cannot be defined"),
                "{error}"
            );
        }
    }
}
