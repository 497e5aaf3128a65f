//! The rules of ARCHITECTURE.md about who may use what, read from the sources.

mod circles;
mod modules;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use proc_macro2::{TokenStream, TokenTree};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");
const SHIPPED: [&str; 3] = ["src", "actors", "macros"];
const MAX_LINES: usize = 500;

#[test]
fn the_contract_depends_on_no_runtime() {
    let tree = Command::new(env!("CARGO"))
        .args(["tree", "--package=toolyard-contract", "--edges=normal,build", "--all-features"])
        .args(["--prefix=none", "--locked"])
        .current_dir(ROOT)
        .output()
        .expect("cargo runs");
    let tree = String::from_utf8(tree.stdout).expect("cargo prints text");
    assert!(tree.starts_with("toolyard-contract v"), "not a tree of the contract: {tree:?}");
    assert_eq!(runtimes_in(&tree), Vec::<&str>::new());
}

#[test]
fn the_contract_starts_no_thread_reads_no_clock_and_does_no_io() {
    let contract = sources(&["actors/contract"]);
    for module in ["thread", "fs", "net", "env", "process"] {
        assert_eq!(users_of(&[module, "::"], &contract), Vec::<&Path>::new(), "{module}");
    }
    assert_eq!(users_of(&["::", "now"], &contract), Vec::<&Path>::new());
}

/// The core knows its extensions by one trait.
#[test]
fn the_core_names_no_extension() {
    const EXTENSIONS: [&str; 3] = ["mcp", "python", "sandbox"];
    let mut core = sources(&["actors/src"]);
    let is_of_an_extension = |path: &Path| {
        let inside = path.strip_prefix("actors/src").ok();
        let first = inside.and_then(|inside| inside.iter().next()?.to_str());
        first.is_some_and(|first| first == "lib.rs" || EXTENSIONS.contains(&first))
    };
    core.retain(|(path, _)| !is_of_an_extension(path));
    assert!(core.len() > 50, "the core is read");
    for extension in EXTENSIONS {
        assert_eq!(users_of(&[extension, "::"], &core), Vec::<&Path>::new(), "{extension}");
    }
}

#[test]
fn only_reply_sends_without_waiting() {
    let shipped = sources(&SHIPPED);
    assert_eq!(outside("actors/src/reply", &users_of(&["do_send"], &shipped)), Vec::<&Path>::new());
}

#[test]
fn only_child_starts_processes() {
    let shipped = sources(&SHIPPED);
    for command in [["Command", "::", "new"], ["process", "::", "Command"]] {
        assert_eq!(outside("actors/src/child", &users_of(&command, &shipped)), Vec::<&Path>::new());
    }
}

/// What a lint finds by type, clippy's `arithmetic_side_effects`, a text shows only in part.
#[test]
fn only_moment_adds_times() {
    let shipped = sources(&SHIPPED);
    for clock in ["Instant", "SystemTime", "Timestamp"] {
        for sign in ["+", "-"] {
            let users = users_of(&[clock, "::", "now", sign], &shipped);
            assert_eq!(outside("actors/src/moment", &users), Vec::<&Path>::new(), "{clock} {sign}");
        }
    }
    for sum in ["from_secs_f64", "from_secs_f32", "mul_f64", "mul_f32"] {
        assert_eq!(users_of(&["Duration", "::", sum], &shipped), Vec::<&Path>::new(), "{sum}");
    }
    let lints = fs::read_to_string(Path::new(ROOT).join("Cargo.toml")).expect("a manifest");
    assert!(lints.contains("arithmetic_side_effects = \"warn\""), "the lint is off");
}

#[test]
fn no_file_is_long() {
    let files = sources(&["src", "actors", "macros", "tests", "benches", "examples"]);
    assert_eq!(long_files(&files), Vec::<&Path>::new());
}

#[test]
fn every_part_of_the_workspace_is_read() {
    let files = sources(&SHIPPED);
    for part in ["src/lib.rs", "actors/src/lib.rs", "actors/contract/src/plan.rs", "macros/src/lib.rs"] {
        assert!(files.iter().any(|(path, _)| path == Path::new(part)), "{part} was not read");
    }
}

#[test]
fn a_runtime_in_a_tree_is_found() {
    let tree =
        "toolyard-contract v0.1.0\nfutures v0.3.34\ntokio-util v0.7.20\nactix v0.13.5\ntokiopia v1.0.0";
    assert_eq!(runtimes_in(tree), ["tokio-util", "actix"]);
}

#[test]
fn a_use_is_found_in_code_and_not_in_comments_or_text() {
    let in_code = "fn f(a: Addr) { if true { a.do_send(Stop) } }";
    let in_text = "//! do_send\n/// Not `do_send`.\nfn f() -> &'static str { \"do_send\" } // do_send\nfn do_sends() {}";
    let files = made_up(&[("src/a.rs", in_code), ("src/b.rs", in_text)]);
    assert_eq!(users_of(&["do_send"], &files), [Path::new("src/a.rs")]);

    let started = "fn f() { tokio::process::Command::new(\"ls\"); }";
    let files = made_up(&[("src/a.rs", started), ("src/b.rs", "enum Command { New } use Command::New;")]);
    assert_eq!(users_of(&["Command", "::", "new"], &files), [Path::new("src/a.rs")]);
}

#[test]
fn a_use_at_home_is_allowed_and_elsewhere_is_not() {
    let users =
        ["actors/src/child.rs", "actors/src/child/group.rs", "actors/src/children.rs", "src/child.rs"];
    let outside = outside("actors/src/child", &users.map(Path::new));
    assert_eq!(outside, [Path::new("actors/src/children.rs"), Path::new("src/child.rs")]);
}

#[test]
fn a_file_of_more_than_500_lines_is_found() {
    let files = made_up(&[("src/fits.rs", &"\n".repeat(500)), ("src/long.rs", &"\n".repeat(501))]);
    assert_eq!(long_files(&files), [Path::new("src/long.rs")]);
}

type Source = (PathBuf, String);

/// Lists the crates of `tree` that belong to actix or tokio.
fn runtimes_in(tree: &str) -> Vec<&str> {
    let names = tree.lines().filter_map(|line| line.split_whitespace().next());
    names.filter(|name| matches!(name.split('-').next(), Some("actix" | "tokio"))).collect()
}

/// Lists the files whose code, comments and text apart, has `words` one after another.
fn users_of<'a>(words: &[&str], files: &'a [Source]) -> Vec<&'a Path> {
    let uses = |(path, text): &Source| {
        let tokens: TokenStream = text.parse().unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let mut code = Vec::new();
        flatten(tokens, &mut code);
        code.windows(words.len()).any(|window| window == words)
    };
    files.iter().filter(|file| uses(file)).map(|(path, _)| path.as_path()).collect()
}

/// Appends the names and signs of `tokens`, with `::` as one sign.
fn flatten(tokens: TokenStream, code: &mut Vec<String>) {
    for token in tokens {
        match token {
            TokenTree::Ident(name) => code.push(name.to_string()),
            TokenTree::Group(group) => flatten(group.stream(), code),
            TokenTree::Literal(_) => code.push("literal".into()),
            TokenTree::Punct(sign)
                if sign.as_char() == ':' && code.last().is_some_and(|last| last == ":") =>
            {
                code.pop();
                code.push("::".into());
            }
            TokenTree::Punct(sign) => code.push(sign.to_string()),
        }
    }
}

/// Keeps the files that are neither `home`.rs nor in the folder `home`.
fn outside<'a>(home: &str, files: &[&'a Path]) -> Vec<&'a Path> {
    files.iter().copied().filter(|path| !path.with_extension("").starts_with(home)).collect()
}

fn long_files(files: &[Source]) -> Vec<&Path> {
    files
        .iter()
        .filter(|(_, text)| text.lines().count() > MAX_LINES)
        .map(|(path, _)| path.as_path())
        .collect()
}

/// Reads every Rust file of `folders`, with its path from the root of the repository.
fn sources(folders: &[&str]) -> Vec<Source> {
    let mut files = Vec::new();
    let mut folders: Vec<PathBuf> = folders.iter().map(|folder| Path::new(ROOT).join(folder)).collect();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten() {
            let path = entry.expect("a readable folder").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(&path).expect("a readable file");
                files.push((path.strip_prefix(ROOT).expect("a path under the root").to_path_buf(), text));
            }
        }
    }
    files
}

fn made_up(files: &[(&str, &str)]) -> Vec<Source> {
    files.iter().map(|(path, text)| (PathBuf::from(path), (*text).to_owned())).collect()
}
