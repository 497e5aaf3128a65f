use std::{fs, os::unix::fs::PermissionsExt, sync::Arc, thread};

use serde_json::{Value, json};
use toolyard::{
    Access, CallContext, CallHost, CallId, Invocation, Outcome, PermissionContext, RunId, Tool,
    builtin::file::{Extensions, FileWriteTool},
};

use super::playground::{Playground, call, write};

#[test]
fn a_new_file_is_written_with_its_folders_and_the_receipt_says_what_was_done() {
    let playground = Playground::new();
    let receipt = playground.write(&json!({"path": "a/b/new.txt", "content": "grün"})).unwrap();
    assert_eq!(
        receipt,
        json!({"path": "a/b/new.txt", "bytes_written": 5, "total_bytes": 5, "appended": false})
    );
    assert_eq!(playground.text("a/b/new.txt"), "grün");
    let tool = FileWriteTool::new(playground.root.clone());
    let schema = tool.spec().output_schema.clone().unwrap();
    for required in schema["required"].as_array().unwrap() {
        assert!(receipt.get(required.as_str().unwrap()).is_some(), "{required}");
    }
}

#[test]
fn content_wins_over_text_and_path_over_input() {
    let playground = Playground::new();
    let arguments = json!({"path": "p.txt", "input": "i.txt", "content": "content", "text": "text"});
    playground.write(&arguments).unwrap();
    assert_eq!(playground.text("p.txt"), "content");
    playground.write(&json!({"input": "i.txt", "text": "text"})).unwrap();
    assert_eq!(playground.text("i.txt"), "text");
}

#[test]
fn without_content_nothing_is_touched_but_empty_content_empties_the_file() {
    let playground = Playground::new();
    playground.file("kept.txt", "kept");
    for arguments in [
        json!({"path": "kept.txt"}),
        json!({"path": "kept.txt", "append": true}),
        json!({"path": "kept.txt", "content": null}),
        json!({"input": "kept.txt"}),
    ] {
        let refused = playground.write(&arguments).unwrap_err();
        assert_eq!(refused.outcome, Outcome::BadArguments);
        assert!(refused.error.starts_with("file \"kept.txt\": no content"), "{}", refused.error);
        assert_eq!(playground.text("kept.txt"), "kept");
    }
    let receipt = playground.write(&json!({"path": "kept.txt", "content": ""})).unwrap();
    assert_eq!(receipt["total_bytes"], 0);
    assert_eq!(playground.text("kept.txt"), "");
}

#[test]
fn appending_keeps_what_is_there_and_makes_the_file_when_there_is_none() {
    let playground = Playground::new();
    let append = |content: &str| {
        playground.write(&json!({"path": "log.txt", "content": content, "append": true})).unwrap()
    };
    assert_eq!(append("one\n")["appended"], false);
    assert_eq!(
        append("two\n"),
        json!({"path": "log.txt", "bytes_written": 4, "total_bytes": 8, "appended": true})
    );
    append("");
    assert_eq!(playground.text("log.txt"), "one\ntwo\n");
}

#[test]
fn calls_that_append_to_one_file_at_the_same_time_lose_nothing() {
    let playground = Playground::new();
    let append =
        |line: String| playground.write(&json!({"path": "log.txt", "content": line, "append": true}));
    thread::scope(|scope| {
        for writer in 0..4 {
            scope.spawn(move || (0..25).for_each(|n| drop(append(format!("{writer}-{n}\n")).unwrap())));
        }
    });
    let text = playground.text("log.txt");
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    lines.dedup();
    assert_eq!(lines.len(), 100, "{text}");
}

#[test]
fn the_limit_counts_bytes_and_is_checked_before_anything_is_touched() {
    let playground = Playground::new();
    playground.file("kept.txt", "kept");
    let tool = Arc::new(FileWriteTool::new(playground.root.clone()).max_bytes(8));
    write(&tool, &json!({"path": "balloons.txt", "content": "🎈🎈"})).unwrap();
    let refused = write(&tool, &json!({"path": "new/kept.txt", "content": "🎈🎈."})).unwrap_err();
    assert_eq!(refused.outcome, Outcome::BadArguments);
    assert_eq!(
        refused.error,
        "file \"new/kept.txt\": the content has 9 bytes and may have 8: write it in parts"
    );
    assert!(!playground.inside("new").exists());
}

#[test]
fn arguments_are_checked_in_the_order_path_content_size_place() {
    let playground = Playground::new();
    let tool = FileWriteTool::new(playground.root.clone()).max_bytes(1).extensions(Extensions::only(["txt"]));
    let tool = Arc::new(tool);
    let error = |arguments: &Value| write(&tool, arguments).unwrap_err().error;
    assert!(error(&json!({})).starts_with("no path"));
    assert!(error(&json!({"path": "../x.pem"})).contains("no content"));
    assert!(error(&json!({"path": "../x.pem", "content": "long"})).contains("4 bytes"));
    assert!(error(&json!({"path": "../x.pem", "content": ""})).contains("leads outside"));
    assert!(error(&json!({"path": "x.pem", "content": ""})).contains("extensions"));
    assert_eq!(fs::read_dir(playground.inside("")).unwrap().count(), 0);
}

#[test]
fn the_mode_of_a_replaced_file_is_kept() {
    let playground = Playground::new();
    playground.file("script.sh", "old");
    for (mode, append) in [(0o750, false), (0o600, true)] {
        fs::set_permissions(playground.inside("script.sh"), fs::Permissions::from_mode(mode)).unwrap();
        playground.write(&json!({"path": "script.sh", "content": "new", "append": append})).unwrap();
        let kept = fs::metadata(playground.inside("script.sh")).unwrap().permissions().mode();
        assert_eq!(kept & 0o7777, mode);
    }
    assert_eq!(playground.text("script.sh"), "newnew");
}

#[test]
fn writing_through_a_link_writes_what_it_leads_to_and_leaves_the_link() {
    let playground = Playground::new();
    playground.file("real/f.txt", "old");
    playground.link("to_file.txt", "real/f.txt");
    playground.link("to_folder", playground.inside("real"));
    playground.link("dangling.txt", "real/later.txt");
    playground.write(&json!({"path": "to_file.txt", "content": "one"})).unwrap();
    assert_eq!(playground.text("real/f.txt"), "one");
    playground.write(&json!({"path": "to_folder/f.txt", "content": " two", "append": true})).unwrap();
    assert_eq!(playground.text("real/f.txt"), "one two");
    playground.write(&json!({"path": "dangling.txt", "content": "three"})).unwrap();
    assert_eq!(playground.text("real/later.txt"), "three");
    for link in ["to_file.txt", "to_folder", "dangling.txt"] {
        assert!(playground.inside(link).is_symlink(), "{link}");
    }
}

#[test]
fn a_missing_folder_is_an_error_where_folders_are_not_made() {
    let playground = Playground::new();
    let tool = Arc::new(FileWriteTool::new(playground.root.clone()).create_folders(false));
    let refused = write(&tool, &json!({"path": "no/f.txt", "content": ""})).unwrap_err();
    assert_eq!(refused.error, "file \"no/f.txt\": not found, because its folder does not exist");
    assert!(!playground.inside("no").exists());
}

#[test]
fn a_call_writes_the_place_that_its_path_leads_to() {
    let playground = Playground::new();
    playground.file("real/f.txt", "");
    playground.link("link", "real");
    let tool = FileWriteTool::new(playground.root.clone());
    let arguments = json!({"path": "link/../link/f.txt", "content": ""}).to_string();
    assert_eq!(tool.access(&arguments), Access::write("file/real/f.txt"));
    let check = tool.permission_check(&arguments, &PermissionContext::default()).unwrap();
    assert_eq!((check.action.as_str(), check.resource.as_str()), ("file.write", "real/f.txt"));
    // A call that will be refused is judged as it was given, and ordered as if it could touch everything.
    let arguments = json!({"path": "../f.txt", "content": ""}).to_string();
    assert_eq!(tool.access(&arguments), Access::write("file"));
    let check = tool.permission_check(&arguments, &PermissionContext::default()).unwrap();
    assert_eq!(check.resource, "../f.txt");
}

#[test]
fn a_call_that_was_given_up_before_its_turn_writes_nothing() {
    struct GivenUp;
    impl CallHost for GivenUp {
        fn agent(&self) -> Option<&str> {
            None
        }
        fn call_id(&self, _: usize) -> Option<&CallId> {
            None
        }
        fn is_cancelled(&self, _: usize) -> bool {
            true
        }
        fn listens(&self) -> bool {
            false
        }
        fn progress(&self, _: usize, _: Value) {}
    }
    let playground = Playground::new();
    let tool = Arc::new(FileWriteTool::new(playground.root.clone()));
    let invocation = Invocation {
        arguments: json!({"path": "f.txt", "content": ""}).to_string(),
        context: CallContext::new(RunId(1), 0, None, Arc::new(GivenUp)),
    };
    let refused = call(&tool, invocation).unwrap_err();
    assert_eq!(refused.error, "file \"f.txt\": not written, because the call was given up");
    assert!(!playground.inside("f.txt").exists());
}
