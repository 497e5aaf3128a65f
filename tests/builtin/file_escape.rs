use std::{
    fs, io,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    thread,
};

use serde_json::json;
use toolyard::{Failure, Outcome};

use super::playground::{Playground, SECRET};

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
            playground.read(json!({"path": path})).unwrap_err(),
            playground.write(json!({"path": path, "content": "x"})).unwrap_err(),
            playground.write(json!({"path": path, "content": "x", "append": true})).unwrap_err(),
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
        let read = playground.read(json!({"path": path})).unwrap_err().error;
        let write = playground
            .write(json!({"path": path, "content": "x"}))
            .map_or_else(|e| e.error, |_| String::new());
        assert!(!read.contains(&base) && !write.contains(&base), "{read} {write}");
    }
}

/// Calls `act` while another thread puts what `make` makes in the place of `path`: 2,000 calls and 2,000 swaps.
///
/// `act` tells whether its call was answered or refused; both must have happened, or nothing was tried.
fn while_swapping(
    path: &Path,
    make: impl Fn(usize, &Path) -> io::Result<()> + Sync,
    act: impl Fn() -> Result<(), Failure>,
) {
    let (done, swaps) = (AtomicBool::new(false), AtomicUsize::new(0));
    let swap = || {
        let fresh = path.with_extension("fresh");
        make(swaps.fetch_add(1, Ordering::Relaxed), &fresh).expect("the next one can be made");
        fs::rename(&fresh, path).expect("the last one can be replaced");
    };
    swap();
    let (mut answered, mut refused) = (0, 0);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                swap();
            }
        });
        let _stop = SetOnDrop(&done);
        while answered + refused < 2_000 || swaps.load(Ordering::Relaxed) < 2_000 {
            *if act().is_ok() { &mut answered } else { &mut refused } += 1;
        }
    });
    assert!(answered > 0 && refused > 0, "{answered} calls were answered, {refused} refused");
}

/// Lets the other thread end also when a check fails.
struct SetOnDrop<'a>(&'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn innocent(text: &str) {
    assert_ne!(text, SECRET);
}

#[test]
fn a_folder_swapped_for_a_link_to_the_outside_gives_nothing_away_and_takes_nothing() {
    let playground = Playground::new();
    playground.file("harmless/secret.txt", "harmless");
    let targets = [PathBuf::from("harmless"), playground.outside("")];
    let link = |swap: usize, fresh: &Path| symlink(&targets[swap % 2], fresh);
    let door = playground.inside("door");
    while_swapping(&door, link, || {
        playground.read(json!({"path": "door/secret.txt"})).map(|text| innocent(&text))
    });
    while_swapping(&door, link, || {
        playground.write(json!({"path": "door/secret.txt", "content": "harmless"})).map(drop)
    });
    while_swapping(&door, link, || {
        playground.write(json!({"path": "door/sub/new.txt", "content": "x", "append": true})).map(drop)
    });
    assert!(playground.outside_is_untouched());
}

#[test]
fn a_file_swapped_for_a_link_to_the_outside_gives_nothing_away_and_takes_nothing() {
    let playground = Playground::new();
    playground.file("harmless.txt", "harmless");
    let secret = playground.outside("secret.txt");
    let file_or_link = |swap: usize, fresh: &Path| match swap % 3 {
        0 => fs::write(fresh, "harmless"),
        1 => symlink("harmless.txt", fresh),
        _ => symlink(&secret, fresh),
    };
    let door = playground.inside("door.txt");
    while_swapping(&door, file_or_link, || {
        playground.read(json!({"path": "door.txt"})).map(|text| innocent(&text))
    });
    while_swapping(&door, file_or_link, || {
        playground.write(json!({"path": "door.txt", "content": "harmless"})).map(drop)
    });
    while_swapping(&door, file_or_link, || {
        playground.write(json!({"path": "door.txt", "content": "", "append": true})).map(drop)
    });
    assert!(playground.outside_is_untouched());
}
