//! Files in the current folder, which the file tools may write: no child process takes code from them.
//!
//! Each planted file leaves its name behind when it is run.

use std::{fs, process::Command};

use serde_json::json;

use super::{MCP_SERVER, Place, results, run, toolyard};

/// Modules that Python looks for and does not have, or that start-up and the worker itself import.
const MODULES: [&str; 48] = [
    "sitecustomize",
    "usercustomize",
    "site",
    "os",
    "json",
    "types",
    "io",
    "abc",
    "codecs",
    "encodings",
    "stat",
    "threading",
    "inspect",
    "traceback",
    "contextvars",
    "fnmatch",
    "ast",
    "functools",
    "importlib",
    "typing",
    "enum",
    "asyncio",
    "concurrent",
    "subprocess",
    "pickle",
    "multiprocessing",
    "platform",
    "mimetypes",
    "uuid",
    "ctypes",
    "select",
    "builtins",
    "runpy",
    "queue",
    "random",
    // Asked for by the library where it is another system's, and by packages where something faster is installed.
    "msvcrt",
    "winreg",
    "_winapi",
    "nt",
    "org",
    "java",
    "vms_lib",
    "_scproxy",
    "orjson",
    "ujson",
    "numpy",
    "pydantic",
    "tzdata",
];

/// A function of it imports, and starts, much of what the library has.
const TOOLS: &str = "
import helper

def hello():
    import asyncio, concurrent.futures, ctypes, json, mimetypes, multiprocessing, pickle, platform, queue, random
    import subprocess, tempfile, uuid, zoneinfo
    pickle.dumps(platform.platform()), mimetypes.guess_type('a.txt'), uuid.uuid4()
    for fast in ('orjson', 'ujson', 'numpy'):
        try:
            __import__('json').loads('1')
            exec(f'import {fast}', {'__name__': 'library', '__file__': '/usr/lib/library.py'})
        except ImportError:
            pass
    from multiprocessing import shared_memory
    memory = shared_memory.SharedMemory(create=True, size=8)
    memory.close(), memory.unlink()
    return helper.said

def die():
    import os
    os._exit(3)
";

/// The folder of the program, full of traps.
struct Trap {
    here: Place,
    /// Where tool files lie that are not in the current folder.
    elsewhere: Place,
    sprung: Place,
}

impl Trap {
    fn new() -> Self {
        let trap = Self { here: Place::new(), elsewhere: Place::new(), sprung: Place::new() };
        for (index, module) in MODULES.iter().enumerate() {
            let code = trap.code(module);
            // A package is found before a module.
            let name = if index % 2 == 0 { format!("{module}.py") } else { format!("{module}/__init__.py") };
            trap.here.write(&name, &code);
        }
        let version = Command::new("python3")
            .args(["-I", "-c", "import sys; print('python%d.%d' % sys.version_info[:2])"])
            .output()
            .unwrap();
        let version = String::from_utf8(version.stdout).unwrap();
        let user = format!(".local/lib/{}/site-packages", version.trim());
        for (name, what) in [("usercustomize.py", "user"), ("sitecustomize.py", "user site")] {
            trap.here.write(&format!("{user}/{name}"), &trap.code(what));
        }
        trap.here.write(&format!("{user}/trap.pth"), &format!("import sys; {}", trap.code("pth")));
        trap.here.write("trap.pth", &format!("import sys; {}", trap.code("pth here")));
        trap.here.write("startup.py", &trap.code("startup"));
        for program in ["python3", "env", "sh", "mcp-thing"] {
            let code = format!("#!/bin/sh\ntouch '{}'\nexit 1\n", trap.sprung.shown(program));
            trap.here.write_program(program, &code);
        }
        for place in [&trap.here, &trap.elsewhere] {
            place.write("tools.py", TOOLS);
            place.write("helper.py", "said = 'hello'\n");
        }
        trap
    }

    fn code(&self, name: &str) -> String {
        format!("open({:?}, 'w').close()\n", self.sprung.shown(name))
    }

    /// Runs the program in each environment that leads there, and gives what it printed.
    fn each(&self, arguments: &[&str], input: &str, check: impl Fn(&std::process::Output)) {
        let here = self.here.shown("");
        let path = std::env::var("PATH").unwrap();
        let environments: [&[(&str, String)]; 6] = [
            &[],
            &[("PYTHONPATH", String::new()), ("PATH", format!(".:{path}"))],
            &[("PYTHONPATH", format!(".:{here}:")), ("PATH", format!(":{path}:"))],
            &[("HOME", here.clone()), ("PYTHONSTARTUP", self.here.shown("startup.py"))],
            &[
                ("HOME", ".".to_owned()),
                ("PYTHONUSERBASE", self.here.shown(".local")),
                ("PYTHONHOME", here.clone()),
            ],
            &[
                ("PYTHONPYCACHEPREFIX", ".".to_owned()),
                ("LD_LIBRARY_PATH", format!(":{here}")),
                ("PYTHONHOME", String::new()),
            ],
        ];
        for environment in environments {
            let mut command = toolyard(self.here.0.path(), arguments);
            command.envs(environment.iter().map(|(name, value)| (name, value)));
            let output = run(command, input);
            check(&output);
            let sprung: Vec<_> =
                fs::read_dir(self.sprung.0.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
            assert!(sprung.is_empty(), "{arguments:?} with {environment:?} ran {sprung:?}: {output:?}");
        }
    }
}

const HELLO: (&str, &str) = ("ok", "hello");

fn are(output: &std::process::Output, expected: &[(&str, &str)]) {
    let results = results(output);
    let shown: Vec<_> = results.iter().map(|(outcome, text)| (outcome.as_str(), text.as_str())).collect();
    assert_eq!(shown, expected, "{output:?}");
}

#[test]
fn workers_of_python_files_take_only_what_lies_beside_their_file() {
    let trap = Trap::new();
    let list = r#"[{"name": "hello"}, {"name": "die"}, {"name": "hello"}]"#;
    for file in [trap.elsewhere.shown("tools.py"), "tools.py".to_owned()] {
        trap.each(&["call", "--python", &file], list, |output| {
            let results = results(output);
            assert_eq!(results[1].0, "lost", "{output:?}");
            assert_eq!((&results[0], &results[2]), (&results[0], &results[0]));
            assert_eq!((results[0].0.as_str(), results[0].1.as_str()), HELLO, "{output:?}");
        });
    }
}

#[test]
fn sessions_of_python_repl_take_nothing() {
    let trap = Trap::new();
    trap.here.write("toolyard.toml", "[python]\nrepl = \"unsafe_host_process\"\n");
    let code = "import json, asyncio, subprocess, pickle, platform\ntry:\n    import msvcrt\nexcept ImportError:\n    print('hello')";
    let list = json!([{"name": "python_repl", "arguments": {"code": code}}]).to_string();
    trap.each(&["call", "--tools", "python_repl"], &list, |output| are(output, &[("ok", "hello\n")]));
}

#[test]
fn what_is_asked_of_interpreters_and_servers_by_the_doctor_takes_nothing() {
    let trap = Trap::new();
    let server = json!({"command": "python3", "args": ["-c", serve()]});
    trap.elsewhere.write("servers.json", &json!({"mcpServers": {"s": server}}).to_string());
    let servers = trap.elsewhere.shown("servers.json");
    trap.each(&["doctor", "--mcp-config", &servers], "", |output| {
        let report: serde_json::Value =
            serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
        let checks = report["checks"].as_array().unwrap().iter();
        let bad: Vec<_> = checks.filter(|check| check["ok"] == false && check["name"] != "docker").collect();
        assert!(bad.is_empty(), "{bad:?}");
    });
}

/// Code that looks for modules in the folder that it is started in, and is a server.
fn serve() -> String {
    format!("import runpy, json, asyncio, subprocess\nrunpy.run_path({MCP_SERVER:?}, run_name='__main__')")
}

#[test]
fn servers_of_mcp_take_nothing_wherever_the_variables_lead() {
    let trap = Trap::new();
    for inherit in [json!([]), json!("all")] {
        let server = json!({"command": "python3", "args": ["-c", serve()], "inheritEnv": inherit});
        trap.elsewhere.write("servers.json", &json!({"mcpServers": {"s": server}}).to_string());
        let servers = trap.elsewhere.shown("servers.json");
        let list = r#"[{"name": "s_echo", "arguments": {"text": "hello"}}]"#;
        trap.each(&["call", "--mcp-config", &servers], list, |output| are(output, &[HELLO]));
    }
}

#[test]
fn no_server_is_found_by_a_name_in_the_current_folder() {
    let trap = Trap::new();
    for command in ["mcp-thing", "./mcp-thing", "../mcp-thing"] {
        trap.elsewhere.write("servers.json", &json!({"mcpServers": {"s": {"command": command}}}).to_string());
        let servers = trap.elsewhere.shown("servers.json");
        let list = r#"[{"name": "s_echo", "arguments": {}}]"#;
        trap.each(&["call", "--mcp-config", &servers], list, |output| {
            let results = results(output);
            assert_eq!(results[0].0, "not_started", "{output:?}");
            assert!(results[0].1.contains("was found"), "{output:?}");
        });
    }
}

#[test]
fn a_file_that_a_list_has_written_is_not_run_by_the_calls_after_it() {
    let trap = Trap::new();
    let place = Place::new();
    let written = trap.code("json");
    let list = json!([
        {"name": "file_write", "arguments": {"path": "json.py", "content": written}},
        {"name": "file_write", "arguments": {"path": "sitecustomize.py", "content": written}},
        {"name": "die"},
        {"name": "hello"},
    ]);
    let file = trap.elsewhere.shown("tools.py");
    let command = toolyard(place.0.path(), &["call", "--tools", "file_write", "--python", &file]);
    let output = run(command, &list.to_string());
    let outcomes: Vec<_> = results(&output).into_iter().map(|(outcome, _)| outcome).collect();
    assert_eq!(outcomes, ["ok", "ok", "lost", "ok"], "{output:?}");
    assert!(place.path("json.py").exists() && fs::read_dir(trap.sprung.0.path()).unwrap().next().is_none());
}

#[test]
fn a_worker_works_in_the_current_folder_as_a_script_would() {
    let place = Place::new();
    place.write("tools.py", "def where():\n    import os, sys\n    return [open('note.txt').read(), os.environ.get('PYTHONSAFEPATH'), [p for p in sys.path if not p.startswith('/')]]\n");
    place.write("note.txt", "here");
    let output = run(toolyard(place.0.path(), &["call", "--python", "tools.py"]), r#"[{"name": "where"}]"#);
    are(&output, &[("ok", r#"["here",null,[]]"#)]);
}
