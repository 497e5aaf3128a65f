//! One thing has one verdict, however it is written.

use std::{collections::BTreeMap, fs};

use proptest::prelude::*;
use serde_json::json;
use toolyard::{
    Arguments, Engine, Outcome, Output, PermissionCheck, PermissionContext, PermissionRule, PermissionRules,
    RulePolicy, Tool, ToolCall, ToolSpec, Verdict,
    builtin::file::{FileReadTool, FileRoot},
};

use super::run;
use crate::engine::tools::{call, outcomes, tool};

fn policy(rules: Vec<PermissionRule>) -> RulePolicy {
    RulePolicy::new(PermissionRules { default: Verdict::Allow, rule: rules }).unwrap()
}

/// An engine whose tool `pay` gives back the arguments as they reached it.
fn paying(rules: Vec<PermissionRule>) -> Engine {
    let pay = tool(ToolSpec::new("pay").parallel_safe(true), |invocation| async move {
        Ok(Output::Text(invocation.arguments).into())
    });
    Engine::builder().tool(pay).permissions(policy(rules)).build().unwrap()
}

fn written(arguments: &str) -> ToolCall {
    ToolCall::new("pay", Arguments::Json(arguments.to_owned()))
}

#[test]
fn a_rule_on_a_number_holds_for_all_its_spellings() {
    let engine = paying(vec![PermissionRule::new(Verdict::Deny, "pay", r#"\{"amount":1000\}"#)]);
    let spellings = ["1000", "1e3", "1000.0", "10E2", "1000.00000000000000001", "0.01e5"];
    let calls = spellings.map(|number| written(&format!(r#"{{ "\u0061mount" : {number} }}"#)));
    let (report, _) = run(&engine, calls.to_vec());
    assert_eq!(outcomes(&report), ["denied"; 6]);
    let other =
        ["1001", "1e4", "1000.5", "-1000", "\"1000\""].map(|n| written(&format!(r#"{{"amount":{n}}}"#)));
    assert_eq!(outcomes(&run(&engine, other.to_vec()).0), ["ok"; 5]);
}

#[test]
fn what_an_error_shows_is_a_rule_that_speaks_of_that_call() {
    let deny_all = || vec![PermissionRule::new(Verdict::Deny, "pay", "*")];
    for arguments in [r#"{"amount":1000}"#, r#"{"list":["a*b?","it's"],"text":"[x]\\ {y},!"}"#, "{}"] {
        let (report, _) = run(&paying(deny_all()), vec![written(arguments)]);
        let error = report.results[0].error.clone().unwrap();
        let keys = error.split_once("not permitted: ").unwrap().1;
        let rules = format!("rule = [{{ {keys}, verdict = \"deny\" }}]");
        let rules: PermissionRules =
            toml::from_str(&rules).unwrap_or_else(|error| panic!("{rules}: {error}"));
        assert_eq!(rules.rule[0].doubt(), None);
        let (report, _) = run(&paying(rules.rule), vec![written(arguments), written(r#"{"other":1}"#)]);
        assert_eq!(outcomes(&report), ["denied", "ok"], "{keys}");
    }
}

#[test]
fn a_question_mark_stands_for_one_character_of_a_resource() {
    let engine = paying(vec![PermissionRule::new(Verdict::Deny, "pay", r#"\{"to":"?"\}"#)]);
    let calls = ["a", "é", "日", "", "ab"].map(|to| call("pay", json!({"to": to})));
    let (report, _) = run(&engine, calls.to_vec());
    assert_eq!(outcomes(&report), ["denied", "denied", "denied", "ok", "ok"]);
}

/// Spellings of `digits` times a power of ten.
fn spelled(digits: &str, zeros: usize, shift: i64, style: usize) -> String {
    let whole = format!("{digits}{}", "0".repeat(zeros));
    match style % 5 {
        0 => whole,
        1 => format!("{digits}e{zeros}"),
        2 => format!("{whole}.{}", "0".repeat(usize::try_from(shift).unwrap() + 1)),
        3 => format!("{whole}{}E-{shift}", "0".repeat(usize::try_from(shift).unwrap())),
        _ => format!("0.{whole}e+{}", whole.len()),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]
    #[test]
    fn verdicts_and_what_the_tool_gets_do_not_depend_on_how_numbers_are_written(
        digits in "[1-9][0-9]{0,25}", zeros in 0..6_usize, shift in 0..6_i64, style in 0..5_usize,
        rule in "[1-9][0-9]{0,2}", same in any::<bool>(), verdict in prop_oneof![Just(Verdict::Deny), Just(Verdict::Ask)],
    ) {
        let plain = format!("{digits}{}", "0".repeat(zeros));
        let in_rule = if same { plain.clone() } else { rule };
        let check = PermissionCheck { action: "pay".into(), resource: format!(r#"{{"n":{in_rule}}}"#) };
        let engine = paying(vec![PermissionRule::exactly(verdict, &check)]);
        let spelling = spelled(&digits, zeros, shift, style);
        let (report, _) = run(&engine, vec![written(&format!(r#"{{"n":{spelling}}}"#))]);
        let expected = match (in_rule == plain, verdict) {
            (true, Verdict::Deny) => Outcome::Denied,
            (true, _) => Outcome::Suspended,
            (false, _) => Outcome::Ok,
        };
        prop_assert_eq!(report.results[0].outcome, expected, "{}", spelling);
        if expected == Outcome::Ok {
            let got = report.results[0].output.as_ref().unwrap().to_text();
            prop_assert_eq!(got, format!(r#"{{"n":{plain}}}"#), "the tool gets what was judged");
        }
    }

    #[test]
    fn verdicts_do_not_depend_on_how_a_path_is_written(
        segments in prop::collection::vec(0..6_usize, 1..5), file in prop_oneof![Just("out/x.txt"), Just("secret/x.txt")],
    ) {
        let folder = tempfile::tempdir().unwrap();
        for name in ["out", "secret"] {
            fs::create_dir(folder.path().join(name)).unwrap();
            fs::write(folder.path().join(name).join("x.txt"), name).unwrap();
        }
        std::os::unix::fs::symlink(".", folder.path().join("here")).unwrap();
        let mut path = file.to_owned();
        for segment in segments {
            path = match segment {
                0 if !path.starts_with('/') => format!("./{path}"),
                1 if !path.starts_with('/') => format!("here/{path}"),
                2 if !path.starts_with('/') => format!("out/../{path}"),
                3 => path.replacen("/x", "//x", 1),
                4 if !path.starts_with(['/', '.']) => format!("{}/{path}", folder.path().display()),
                _ => path.replacen("/x", "/./x", 1),
            };
        }
        let read = FileReadTool::new(FileRoot::open(folder.path()).unwrap());
        let arguments = json!({"path": path}).to_string();
        let check = read.permission_check(&arguments, &PermissionContext::default()).unwrap();
        let rules = policy(vec![PermissionRule::new(Verdict::Deny, "file.*", "secret/*")]);
        let engine = Engine::builder().tool(read).permissions(rules).build().unwrap();
        let (report, _) = run(&engine, vec![call("file_read", json!({"path": path}))]);
        let result = &report.results[0];
        prop_assert_eq!(&check.resource, file, "{}", path);
        let expected = if file.starts_with("secret") { Outcome::Denied } else { Outcome::Ok };
        prop_assert_eq!(result.outcome, expected, "{}: {:?}", path, result.error);
    }
}

/// Spellings of a URL's parts.
#[cfg(feature = "http")]
mod urls {
    use toolyard::builtin::http::HttpTool;

    use super::*;

    const HOSTS: [(&str, &[&str]); 3] = [
        (
            "127.0.0.1",
            &["127.0.0.1", "127.1", "0x7f000001", "2130706433", "[::ffff:127.0.0.1]", "127.0.0.1."],
        ),
        ("h.example", &["h.example", "H.EXAMPLE", "h.example.", "h%2Eexample"]),
        ("[::1]", &["[::1]", "[0:0:0:0:0:0:0:1]"]),
    ];

    fn escaped(text: &str, mask: u32) -> String {
        let escape = |(at, c): (usize, char)| {
            if c != '/' && mask >> (at % 32) & 1 == 1 {
                format!("%{:02x}", u32::from(c))
            } else {
                c.to_string()
            }
        };
        text.chars().enumerate().map(escape).collect()
    }

    proptest! {
        #[test]
        fn verdicts_do_not_depend_on_how_a_url_is_written(
            host in 0..3_usize, spelling in any::<prop::sample::Index>(), path in "/[a-z]{1,6}(/[a-z~_-]{1,4})?",
            mask in any::<u32>(), port in 0..3_usize, dots in any::<bool>(), fragment in "(#[a-z]{0,3})?",
            empty_query in any::<bool>(), user in any::<bool>(), same in any::<bool>(),
        ) {
            let (plain_host, spellings) = HOSTS[host];
            let written = spellings[spelling.index(spellings.len())];
            let port = ["", ":80", ":0080"][port];
            let user = if user { "me:pw@" } else { "" };
            let dots = if dots { "/./x/.." } else { "" };
            let query = if empty_query { "?" } else { "" };
            let url = format!("hTTp://{user}{written}{port}{dots}{}{query}{fragment}", escaped(&path, mask));
            let tool = HttpTool::default();
            let arguments = json!({"url": url}).to_string();
            let check = tool.permission_check(&arguments, &PermissionContext::default()).unwrap();
            let plain = format!("http://{plain_host}{path}");
            prop_assert_eq!(&check.resource, &plain, "{}", url);
            let of = if same { plain } else { format!("http://{plain_host}/else{path}") };
            let check_of = PermissionCheck { action: "http.request".into(), resource: of };
            let decision = policy(vec![PermissionRule::exactly(Verdict::Deny, &check_of)]).decide(&check);
            prop_assert_eq!(decision.verdict == Verdict::Deny, same);
        }
    }
}

#[test]
fn the_canonical_form_is_the_one_that_rules_compare() {
    let forms: BTreeMap<&str, &str> = [("{ \"b\": 1.50, \"a\": 1e2 }", r#"{"a":100,"b":1.5}"#)].into();
    for (text, form) in forms {
        assert_eq!(toolyard::canonical::canonical(text).unwrap(), form);
    }
}
