use std::{cell::RefCell, fs, hint, os::unix::fs::symlink, path::Path, sync::Barrier, thread};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::json;
use toolyard::{Failure, Outcome};

use super::playground::Playground;

#[test]
fn no_path_and_no_link_leads_outside() {
    let playground = Playground::new();
    playground.file("folder/f.txt", "");
    playground.link("relative", "../outside");
    playground.link("absolute", playground.outside(""));
    playground.link("folder/file.txt", "../../outside/secret.txt");
    playground.link("hop", "folder/../relative");
    playground.link("folder/out_and_back", "../../inside/folder");
    let absolute = playground.outside("secret.txt").display().to_string();
    let dotted = playground.inside("../outside/secret.txt").display().to_string();
    let sibling =
        format!("{}side/secret.txt", playground.inside("").display().to_string().trim_end_matches('/'));
    for path in [
        "../outside/secret.txt",
        "folder/../../outside/secret.txt",
        "missing/../../outside/secret.txt",
        "../inside/folder/f.txt",
        "..",
        "relative/secret.txt",
        "relative/new/f.txt",
        "absolute/secret.txt",
        "folder/file.txt",
        "hop/secret.txt",
        "hop/../outside/secret.txt",
        "folder/out_and_back/f.txt",
        "/etc/passwd",
        "/",
        "//etc/passwd",
        "/proc/self/cwd/Cargo.toml",
        &absolute,
        &dotted,
        &sibling,
    ] {
        let expected = if path == "/" {
            "the path is not usable: it ends with `/`, as the path of a folder does".to_owned()
        } else {
            format!("file {path:?}: leads outside the folder of the file tools: give a path inside it")
        };
        for refused in [
            playground.read(&json!({"path": path})).unwrap_err(),
            playground.write(&json!({"path": path, "content": "x"})).unwrap_err(),
            playground.write(&json!({"path": path, "content": "x", "append": true})).unwrap_err(),
        ] {
            assert_eq!((refused.outcome, &refused.error), (Outcome::BadArguments, &expected));
        }
    }
    assert!(playground.outside_is_untouched());
}

#[test]
fn errors_never_show_a_path_of_the_host() {
    let playground = Playground::new();
    playground.link("out.txt", playground.outside("secret.txt"));
    playground.link("loop", playground.inside("loop"));
    playground.file("file.txt", b"\xff");
    let base = playground.outside("").parent().unwrap().display().to_string();
    for path in ["out.txt", "loop", "loop/x", "file.txt", "file.txt/x", "none", "none/x", ".", "..", "a\0"] {
        let read = playground.read(&json!({"path": path})).unwrap_err().error;
        let write = playground
            .write(&json!({"path": path, "content": "x"}))
            .map_or_else(|e| e.error, |_| String::new());
        assert!(!read.contains(&base) && !write.contains(&base), "{read} {write}");
    }
}

/// Calls `act` while another thread makes a swap, at another moment in each round.
///
/// `act` tells whether its call was answered or refused; both must have happened, or nothing was tried.
fn while_swapping(
    rounds: usize,
    prepare: impl Fn(),
    swap: impl Fn() + Sync,
    act: impl Fn() -> Result<(), Failure>,
) {
    let (start, end) = (Barrier::new(2), Barrier::new(2));
    let answered = thread::scope(|scope| {
        scope.spawn(|| {
            for round in 0..rounds {
                start.wait();
                (0..round * 37 % 4_000).for_each(|_| hint::spin_loop());
                swap();
                end.wait();
            }
        });
        let round = |_: &usize| {
            prepare();
            start.wait();
            let answered = act().is_ok();
            end.wait();
            answered
        };
        (0..rounds).filter(round).count()
    });
    assert!(answered > 0 && answered < rounds, "{answered} calls of {rounds} were answered");
}

fn exchange(one: &Path, other: &Path) {
    renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).expect("both are there");
}

#[test]
fn a_folder_swapped_for_a_link_to_the_outside_gives_nothing_away_and_takes_nothing() {
    let playground = Playground::new();
    playground.file("door/secret.txt", "harmless");
    playground.link("spare", playground.outside(""));
    let (door, spare) = (playground.inside("door"), playground.inside("spare"));
    let prepare = || {
        if door.is_symlink() {
            exchange(&door, &spare);
        }
    };
    let swap = || exchange(&door, &spare);
    let seen = RefCell::new(Vec::new());
    while_swapping(5_000, prepare, swap, || {
        playground.read(&json!({"path": "door/secret.txt"})).map(|text| seen.borrow_mut().push(text))
    });
    assert!(seen.take().iter().all(|text| text == "harmless"));
    while_swapping(400, prepare, swap, || {
        playground.write(&json!({"path": "door/secret.txt", "content": "harmless"})).map(drop)
    });
    while_swapping(400, prepare, swap, || {
        playground.write(&json!({"path": "door/sub/new.txt", "content": "", "append": true})).map(drop)
    });
    assert!(playground.outside_is_untouched());
}

#[test]
fn a_file_swapped_for_a_link_to_the_outside_gives_nothing_away_and_takes_nothing() {
    let playground = Playground::new();
    let (door, spare) = (playground.inside("door.txt"), playground.inside("spare"));
    let secret = playground.outside("secret.txt");
    let prepare = || {
        fs::remove_file(&spare).ok();
        symlink(&secret, &spare).expect("a link can be made");
        fs::remove_file(&door).ok();
        fs::write(&door, "harmless").expect("a file can be made");
    };
    let swap = || exchange(&door, &spare);
    let seen = RefCell::new(Vec::new());
    while_swapping(5_000, prepare, swap, || {
        playground.read(&json!({"path": "door.txt"})).map(|text| seen.borrow_mut().push(text))
    });
    assert!(seen.take().iter().all(|text| text == "harmless"));
    while_swapping(400, prepare, swap, || {
        playground.write(&json!({"path": "door.txt", "content": "harmless"})).map(drop)
    });
    while_swapping(400, prepare, swap, || {
        playground.write(&json!({"path": "door.txt", "content": "", "append": true})).map(drop)
    });
    assert!(playground.outside_is_untouched());
}
