//! Files that the options name: nothing is destroyed before anything has run, and none serves two purposes.

use std::{
    fs,
    os::unix::fs::symlink,
    path::Path,
    process::{Output, Stdio},
};

use super::{json, outcomes, toolyard};

const LIST: &str = r#"[{"name": "file_write", "arguments": {"path": "ran.txt", "content": "x"}}]"#;

fn run(folder: &Path, arguments: &[&str]) -> Output {
    toolyard(arguments).current_dir(folder).stdin(Stdio::null()).output().unwrap()
}

/// A folder with a list under many names.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("sub")).unwrap();
    fs::write(at("list.json"), LIST).unwrap();
    fs::write(at("toolyard.toml"), "[engine]\nmax_in_flight = 8\n").unwrap();
    symlink("list.json", at("link")).unwrap();
    symlink("../list.json", at("sub/link")).unwrap();
    symlink("missing", at("dangling")).unwrap();
    symlink(".", at("here")).unwrap();
    fs::hard_link(at("list.json"), at("hard")).unwrap();
    folder
}

#[test]
fn one_file_for_two_purposes_is_refused_however_its_paths_are_written() {
    let folder = folder();
    let absolute = folder.path().join("list.json").display().to_string();
    let spellings = [
        "list.json",
        "./list.json",
        "sub/../list.json",
        "here/list.json",
        "link",
        "sub/link",
        "hard",
        &absolute,
    ];
    let missing = ["missing", "./missing", "here/here/missing", "dangling"];
    let mut cases = Vec::new();
    for option in ["--events", "--timeline", "--suspend", "--state"] {
        for spelling in spellings {
            cases.push(vec!["call", "list.json", option, spelling]);
        }
        cases.push(vec!["call", "list.json", option, "toolyard.toml"]);
        cases.push(vec!["call", "list.json", "--config", "toolyard.toml", option, "here/toolyard.toml"]);
        cases.push(vec!["call", "list.json", "--python", "sub/t.py", option, "sub/t.py"]);
        for other in ["--events", "--timeline", "--suspend", "--state"] {
            if option < other {
                cases.extend(
                    missing.map(|spelling| vec!["call", "list.json", option, "missing", other, spelling]),
                );
            }
        }
    }
    cases.push(vec!["resume", "list.json", "--events", "hard"]);
    cases.push(vec!["resume", "list.json", "--timeline", "link"]);
    for arguments in cases {
        let output = run(folder.path(), &arguments);
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{arguments:?}: {error}");
        assert!(error.contains("are the same file") && error.lines().count() == 1, "{arguments:?}: {error}");
        assert_eq!(fs::read_to_string(folder.path().join("list.json")).unwrap(), LIST, "{arguments:?}");
        for name in ["ran.txt", "missing"] {
            assert!(!folder.path().join(name).exists(), "{arguments:?}: {name}");
        }
    }
}

#[test]
fn a_standard_stream_counts_by_where_it_leads() {
    let folder = folder();
    let list = folder.path().join("list.json");
    let refused = toolyard(&["call", "--events", "link"])
        .current_dir(&folder)
        .stdin(fs::File::open(&list).unwrap())
        .output()
        .unwrap();
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    assert_eq!(fs::read_to_string(&list).unwrap(), LIST);

    let answers = folder.path().join("answers");
    let refused = toolyard(&["call", "list.json", "--events", "answers"])
        .current_dir(&folder)
        .stdout(fs::File::create(&answers).unwrap())
        .output()
        .unwrap();
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    assert!(!folder.path().join("ran.txt").exists());

    // A device may take anything.
    let null = || fs::File::options().write(true).open("/dev/null").unwrap();
    let status = toolyard(&["call", "list.json", "--events", "/dev/null"])
        .current_dir(&folder)
        .stdout(null())
        .stderr(null())
        .status()
        .unwrap();
    assert_eq!(status.code(), Some(0));
}

#[test]
fn what_is_to_be_written_is_untouched_when_what_is_read_cannot_be_used() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    for name in ["events", "page", "record"] {
        fs::write(at(name), "precious").unwrap();
    }
    fs::write(at("broken"), "[{\"name\": ]").unwrap();
    let all = ["--events", "events", "--timeline", "page", "--suspend", "record"];
    for start in [
        vec!["call", "broken"],
        vec!["call", "none"],
        vec!["call", "list.json", "--state", "broken"],
        vec!["call", "list.json", "--config", "broken"],
        vec!["call", "list.json", "--tools", "nonsense"],
        vec!["call", "list.json", "--state", "/dev/full"],
        vec!["call", "list.json", "--state", "no/such/folder"],
    ] {
        let output = run(folder.path(), &[&start[..], &all].concat());
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{start:?}");
        for name in ["events", "page", "record"] {
            assert_eq!(fs::read_to_string(at(name)).unwrap(), "precious", "{start:?}: {name}");
        }
    }
    let refused = run(folder.path(), &["resume", "list.json", "--events", "events"]);
    assert_eq!(refused.status.code(), Some(2));
    let output = run(folder.path(), &["call", "list.json", "--events", "events", "--timeline", "no/page"]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(fs::read_to_string(at("events")).unwrap(), "precious");
    assert!(!at("ran.txt").exists());
}

#[test]
fn links_are_followed_and_stay_links() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    let mut options = vec!["call", "list.json"];
    for (option, name) in [("--state", "s"), ("--suspend", "r"), ("--timeline", "p"), ("--events", "e")] {
        symlink(Path::new("sub").join(name), at(name)).unwrap();
        options.extend([option, name]);
    }
    for _ in 0..2 {
        let output = run(folder.path(), &options);
        assert_eq!(outcomes(&json(&output)), ["ok"], "{output:?}");
        for name in ["s", "r", "p", "e"] {
            assert!(at(name).is_symlink() && at("sub").join(name).is_file(), "{name}");
        }
    }
    let resumed = run(folder.path(), &["resume", "r"]);
    assert_eq!(outcomes(&json(&resumed)), ["ok"], "{resumed:?}");
    assert!(at("r").is_symlink());
}

#[cfg(feature = "sim")]
#[test]
fn a_simulation_does_not_write_its_log_over_what_it_reads() {
    let folder = folder();
    for arguments in [
        ["sim", "examples/scenarios/flaky.toml", "--events", "log", "--replay", "here/log"],
        ["sim", "list.json", "--agents", "1", "--events", "link"],
    ] {
        fs::write(folder.path().join("log"), "before").unwrap();
        let output = run(folder.path(), &arguments);
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(2) && error.contains("same file"), "{arguments:?}: {error}");
        assert_eq!(fs::read_to_string(folder.path().join("log")).unwrap(), "before");
    }
}
