use std::{fs::File, os::unix::net::UnixListener, process::Command, sync::Arc};

use serde_json::json;
use toolyard::{
    Outcome, PermissionContext, Tool,
    builtin::file::{DEFAULT_MAX_BYTES, Extensions, FileReadTool, FileRoot},
};

use super::playground::{Playground, read};

#[test]
fn a_file_is_given_as_it_is_also_when_it_begins_with_error() {
    let playground = Playground::new();
    playground.file("log.txt", "ERROR: disk\r\n\n");
    assert_eq!(playground.read(&json!({"path": "log.txt"})).unwrap(), "ERROR: disk\r\n\n");
    assert_eq!(playground.read(&json!({"input": " log.txt\n"})).unwrap(), "ERROR: disk\r\n\n");
    playground.file("empty.txt", "");
    assert_eq!(playground.read(&json!({"path": "empty.txt"})).unwrap(), "");
}

#[test]
fn every_way_to_a_file_inside_works_and_is_one_resource_with_one_key() {
    let playground = Playground::new();
    playground.file("a/b/f.txt", "found");
    playground.link("by_name.txt", "a/b/f.txt");
    playground.link("by_folder", "a");
    playground.link("by_chain.txt", "by_folder/../by_name.txt");
    playground.link("absolute.txt", playground.inside("a/b/f.txt"));
    playground.link("absolute_folder", playground.inside("a"));
    playground.link("a/up.txt", "../a/b/f.txt");
    let absolute = playground.inside("a/b/f.txt").display().to_string();
    let tool = FileReadTool::new(playground.root.clone());
    for path in [
        "a/b/f.txt",
        "./a//b/./f.txt",
        "a/b/../b/f.txt",
        "a/../by_folder/b/f.txt",
        "by_name.txt",
        "by_folder/b/f.txt",
        "by_chain.txt",
        "absolute.txt",
        "absolute_folder/b/f.txt",
        "a/up.txt",
        &absolute,
    ] {
        assert_eq!(playground.read(&json!({"path": path})).as_deref(), Ok("found"), "{path}");
        let arguments = json!({"path": path}).to_string();
        assert_eq!(tool.access(&arguments), toolyard::Access::read("file/a/b/f.txt"), "{path}");
        let check = tool.permission_check(&arguments, &PermissionContext::default()).unwrap();
        assert_eq!((check.action.as_str(), check.resource.as_str()), ("file.read", "a/b/f.txt"), "{path}");
    }
}

#[test]
fn the_folder_as_it_was_named_counts_as_inside_also_when_a_link_led_to_it() {
    let playground = Playground::new();
    playground.file("real/f.txt", "found");
    playground.link("alias", "real");
    let root = FileRoot::open(playground.inside("alias")).unwrap();
    let tool = Arc::new(FileReadTool::new(root));
    for path in ["alias/f.txt", "real/f.txt"] {
        let absolute = playground.inside(path);
        assert_eq!(read(&tool, &json!({"path": absolute})).as_deref(), Ok("found"), "{path}");
    }
}

#[test]
fn whatever_is_no_regular_file_is_refused_without_waiting() {
    let playground = Playground::new();
    playground.file("folder/f.txt", "");
    let made =
        Command::new("mkfifo").arg(playground.inside("pipe")).status().expect("this test needs `mkfifo`");
    assert!(made.success());
    let _listener = UnixListener::bind(playground.inside("socket")).unwrap();
    playground.link("to_pipe", "pipe");
    for (path, kind) in [
        ("folder", "a folder"),
        (".", "a folder"),
        ("folder/..", "a folder"),
        ("pipe", "a named pipe"),
        ("to_pipe", "a named pipe"),
        ("socket", "a socket"),
    ] {
        let expected = format!("file {path:?}: is {kind}, not a regular file");
        let refused = playground.read(&json!({"path": path})).unwrap_err();
        assert_eq!((refused.outcome, refused.error), (Outcome::Failed, expected.clone()));
        let refused = playground.write(&json!({"path": path, "content": "x"})).unwrap_err();
        assert_eq!((refused.outcome, refused.error), (Outcome::Failed, expected));
    }
    let devices = Arc::new(FileReadTool::new(FileRoot::open("/dev").unwrap()));
    let refused = read(&devices, &json!({"path": "zero"})).unwrap_err();
    assert_eq!(refused.error, "file \"zero\": is a device, not a regular file");
}

#[test]
fn a_file_may_have_as_many_bytes_as_the_limit_says() {
    let playground = Playground::new();
    let tool = Arc::new(FileReadTool::new(playground.root.clone()).max_bytes(4));
    playground.file("four.txt", "🎈");
    playground.file("five.txt", "12345");
    assert_eq!(read(&tool, &json!({"path": "four.txt"})).unwrap(), "🎈");
    let error = read(&tool, &json!({"path": "five.txt"})).unwrap_err().error;
    assert_eq!(error, "file \"five.txt\": has more than 4 bytes, the most that may be read");
}

#[test]
fn a_huge_file_is_refused_by_its_size_alone() {
    let playground = Playground::new();
    File::create(playground.inside("huge")).unwrap().set_len(1 << 40).unwrap();
    let error = playground.read(&json!({"path": "huge"})).unwrap_err().error;
    assert!(error.contains(&format!("more than {DEFAULT_MAX_BYTES} bytes")), "{error}");
}

#[test]
fn a_file_that_says_it_is_empty_is_still_read_no_further_than_the_limit() {
    let tool = Arc::new(FileReadTool::new(FileRoot::open("/proc/self").unwrap()).max_bytes(10));
    let error = read(&tool, &json!({"path": "status"})).unwrap_err().error;
    assert_eq!(error, "file \"status\": has more than 10 bytes, the most that may be read");
}

#[test]
fn only_allowed_extensions_are_read_whatever_a_link_is_called() {
    let playground = Playground::new();
    playground.file("notes.TXT", "yes");
    playground.file("key.pem", "no");
    playground.link("harmless.txt", "key.pem");
    let tool = FileReadTool::new(playground.root.clone()).extensions(Extensions::only(["txt", ".md"]));
    let tool = Arc::new(tool);
    assert_eq!(read(&tool, &json!({"path": "notes.TXT"})).unwrap(), "yes");
    for path in ["key.pem", "harmless.txt"] {
        let refused = read(&tool, &json!({"path": path})).unwrap_err();
        assert_eq!(refused.outcome, Outcome::BadArguments);
        assert_eq!(
            refused.error,
            format!("file {path:?}: only files with these extensions may be used: txt, md")
        );
    }
}

#[test]
fn another_encoding_is_read_when_it_is_named_and_bytes_that_do_not_fit_are_an_error() {
    let playground = Playground::new();
    playground.file("latin.txt", b"one\ngr\xfcn");
    let read = |encoding: &str| playground.read(&json!({"path": "latin.txt", "encoding": encoding}));
    assert_eq!(read("latin-1").unwrap(), "one\ngrün");
    let error = playground.read(&json!({"path": "latin.txt"})).unwrap_err().error;
    assert_eq!(
        error,
        "file \"latin.txt\": not UTF-8 text: byte 6, in line 2, does not fit: give its `encoding`"
    );
    let refused = read("rot13").unwrap_err();
    assert_eq!(refused.outcome, Outcome::BadArguments);
    assert!(refused.error.contains("encoding \"rot13\" is not known"), "{}", refused.error);
}

#[test]
fn a_path_that_names_nothing_is_an_error_that_names_it() {
    let playground = Playground::new();
    playground.link("loop", "loop");
    playground.link("dangling", "nowhere.txt");
    playground.file("file.txt", "");
    for (path, outcome, error) in [
        (json!("none.txt"), Outcome::Failed, "file \"none.txt\": not found"),
        (
            json!("no/ne.txt"),
            Outcome::Failed,
            "file \"no/ne.txt\": not found, because its folder does not exist",
        ),
        (json!("dangling"), Outcome::Failed, "file \"dangling\": not found"),
        (json!("loop"), Outcome::Failed, "file \"loop\": too many links lead to one another"),
        (json!("file.txt/x"), Outcome::Failed, "file \"file.txt/x\": not a directory"),
        (json!(""), Outcome::BadArguments, "no path: name the file in `path`"),
        (json!("a\0b"), Outcome::BadArguments, "the path is not usable: it has a zero byte"),
        (
            json!("a/".repeat(3_000)),
            Outcome::BadArguments,
            "the path is not usable: it is longer than 4096 bytes",
        ),
        (
            json!("a/"),
            Outcome::BadArguments,
            "the path is not usable: it ends with `/`, as the path of a folder does",
        ),
    ] {
        let refused = playground.read(&json!({"path": path})).unwrap_err();
        assert_eq!((refused.outcome, refused.error.as_str()), (outcome, error));
    }
    assert_eq!(playground.read(&json!({})).unwrap_err().outcome, Outcome::BadArguments);
    let typo = playground.read(&json!({"path": "file.txt", "encodign": "utf-8"})).unwrap_err();
    assert!(typo.error.contains("encodign"), "{}", typo.error);
}
