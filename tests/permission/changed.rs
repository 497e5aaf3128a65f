//! What was judged is what is touched, whatever is made of it in between.

use std::{
    fs,
    os::unix::fs::symlink,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread,
};

use parking_lot::Mutex;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::json;
use tempfile::TempDir;
use tokio::sync::Notify;
use toolyard::{
    Answers, Engine, Invocation, PermissionCheck, PermissionContext, PermissionRule, PermissionRules,
    RulePolicy, Tool, ToolFuture, ToolSpec, Verdict,
    builtin::file::{FileReadTool, FileRoot, FileWriteTool},
};

use super::{ids, resume, run};
use crate::engine::tools::{blocking, call, outcomes};

/// A folder with `out/x.txt` and `secret/x.txt`.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [("out", "public"), ("secret", "secret")] {
        fs::create_dir(folder.path().join(name)).unwrap();
        fs::write(folder.path().join(name).join("x.txt"), text).unwrap();
    }
    folder
}

fn relink(folder: &Path) {
    fs::rename(folder.join("out"), folder.join("old")).unwrap();
    symlink("secret", folder.join("out")).unwrap();
}

fn policy(rules: &[(Verdict, &str, &str)]) -> RulePolicy {
    let rule =
        rules.iter().map(|(verdict, action, resource)| PermissionRule::new(*verdict, *action, *resource));
    RulePolicy::new(PermissionRules { default: Verdict::Allow, rule: rule.collect() }).unwrap()
}

/// An engine with the file tools over a folder, and `relink`, which makes `out` a link to `secret`.
fn engine(folder: &Path, rules: &[(Verdict, &str, &str)]) -> Engine {
    let root = FileRoot::open(folder).unwrap();
    let path = folder.to_owned();
    let relink = blocking(ToolSpec::new("relink"), move |_| {
        relink(&path);
        Ok("done".into())
    });
    let builder = Engine::builder().tool(FileReadTool::new(root.clone())).tool(FileWriteTool::new(root));
    builder.tool(relink).permissions(policy(rules)).build().unwrap()
}

fn secret(folder: &Path) -> String {
    fs::read_to_string(folder.join("secret/x.txt")).unwrap()
}

#[test]
fn a_link_that_an_earlier_call_makes_does_not_lead_past_a_rule() {
    let folder = folder();
    let engine = engine(folder.path(), &[(Verdict::Deny, "file.*", "secret/*")]);
    let (report, _) = run(
        &engine,
        vec![
            call("file_read", json!({"path": "out/x.txt"})),
            call("relink", json!({})),
            call("file_read", json!({"path": "out/x.txt"})),
            call("file_write", json!({"path": "out/x.txt", "content": "PWNED"})),
            call("file_write", json!({"path": "out/new.txt", "content": "PWNED"})),
        ],
    );
    assert_eq!(outcomes(&report), ["ok", "ok", "denied", "denied", "denied"]);
    for result in &report.results[2..] {
        let error = result.error.as_deref().unwrap();
        assert!(error.contains("has changed since it was judged") && error.contains("secret/"), "{error}");
        assert!(result.output.is_none());
    }
    assert_eq!(secret(folder.path()), "secret");
    assert!(!folder.path().join("secret/new.txt").exists());
}

#[test]
fn an_approval_does_not_hold_for_what_a_link_leads_to_since() {
    for rules in [&[(Verdict::Ask, "file.write", "*")][..], &[(Verdict::Ask, "file.write", "out/*")]] {
        let folder = folder();
        let engine = engine(folder.path(), rules);
        let write = call("file_write", json!({"path": "out/x.txt", "content": "PWNED"}));
        let (_, mut list) = run(&engine, vec![write]);
        relink(folder.path());
        let answers = Answers::new().approve(ids(&list)[0].clone());
        let report = resume(&engine, &mut list, &answers).unwrap();
        assert_eq!(outcomes(&report), ["denied"]);
        let error = report.results[0].error.as_deref().unwrap();
        assert!(error.contains("has changed since it was approved"), "{error}");
        assert_eq!(secret(folder.path()), "secret");
    }
}

#[test]
fn a_link_that_is_swapped_all_the_time_never_leads_past_a_rule() {
    let folder = folder();
    symlink("secret", folder.path().join("link")).unwrap();
    let engine = engine(folder.path(), &[(Verdict::Deny, "file.*", "secret/*")]);
    let ended = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let (out, link) = (folder.path().join("out"), folder.path().join("link"));
            while !ended.load(Ordering::Relaxed) {
                renameat_with(CWD, &out, CWD, &link, RenameFlags::EXCHANGE).unwrap();
            }
        });
        for _ in 0..100 {
            let calls = (0..10).flat_map(|n| {
                let write = json!({"path": "out/x.txt", "content": format!("public {n}")});
                [call("file_read", json!({"path": "out/x.txt"})), call("file_write", write)]
            });
            let (report, _) = run(&engine, calls.collect());
            for result in report.results {
                let shown = result.output.map_or_else(String::new, |output| output.to_text().to_owned());
                assert!(!shown.contains("secret"), "{shown}");
            }
        }
        ended.store(true, Ordering::Relaxed);
    });
    assert_eq!(secret(folder.path()), "secret");
}

/// A tool whose resource is what the world says at the moment.
struct Door {
    spec: ToolSpec,
    leads_to: Arc<Mutex<&'static str>>,
    opened: Arc<Mutex<Vec<&'static str>>>,
    /// The world changes when the work has begun.
    moves: bool,
    /// It says that it waits, and for what.
    waits: Option<(mpsc::Sender<()>, Arc<Notify>)>,
}

impl Tool for Door {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn permission_check(&self, _: &str, _: &PermissionContext<'_>) -> Option<PermissionCheck> {
        Some(PermissionCheck { action: "open".into(), resource: (*self.leads_to.lock()).into() })
    }

    fn call(self: Arc<Self>, mut invocation: Invocation) -> ToolFuture {
        ToolFuture::new(async move {
            if let Some((begun, open)) = &self.waits {
                begun.send(()).unwrap();
                invocation.context.before_work(open.notified()).await;
                self.opened.lock().push("after the wait");
            }
            if self.moves {
                *self.leads_to.lock() = "vault";
            }
            let room = *self.leads_to.lock();
            invocation.context.as_judged(room)?;
            self.opened.lock().push(room);
            Ok(room.into())
        })
    }
}

#[test]
fn a_tool_that_looks_at_the_world_is_asked_again_and_can_compare_for_itself() {
    for moves in [false, true] {
        let (leads_to, opened) = (Arc::new(Mutex::new("hall")), Arc::new(Mutex::new(Vec::new())));
        let (spec, waits) = (ToolSpec::new("door"), None);
        let door = Door { spec, leads_to: leads_to.clone(), opened: opened.clone(), moves, waits };
        let turn = blocking(ToolSpec::new("turn"), move |_| {
            if !moves {
                *leads_to.lock() = "vault";
            }
            Ok("turned".into())
        });
        let rules = policy(&[(Verdict::Deny, "open", "vault")]);
        let engine = Engine::builder().tool(door).tool(turn).permissions(rules).build().unwrap();
        let (report, _) = run(&engine, vec![call("turn", json!({})), call("door", json!({}))]);
        assert_eq!(outcomes(&report), ["ok", "denied"], "moves: {moves}");
        assert!(report.results[1].error.as_deref().unwrap().contains("has changed"));
        assert!(opened.lock().is_empty());
    }
}

#[test]
fn a_call_that_waited_before_its_work_began_is_looked_at_once_more() {
    let (leads_to, opened) = (Arc::new(Mutex::new("hall")), Arc::new(Mutex::new(Vec::new())));
    let (begun, has_begun) = mpsc::channel();
    let open = Arc::new(Notify::new());
    let door = Door {
        spec: ToolSpec::new("door").parallel_safe(true),
        leads_to: leads_to.clone(),
        opened: opened.clone(),
        moves: false,
        waits: Some((begun, open.clone())),
    };
    let has_begun = Mutex::new(has_begun);
    let turn = blocking(ToolSpec::new("turn").parallel_safe(true), move |_| {
        has_begun.lock().recv().unwrap();
        *leads_to.lock() = "vault";
        open.notify_one();
        Ok("turned".into())
    });
    let rules = policy(&[(Verdict::Deny, "open", "vault")]);
    let engine = Engine::builder().tool(door).tool(turn).permissions(rules).build().unwrap();
    let (report, _) = run(&engine, vec![call("door", json!({})), call("turn", json!({}))]);
    assert_eq!(outcomes(&report), ["denied", "ok"]);
    assert!(report.results[0].error.as_deref().unwrap().contains("has changed"));
    assert!(opened.lock().is_empty(), "its work did not begin");
}

#[test]
fn without_a_policy_nothing_is_compared() {
    let folder = folder();
    let engine = engine(folder.path(), &[]);
    let (report, _) =
        run(&engine, vec![call("relink", json!({})), call("file_read", json!({"path": "out/x.txt"}))]);
    // The rules are empty, but they are a policy: the path is judged anew by another call.
    assert_eq!(outcomes(&report), ["ok", "denied"]);
    let root = FileRoot::open(folder.path()).unwrap();
    let engine = Engine::builder().tool(FileReadTool::new(root)).build().unwrap();
    let (report, _) = run(&engine, vec![call("file_read", json!({"path": "out/x.txt"}))]);
    assert_eq!(outcomes(&report), ["ok"]);
}
