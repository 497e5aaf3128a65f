//! Servers that want something of their client: questions for people, a model, roots; in both forms of the protocol.

use std::{fs, time::Duration};

use serde_json::{Value, json, value::RawValue};
use tempfile::TempDir;
use toolyard::{
    Answer, Answers, CallId, Engine, ExecuteOptions, Outcome, Report, ToolCall, ToolResult,
    mcp::{LinkMode, McpHost, McpLogLevel, McpNoticeKind, McpReference, McpRoot, McpServerConfig},
};

use super::{eventually, output, run, status, within};

pub(super) const SERVER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/mcp/asking_server.py");

/// The two forms of the protocol.
const FORMS: [&str; 2] = ["sessions", "stateless"];

/// A server that asks, and what it has heard of.
struct Asking {
    folder: TempDir,
    form: &'static str,
}

impl Asking {
    fn new(form: &'static str) -> Self {
        Self { folder: tempfile::tempdir().unwrap(), form }
    }

    fn config(&self) -> McpServerConfig {
        McpServerConfig::stdio("python3", [SERVER, self.form])
            .env("NOTES", self.notes_path().display().to_string())
    }

    fn notes_path(&self) -> std::path::PathBuf {
        self.folder.path().join("notes")
    }

    fn notes(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.notes_path()).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn heard(&self, what: &Value) -> bool {
        self.notes().contains(what)
    }

    /// An engine with this server under the name `s`.
    async fn engine(&self, host: McpHost, set: impl FnOnce(McpServerConfig) -> McpServerConfig) -> Engine {
        let engine = Engine::builder().mcp_host(host).build().unwrap();
        let config = set(self.config().connect_timeout(Duration::from_mins(2)));
        engine.mcp().add("s", config).await.unwrap();
        engine.mcp().settled(Duration::from_mins(2), || false).await;
        assert_eq!(status(&engine)["s"].last_error, None);
        engine
    }

    async fn plain_engine(&self) -> Engine {
        self.engine(McpHost::new(), |config| config).await
    }
}

async fn report(engine: &Engine, tools: &[&str]) -> Report {
    let calls: Vec<_> = tools.iter().map(|tool| ToolCall::new(*tool, json!({}).into())).collect();
    within("the list", engine.execute(calls, ExecuteOptions::new())).await.unwrap()
}

fn input(value: &Value) -> Answer {
    Answer::Input(RawValue::from_string(value.to_string()).unwrap())
}

/// Answers the request of the first call.
async fn answered(engine: &Engine, report: &Report, value: &Value) -> ToolResult {
    let mut list = report.suspend(CallId::default());
    let id = list.parked[0].call.request_id.clone();
    let answers = Answers::new().with(id, input(value));
    let report = within("the answer", engine.resume(&mut list, &answers, ExecuteOptions::new())).await;
    report.unwrap().results.remove(0)
}

fn said(result: &ToolResult) -> Value {
    assert!(result.is_ok(), "{result:?}");
    serde_json::from_str(result.output.as_ref().unwrap().to_text()).unwrap()
}

#[tokio::test]
async fn a_question_suspends_its_call_and_the_answer_goes_back_to_the_server() {
    for form in FORMS {
        let server = Asking::new(form);
        let engine = server.plain_engine().await;
        let report = report(&engine, &["s_ask"]).await;
        assert_eq!(report.results[0].outcome, Outcome::Suspended);
        let question = report.results[0].error.as_deref().unwrap();
        assert!(question.contains("MCP server \"s\" asks: Who are you?"), "{question}");
        assert!(question.contains("\"required\":[\"name\"]"), "{question}");
        let result = answered(&engine, &report, &json!({"name": "Ada"})).await;
        let content = json!({"name": "Ada", "title": "Dr"});
        assert_eq!(said(&result), json!([{"who": {"action": "accept", "content": content}}]), "{form}");
        assert_eq!(status(&engine)["s"].in_flight, 0);
        engine.shutdown(Duration::ZERO).await;
    }
}

#[tokio::test]
async fn a_call_may_ask_several_times_and_may_be_declined() {
    for form in FORMS {
        let server = Asking::new(form);
        let engine = server.plain_engine().await;
        let mut list = report(&engine, &["s_ask_twice"]).await.suspend(CallId::default());
        let mut given = [json!({"name": "Ada", "title": "Lady"}), json!({"action": "decline"})].into_iter();
        let ended = loop {
            let id = list.parked[0].call.request_id.clone();
            let answers = Answers::new().with(id, input(&given.next().unwrap()));
            let report = engine.resume(&mut list, &answers, ExecuteOptions::new()).await.unwrap();
            if list.parked.is_empty() {
                break report.results[0].clone();
            }
            assert!(list.parked[0].reason.contains("Who else?"));
        };
        let content = json!({"name": "Ada", "title": "Lady"});
        let expected =
            json!([{"who": {"action": "accept", "content": content}}, {"who": {"action": "decline"}}]);
        assert_eq!(said(&ended), expected, "{form}");
        engine.shutdown(Duration::ZERO).await;
    }
}

#[tokio::test]
async fn an_answer_that_does_not_fit_is_asked_for_again() {
    for form in FORMS {
        let server = Asking::new(form);
        let engine = server.plain_engine().await;
        let mut list = report(&engine, &["s_ask"]).await.suspend(CallId::default());
        let first = list.parked[0].call.request_id.clone();
        let answers = Answers::new().with(first.clone(), input(&json!({"name": 5})));
        engine.resume(&mut list, &answers, ExecuteOptions::new()).await.unwrap();
        let again = &list.parked[0];
        assert_ne!(again.call.request_id, first);
        assert!(again.reason.starts_with("the answer does not fit: 5 is not of type"), "{}", again.reason);
        let answers = Answers::new().with(again.call.request_id.clone(), input(&json!({"name": "Ada"})));
        let report = engine.resume(&mut list, &answers, ExecuteOptions::new()).await.unwrap();
        assert!(said(&report.results[0])[0]["who"]["content"]["name"] == "Ada");
        engine.shutdown(Duration::ZERO).await;
    }
}

#[tokio::test]
async fn a_call_without_a_session_goes_on_in_another_process() {
    let server = Asking::new("stateless");
    let engine = server.plain_engine().await;
    let text = report(&engine, &["s_ask_both"]).await.suspend(CallId::default()).to_json();
    engine.shutdown(Duration::ZERO).await;

    let engine = server.plain_engine().await;
    let mut list = toolyard::SuspendedList::from_json(&text).unwrap();
    let both = json!({"one": {"name": "A", "title": "t"}, "two": {"action": "cancel"}});
    let answers = Answers::new().with(list.parked[0].call.request_id.clone(), input(&both));
    let report = engine.resume(&mut list, &answers, ExecuteOptions::new()).await.unwrap();
    let one = json!({"action": "accept", "content": {"name": "A", "title": "t"}});
    assert_eq!(said(&report.results[0]), json!([{"one": one, "two": {"action": "cancel"}}]));
    engine.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn with_a_session_another_process_repeats_a_call_only_where_it_may() {
    for (repeat, outcome) in [(false, Outcome::Lost), (true, Outcome::Ok)] {
        let server = Asking::new("sessions");
        let engine = server.plain_engine().await;
        let text = report(&engine, &["s_ask"]).await.suspend(CallId::default()).to_json();
        engine.shutdown(Duration::ZERO).await;

        let engine = server.engine(McpHost::new(), |config| config.repeat_asked(repeat)).await;
        let mut list = toolyard::SuspendedList::from_json(&text).unwrap();
        let answers =
            Answers::new().with(list.parked[0].call.request_id.clone(), input(&json!({"name": "Ada"})));
        let report = engine.resume(&mut list, &answers, ExecuteOptions::new()).await.unwrap();
        assert_eq!(report.results[0].outcome, outcome, "{:?}", report.results[0]);
        let begun = server.notes().iter().filter(|note| **note == "ask begins").count();
        assert_eq!(begun, if repeat { 2 } else { 1 });
        engine.shutdown(Duration::ZERO).await;
    }
}

#[tokio::test]
async fn a_question_is_held_open_for_its_time_and_a_denial_ends_it_at_once() {
    let server = Asking::new("sessions");
    let soon = Duration::from_millis(50);
    let engine = server.engine(McpHost::new(), |config| config.question_timeout(soon)).await;
    let late = report(&engine, &["s_ask"]).await;
    eventually("the server hears that nobody answers", || {
        server.heard(&json!({"answer": {"action": "cancel"}})) && status(&engine)["s"].in_flight == 0
    })
    .await;
    let result = answered(&engine, &late, &json!({"name": "Ada"})).await;
    assert_eq!(result.outcome, Outcome::Lost);
    engine.shutdown(Duration::ZERO).await;

    let server = Asking::new("sessions");
    let engine = server.plain_engine().await;
    let mut list = report(&engine, &["s_ask"]).await.suspend(CallId::default());
    assert_eq!(status(&engine)["s"].in_flight, 1);
    let answers = Answers::new().deny(list.parked[0].call.request_id.clone());
    let report = engine.resume(&mut list, &answers, ExecuteOptions::new()).await.unwrap();
    assert_eq!(report.results[0].outcome, Outcome::Denied);
    eventually("the server hears of the denial", || {
        server.heard(&json!({"answer": {"action": "cancel"}})) && status(&engine)["s"].in_flight == 0
    })
    .await;
    engine.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn calls_that_ask_at_the_same_time_each_get_an_answer_of_their_own() {
    for mode in [LinkMode::Persistent, LinkMode::PerCall] {
        let server = Asking::new("sessions");
        let engine = server.engine(McpHost::new(), |config| config.mode(mode)).await;
        let calls: Vec<_> = (0..3).map(|_| ToolCall::new("s_ask", json!({}).into())).collect();
        let lists = calls.into_iter().map(|call| {
            let engine = engine.clone();
            tokio::spawn(async move { engine.execute(vec![call], ExecuteOptions::new()).await.unwrap() })
        });
        let lists: Vec<_> = lists.collect();
        let mut names = Vec::new();
        for (at, list) in lists.into_iter().enumerate() {
            let report = within("every call asks", list).await.unwrap();
            assert_eq!(report.results[0].outcome, Outcome::Suspended);
            names.push((at, report));
        }
        for (at, report) in names.iter().rev() {
            let result = answered(&engine, report, &json!({"name": at.to_string()})).await;
            assert_eq!(said(&result)[0]["who"]["content"]["name"], at.to_string());
        }
        engine.shutdown(Duration::ZERO).await;
    }
}

#[tokio::test]
async fn a_question_waits_until_it_can_only_come_from_one_call() {
    let server = Asking::new("sessions");
    let engine = server.plain_engine().await;
    let list = |tool: &'static str| {
        let engine = engine.clone();
        tokio::spawn(async move { report(&engine, &[tool]).await })
    };
    let later = list("s_later");
    eventually("the first is out", || status(&engine)["s"].in_flight == 1).await;
    let asking = list("s_ask");
    eventually("the second asks", || server.heard(&json!("ask begins"))).await;
    assert!(!asking.is_finished());
    // Any line lets the first call end, and then only the second can have asked.
    engine.mcp().complete("s", McpReference::Prompt("p".into()), "a", "", [].into()).await.unwrap();
    assert!(later.await.unwrap().results[0].is_ok());
    let report = within("the question", asking).await.unwrap();
    let result = answered(&engine, &report, &json!({"name": "Ada"})).await;
    assert_eq!(said(&result)[0]["who"]["content"]["name"], "Ada");
    engine.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn what_a_call_asks_too_much_is_no_question_of_the_next() {
    let server = Asking::new("sessions");
    let engine = server.plain_engine().await;
    for _ in 0..3 {
        let flood = report(&engine, &["s_flood"]).await;
        // The server has answered meanwhile; the first question may have come before the answer or after it.
        assert!(matches!(flood.results[0].outcome, Outcome::Suspended | Outcome::Ok), "{flood:?}");
        let next = report(&engine, &["s_touch", "s_say"]).await;
        assert!(next.all_ok() && next.parked.is_empty(), "{next:?}");
        // One that asks itself is asked about in its own words.
        let asks = report(&engine, &["s_ask"]).await;
        assert!(asks.parked[0].reason.contains("Who are you?"), "{}", asks.parked[0].reason);
        let result = answered(&engine, &asks, &json!({"name": "Ada"})).await;
        assert_eq!(said(&result)[0]["who"]["content"]["name"], "Ada");
    }
    engine.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn the_host_answers_for_its_model_and_names_roots() {
    for form in FORMS {
        let server = Asking::new(form);
        let host = McpHost::new()
            .sampling(|request| async move {
                assert_eq!((&*request.server, &request.params["maxTokens"]), ("s", &json!(9)));
                Ok(json!({"role": "assistant", "model": "m", "content": {"type": "text", "text": "4"}}))
            })
            .roots(|server| vec![McpRoot::new(format!("file:///{server}"))]);
        let engine =
            server.engine(host, |config| config.root(McpRoot::new("file:///work").name("work"))).await;
        let sampled = said(&run(&engine, "s_model", json!({})).await);
        assert_eq!(sampled[0]["model"]["content"]["text"], "4", "{form}");
        let roots = said(&run(&engine, "s_where", json!({})).await);
        let expected = json!([{"uri": "file:///work", "name": "work"}, {"uri": "file:///s"}]);
        assert_eq!(roots[0]["roots"]["roots"], expected, "{form}");
        engine.shutdown(Duration::ZERO).await;
    }
}

#[tokio::test]
async fn a_model_or_a_list_of_roots_that_panics_is_no_answer_and_the_connection_goes_on() {
    for (form, later) in FORMS.into_iter().flat_map(|form| [(form, false), (form, true)]) {
        let server = Asking::new(form);
        let host = McpHost::new()
            .sampling(move |_| {
                assert!(later, "the host breaks at once");
                async { panic!("the host breaks later") }
            })
            .roots(|_| panic!("the host breaks"));
        let engine = server.engine(host, |config| config.root(McpRoot::new("file:///work"))).await;
        let reason = "the model here broke while it was asked";
        let refused = run(&engine, "s_model", json!({})).await;
        let text = format!("{:?} {:?}", refused.error, refused.output);
        assert!(text.contains(reason), "{form}: {text}");
        let roots = said(&run(&engine, "s_where", json!({})).await);
        assert_eq!(roots[0]["roots"]["roots"], json!([{"uri": "file:///work"}]), "{form}");
        assert_eq!(status(&engine)["s"].generation, 1, "{form}: still the first connection");
        engine.shutdown(Duration::ZERO).await;
    }
}

#[tokio::test]
async fn a_server_in_this_process_that_panics_when_it_is_connected_to_says_so() {
    let broken = McpServerConfig::in_process(|| panic!("it breaks"));
    let engine = Engine::builder().build().unwrap();
    let _ = engine.mcp().add("s", broken).await;
    engine.mcp().settled(Duration::from_secs(20), || status(&engine)["s"].last_error.is_some()).await;
    let error = status(&engine)["s"].last_error.clone().unwrap();
    assert!(error.contains("it panicked while it was being connected to"), "{error}");
    engine.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn without_a_model_servers_are_refused_and_roots_are_none() {
    let reason = "there is no model here for servers to ask";
    let server = Asking::new("sessions");
    let engine = server.plain_engine().await;
    let refused = said(&run(&engine, "s_model", json!({})).await);
    assert_eq!(refused[0]["model"], json!({"code": -32601, "message": reason}));
    assert_eq!(said(&run(&engine, "s_where", json!({})).await)[0]["roots"], json!({"roots": []}));
    assert!(server.heard(&json!({"client": {"elicitation": {"form": {}, "url": {}}}})));
    engine.shutdown(Duration::ZERO).await;

    let server = Asking::new("stateless");
    let engine = server.plain_engine().await;
    let failed = run(&engine, "s_model", json!({})).await;
    assert_eq!(failed.outcome, Outcome::Failed);
    let error = format!("tool \"s_model\": its server asks for a model: {reason}");
    assert_eq!(failed.error, Some(error));
    engine.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn templates_are_listed_and_what_is_typed_is_completed() {
    for form in FORMS {
        let server = Asking::new(form);
        let engine = server.plain_engine().await;
        let templates = engine.mcp().resource_templates(None).await.unwrap().remove(0).items.unwrap();
        assert_eq!(templates[0]["uriTemplate"], "res://{a}");
        let known = [("b".to_owned(), "c".to_owned())].into();
        let of = McpReference::Template("res://{a}".into());
        let answer = engine.mcp().complete("s", of, "a", "Mos", known).await.unwrap();
        let values = answer["completion"]["values"].as_array().unwrap();
        assert_eq!(values[0], "Moson");
        assert!(values[1].as_str().unwrap().contains("\"b\": \"c\""), "{values:?}");
        engine.shutdown(Duration::ZERO).await;
    }
}

#[tokio::test]
async fn changes_of_a_resource_and_lines_of_a_log_are_told() {
    for form in FORMS {
        let server = Asking::new(form);
        let engine = server.engine(McpHost::new(), |config| config.log_level(McpLogLevel::Warning)).await;
        let mut notices = engine.mcp().notices();
        engine.mcp().subscribe_resource("s", "res://x").await.unwrap();
        let subscribed = || match form {
            "sessions" => server.heard(&json!({"resources/subscribe": "res://x"})),
            _ => server.heard(&json!({"listen": {"resourceSubscriptions": ["res://x"]}})),
        };
        eventually("the server knows of the subscription", subscribed).await;
        output(&engine, "s_touch", json!({})).await;
        let notice = within("the change", notices.next()).await.unwrap();
        assert_eq!(&*notice.server, "s");
        assert_eq!(notice.kind, McpNoticeKind::ResourceUpdated { uri: "res://x".into() });

        output(&engine, "s_say", json!({})).await;
        let notice = within("the line", notices.next()).await.unwrap();
        let McpNoticeKind::Log { level, logger, data } = notice.kind else { panic!("{notice:?}") };
        assert_eq!((level, logger.as_deref()), (McpLogLevel::Error, Some("l")));
        match form {
            "sessions" => assert!(server.heard(&json!({"logging/setLevel": "warning"}))),
            _ => assert_eq!(data["at"], "warning"),
        }

        engine.mcp().unsubscribe_resource("s", "res://x").await.unwrap();
        let ended = || match form {
            "sessions" => server.heard(&json!({"resources/unsubscribe": "res://x"})),
            _ => server.notes().iter().any(|note| note.get("cancelled").is_some()),
        };
        eventually("the server knows of its end", ended).await;
        engine.shutdown(Duration::ZERO).await;
    }
}

#[tokio::test]
async fn a_subscription_holds_over_a_new_connection() {
    for form in FORMS {
        let server = Asking::new(form);
        let engine = server.plain_engine().await;
        let mut notices = engine.mcp().notices();
        engine.mcp().subscribe_resource("s", "res://x").await.unwrap();
        let known = |times: usize| {
            let notes = server.notes();
            let about = notes.iter().filter(|note| {
                note.get("resources/subscribe").is_some()
                    || note["listen"]["resourceSubscriptions"].is_array()
            });
            about.count() == times
        };
        eventually("the server knows", || known(1)).await;
        engine.mcp().disconnect(Some("s")).await.unwrap();
        engine.mcp().connect(Some("s")).await.unwrap();
        eventually("the new one knows too", || known(2)).await;
        output(&engine, "s_touch", json!({})).await;
        let notice = within("the change", notices.next()).await.unwrap();
        assert_eq!(notice.kind, McpNoticeKind::ResourceUpdated { uri: "res://x".into() });
        engine.shutdown(Duration::ZERO).await;
    }
}

#[tokio::test]
async fn a_call_that_is_stopped_is_cancelled_in_both_forms() {
    for form in FORMS {
        let server = Asking::new(form);
        let engine = server.plain_engine().await;
        let list = engine.submit(vec![ToolCall::new("s_wait", json!({}).into())], ExecuteOptions::new());
        let control = list.control();
        let running = tokio::spawn(async move { list.await.unwrap() });
        eventually("the call is there", || server.heard(&json!("waiting"))).await;
        control.cancel();
        assert_eq!(running.await.unwrap().results[0].outcome, Outcome::Cancelled);
        eventually("the server hears of it", || {
            server.notes().iter().any(|note| note.get("cancelled").is_some())
        })
        .await;
        engine.shutdown(Duration::ZERO).await;
    }
}
