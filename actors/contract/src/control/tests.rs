use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::{ToolSpec, inert};

fn rules(default: ActivationMode, rules: &[(ActivationMode, &str)]) -> ActivationRules {
    let rules = rules.iter().map(|&(mode, pattern)| ActivationRule::new(mode, pattern).unwrap()).collect();
    ActivationRules { default, rules }
}

use ActivationMode::{Activate, Deactivate};

#[test]
fn with_no_rules_every_tool_is_on() {
    assert!(ActivationController::default().is_active("anything"));
}

#[test]
fn the_default_mode_holds_where_no_rule_matches() {
    let controller = ActivationController::new(rules(Deactivate, &[(Activate, "file_*")]));
    assert!(controller.is_active("file_read"));
    assert!(!controller.is_active("http"));
}

#[test]
fn the_first_rule_that_matches_decides() {
    let controller = ActivationController::new(rules(
        Activate,
        &[(Activate, "file_read"), (Deactivate, "file_*"), (Activate, "file_write")],
    ));
    assert!(controller.is_active("file_read"));
    assert!(!controller.is_active("file_write"));
}

#[test]
fn rules_are_read_from_a_plain_map_and_written_back_as_one() {
    let plain = json!({"default": "deactivate", "rules": [{"mode": "activate", "pattern": "a*"}]});
    let typed: ActivationRules = serde_json::from_value(plain.clone()).unwrap();
    assert_eq!(typed, rules(Deactivate, &[(Activate, "a*")]));
    assert_eq!(serde_json::to_value(&typed).unwrap(), plain);
    assert_eq!(serde_json::from_value::<ActivationRules>(json!({})).unwrap(), ActivationRules::default());
}

#[test]
fn a_star_spans_servers_slashes_and_dots() {
    let star = ToolPattern::new("*_read").unwrap();
    for name in ["fs_read", "a/b.c_read", "_read", "日本_read"] {
        assert!(star.matches(name), "{name}");
    }
    assert!(!star.matches("fs_read_all"), "a pattern covers the whole name");
    assert!(!ToolPattern::new("read").unwrap().matches("fs_read"), "the server's name belongs to it");
}

#[test]
fn patterns_are_case_sensitive() {
    let pattern = ToolPattern::new("File_*").unwrap();
    assert!(pattern.matches("File_read") && !pattern.matches("file_read"));
    let controller = ActivationController::default();
    controller.deactivate("Read");
    assert!(controller.is_active("read") && !controller.is_active("Read"));
}

#[test]
fn a_bracket_in_a_pattern_is_a_class_unless_it_is_escaped() {
    assert!(ToolPattern::new("get[ab]").unwrap().matches("geta"));
    assert!(!ToolPattern::new("get[ab]").unwrap().matches("get[ab]"));
    assert!(ToolPattern::new("get[!ab]").unwrap().matches("getc"));
    assert!(ToolPattern::new("get[[]ab]").unwrap().matches("get[ab]"));
    assert!(ToolPattern::new(r"get\[ab\]").unwrap().matches("get[ab]"));
}

#[test]
fn alternatives_match_each_of_their_parts() {
    let pattern = ToolPattern::new("file_{read,write}").unwrap();
    assert!(pattern.matches("file_read") && pattern.matches("file_write") && !pattern.matches("file_"));
}

#[test]
fn a_pattern_that_cannot_be_read_is_refused_by_name() {
    for bad in ["get[", "a{b", "z[b-a]", "end\\"] {
        let error = ToolPattern::new(bad).unwrap_err();
        assert!(error.to_string().starts_with(&format!("pattern {bad:?} cannot be read: ")), "{error}");
    }
    assert!(serde_json::from_value::<ActivationRule>(json!({"mode": "activate", "pattern": "["})).is_err());
}

#[test]
fn an_exact_name_wins_over_every_rule_and_the_last_word_about_it_counts() {
    let controller = ActivationController::new(rules(Activate, &[(Deactivate, "*")]));
    controller.activate("shell");
    assert!(controller.is_active("shell") && !controller.is_active("http"));
    controller.deactivate("shell");
    assert!(!controller.is_active("shell"));
    controller.activate("shell");
    controller.forget("shell");
    assert!(!controller.is_active("shell"), "the rules decide again");
}

#[test]
fn an_exact_name_that_looks_like_a_pattern_leaves_the_rule_of_that_pattern_alone() {
    let controller = ActivationController::new(rules(Activate, &[(Deactivate, "*")]));
    controller.activate("*");
    assert_eq!(controller.rules(), rules(Activate, &[(Deactivate, "*")]));
    assert!(!controller.is_active("shell"), "a star given as a name is a name");
    assert!(controller.is_active("*"));
    controller.activate("get[ab]");
    assert!(controller.is_active("get[ab]") && !controller.is_active("geta"));
}

#[test]
fn filter_takes_every_shape_that_a_listing_returns() {
    let controller = ActivationController::new(rules(Activate, &[(Deactivate, "off")]));
    let tools = ["on", "off"].map(inert::named);
    let schemas = tools.each_ref().map(|tool| tool.spec().to_schema());
    assert_eq!(controller.filter(schemas.to_vec()), &schemas[..1]);
    assert_eq!(controller.filter(tools)[0].spec().name, "on");
    assert_eq!(controller.filter(["on", "off"]), ["on"]);
    assert_eq!(controller.filter(vec!["off".to_owned(), "on".to_owned()]), ["on"]);
    let flat = |name: &str| ToolSpec::new(name).to_value();
    assert_eq!(controller.filter([flat("off"), flat("on")]), [flat("on")]);
    let wrapped = |name: &str| json!({"type": "function", "function": {"name": name}});
    assert_eq!(controller.filter([wrapped("on"), wrapped("off"), json!({})]), [wrapped("on")]);
}

#[test]
fn clones_share_one_state_and_each_change_is_counted() {
    let one = ActivationController::default();
    let two = one.clone();
    let before = two.version();
    one.deactivate("a");
    one.set_rules(rules(Deactivate, &[]));
    assert!(!two.is_active("a") && !two.is_active("b"));
    assert_eq!(two.version(), before + 2);
}

#[test]
fn what_decides_now_can_be_written_down_as_rules_that_decide_the_same() {
    let controller = ActivationController::new(rules(Activate, &[(Deactivate, "get*")]));
    controller.activate("get[*]{a,b}\\!");
    controller.deactivate("put");
    let written = serde_json::to_value(controller.to_rules()).unwrap();
    let again = ActivationController::new(serde_json::from_value(written).unwrap());
    for name in ["get[*]{a,b}\\!", "get", "getx", "put", "putt", "other"] {
        assert_eq!(again.is_active(name), controller.is_active(name), "{name}");
    }
}

proptest! {
    #[test]
    fn the_pattern_of_a_name_matches_that_name_alone(name in "\\PC{1,12}", other in "\\PC{1,12}") {
        let pattern = ToolPattern::literal(name.trim());
        prop_assert!(pattern.matches(&name));
        prop_assert_eq!(pattern.matches(&other), other.trim() == name.trim());
    }

    #[test]
    fn no_pattern_panics(text in "[a-c*?\\[\\]{},!\\\\é-]{0,12}", name in "\\PC{0,8}") {
        if let Ok(pattern) = ToolPattern::new(text) {
            pattern.matches(&name);
        }
    }
}
