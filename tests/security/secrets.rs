//! What child processes see of the engine's environment.

use std::fs;

use serde_json::{Value, json};

use super::{MCP_SERVER, Place, run, toolyard};

/// A secret of the engine, and one that it was given to hand on.
const SECRET: (&str, &str) = ("TOOLYARD_TEST_API_KEY", "canary-4e1f");
const OTHER: (&str, &str) = ("TOOLYARD_TEST_OTHER", "canary-77ab");

/// Says what it sees in every way that there is: as it is told, as the system knows it, and what its parent has.
const LOOK: &str = r"
def look():
    import os, subprocess
    read = lambda pid: open(f'/proc/{pid}/environ', 'rb').read().decode().split('\0')
    below = subprocess.run(['env'], stdout=subprocess.PIPE).stdout.decode().split('\n')
    # The parent is the keeper, which an engine is not.
    parent = read(os.getppid()) if b'--toolyard-keep-child' in open(f'/proc/{os.getppid()}/cmdline', 'rb').read() else []
    seen = [f'{name}={value}' for name, value in os.environ.items()]
    return sorted({line for line in (*seen, *read(os.getpid()), *below, *parent) if '=' in line})
";

/// Runs the program with the secrets in its environment, on one call; what the child has seen, and all that was printed.
fn seen(place: &Place, arguments: &[&str], call: &Value, file: &str) -> (Vec<String>, String) {
    let mut command = toolyard(place.0.path(), arguments);
    command.envs([SECRET, OTHER]).env("TOOLYARD_LOG", "trace").env("LC_TIME", "C");
    let output = run(command, &json!([call]).to_string());
    let printed =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    let text = fs::read_to_string(place.path(file)).unwrap_or_else(|_| panic!("{printed}"));
    fs::remove_file(place.path(file)).unwrap();
    (text.lines().map(str::to_owned).collect(), printed)
}

/// Which of the two secrets is in it; `set` is what was set by name.
fn which(seen: &[String]) -> Vec<&'static str> {
    let has = |(name, value): (&str, &str)| seen.iter().any(|line| *line == format!("{name}={value}"));
    let leaked = |(_, value): (&str, &str)| seen.iter().any(|line| line.contains(value));
    for secret in [SECRET, OTHER] {
        assert_eq!(has(secret), leaked(secret), "{seen:?}");
    }
    [SECRET, OTHER].into_iter().filter(|secret| has(*secret)).map(|(name, _)| name).collect()
}

/// Names of variables that are neither on the short list nor Python's and the shell's own.
fn others(seen: &[String]) -> Vec<&str> {
    let short = ["HOME", "LANG", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "USER", "EXTRA"];
    let own = ["PWD", "SHLVL", "_", "OLDPWD", "PYTHONSAFEPATH", "PYTHONNOUSERSITE"];
    let names = seen.iter().filter_map(|line| Some(line.split_once('=')?.0));
    // Where `python3` is a script that chooses one, it has variables of its own.
    let names = names.filter(|name| !name.contains("PYENV"));
    names.filter(|name| !short.contains(name) && !own.contains(name) && !name.starts_with("LC_")).collect()
}

/// What is said, in a document, and what is seen then of the two secrets.
fn ways() -> Vec<(Option<Value>, Vec<&'static str>)> {
    vec![
        (Some(json!([])), vec![]),
        (Some(json!([SECRET.0])), vec![SECRET.0]),
        (Some(json!(["NO_SUCH_VARIABLE", OTHER.0])), vec![OTHER.0]),
        (Some(json!([SECRET.0, OTHER.0])), vec![SECRET.0, OTHER.0]),
        (Some(json!("all")), vec![SECRET.0, OTHER.0]),
        (None, vec![]),
    ]
}

fn check(kind: &str, said: Option<&Value>, expected: &[&str], (seen, printed): (Vec<String>, String)) {
    assert_eq!(which(&seen), expected, "{kind} {said:?}: {seen:?}");
    assert!(seen.iter().any(|line| line == "EXTRA=set"), "{kind}: {seen:?}");
    for name in ["PATH=", "HOME=", "LC_TIME=C"] {
        assert!(seen.iter().any(|line| line.starts_with(name)), "{kind} {said:?}: no {name}: {seen:?}");
    }
    if said != Some(&json!("all")) {
        assert_eq!(
            others(&seen).into_iter().filter(|name| !expected.contains(name)).collect::<Vec<_>>(),
            Vec::<&str>::new()
        );
    }
    for (_, secret) in [SECRET, OTHER] {
        assert!(!printed.contains(secret), "{kind}: a secret was printed: {printed}");
    }
}

/// A line of TOML, where something is said.
fn line(said: Option<&Value>) -> String {
    said.map(|said| format!("inherit_env = {said}\n")).unwrap_or_default()
}

#[test]
fn servers_see_the_short_list_and_what_is_named() {
    let place = Place::new();
    let server = format!(
        "{LOOK}\nopen({:?}, 'w').write('\\n'.join(look()))\nimport runpy\nrunpy.run_path({MCP_SERVER:?}, run_name='__main__')\n",
        place.shown("seen")
    );
    place.write("server.py", &server);
    let call = json!({"name": "s_echo", "arguments": {"text": "hi"}});
    for (said, expected) in ways() {
        let mut entry =
            json!({"command": "python3", "args": [place.shown("server.py")], "env": {"EXTRA": "set"}});
        if let Some(said) = &said {
            entry["inheritEnv"] = said.clone();
        }
        place.write("servers.json", &json!({"mcpServers": {"s": entry}}).to_string());
        let found = seen(&place, &["call", "--mcp-config", "servers.json"], &call, "seen");
        check("mcp.json", said.as_ref(), &expected, found);

        let section = format!(
            "[mcp.servers.s]\ncommand = \"python3\"\nargs = [\"server.py\"]\ncwd = \".\"\nenv = {{ EXTRA = \"set\" }}\n{}",
            line(said.as_ref())
        );
        place.write("s.toml", &section);
        let found = seen(&place, &["call", "--config", "s.toml"], &call, "seen");
        check("[mcp.servers.s]", said.as_ref(), &expected, found);
    }
}

#[test]
fn sessions_of_python_repl_see_the_short_list_and_what_is_named() {
    let place = Place::new();
    let code = format!("{LOOK}\nopen({:?}, 'w').write('\\n'.join(look()))", place.shown("seen"));
    let call = json!({"name": "python_repl", "arguments": {"code": code}});
    for (said, expected) in ways() {
        let config = format!(
            "[python]\nrepl = \"unsafe_host_process\"\n[python_repl]\nenv = {{ EXTRA = \"set\" }}\n{}",
            line(said.as_ref())
        );
        place.write("s.toml", &config);
        let found = seen(&place, &["call", "--tools", "python_repl", "--config", "s.toml"], &call, "seen");
        check("[python_repl]", said.as_ref(), &expected, found);
    }
}

#[test]
fn workers_of_python_files_see_all_unless_told_otherwise() {
    let place = Place::new();
    let file =
        format!("{LOOK}\ndef show():\n    open({:?}, 'w').write('\\n'.join(look()))\n", place.shown("seen"));
    place.write("tools.py", &file);
    for (said, expected) in ways() {
        let all = vec![SECRET.0, OTHER.0];
        let expected = if said.is_none() { all } else { expected };
        let config =
            format!("[python]\nfiles = [\"tools.py\"]\nenv = {{ EXTRA = \"set\" }}\n{}", line(said.as_ref()));
        place.write("s.toml", &config);
        let found = seen(&place, &["call", "--config", "s.toml"], &json!({"name": "show"}), "seen");
        let said = said.or_else(|| Some(json!("all")));
        check("[python]", said.as_ref(), &expected, found);
    }
}

#[test]
fn the_setting_is_written_down_with_the_rest_and_secrets_are_shown_by_no_debug_text() {
    use toolyard::{
        Engine, InheritEnv, builtin::python_repl::HostProcess, config::Config, mcp::McpServerConfig,
    };

    let text = "[python]\nfiles = []\ninherit_env = [\"A\"]\nenv = { K = \"hush\" }\n\
                [python_repl]\ninherit_env = \"all\"\nenv = { K = \"hush\" }\n\
                [sandbox]\nenv = { K = \"hush\" }\n\
                [mcp.servers.s]\ncommand = \"no-such-program\"\ninherit_env = [\"A\", \"B\"]\nenv = { K = \"hush\" }\n";
    let config = Config::parse(text).unwrap();
    assert!(!format!("{config:?}").contains("hush"), "{config:?}");
    let engine = Engine::builder().config(&config).unwrap().build().unwrap();
    let written = engine.to_config().config;
    assert_eq!(written.mcp, config.mcp);
    assert_eq!(
        (&written.python.inherit_env, &written.python_repl.inherit_env),
        (&config.python.inherit_env, &Some(InheritEnv::All))
    );
    assert_eq!(Config::parse(&written.to_toml().unwrap()).unwrap(), written);

    let mut host = HostProcess::default();
    host.env.push(("K".into(), "hush".into()));
    let server = McpServerConfig::stdio("x", ["hush"]).env("K", "hush").inherit_env(InheritEnv::names(["A"]));
    assert!(!format!("{host:?} {server:?}").contains("hush"));
}
