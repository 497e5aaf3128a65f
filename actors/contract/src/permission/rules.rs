//! Ordered rules: the policy that a configuration file writes down.

use std::{borrow::Cow, fmt};

use serde::{Deserialize, Deserializer, Serialize};

use super::{Judgement, PermissionCheck, PermissionContext, PermissionDecision, PermissionPolicy, Verdict};
use crate::{
    digest::short_digest,
    glob::{Glob, literal},
};

/// One rule: a verdict for the calls whose action and resource both match.
///
/// Patterns are globs, case-sensitive on every system: `*` stands for any text, `/` included, `?`
/// for one character, `{a,b}` for either, `[a-z]` and `[!a]` for classes of ASCII characters; `\` takes
/// the next character as it is, which a resource that is JSON needs for its braces: `\{"amount":1000\}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PermissionRule {
    /// What is done. Default: `*`.
    #[serde(default = "anything", deserialize_with = "pattern")]
    pub action: String,
    /// To what. Default: `*`.
    #[serde(default = "anything", deserialize_with = "pattern")]
    pub resource: String,
    /// What holds for such calls.
    pub verdict: Verdict,
}

/// Reads a pattern, so that one that cannot be read is found where it stands.
fn pattern<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let pattern = String::deserialize(deserializer)?;
    glob(&pattern).map(|_| pattern).map_err(serde::de::Error::custom)
}

fn anything() -> String {
    "*".to_owned()
}

impl PermissionRule {
    /// Makes a rule from two patterns.
    pub fn new(verdict: Verdict, action: impl Into<String>, resource: impl Into<String>) -> Self {
        Self { action: action.into(), resource: resource.into(), verdict }
    }

    /// Makes the rule that speaks of exactly this action on exactly this resource.
    pub fn exactly(verdict: Verdict, check: &PermissionCheck) -> Self {
        Self::new(verdict, literal(&check.action), literal(&check.resource))
    }

    /// Compiles the patterns.
    ///
    /// # Errors
    /// When one of them cannot be read.
    pub fn compile(self) -> Result<CompiledRule, RuleError> {
        Ok(CompiledRule { action: glob(&self.action)?, resource: glob(&self.resource)?, rule: self })
    }
}

/// `ask file.write *`
impl fmt::Display for PermissionRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.verdict.as_str(), self.action, self.resource)
    }
}

/// A rule that is ready to be asked.
#[derive(Clone, Debug)]
pub struct CompiledRule {
    rule: PermissionRule,
    action: Glob,
    resource: Glob,
}

impl CompiledRule {
    /// The rule as it was written.
    pub fn rule(&self) -> &PermissionRule {
        &self.rule
    }

    /// Tells whether the rule speaks of this call.
    pub fn matches(&self, check: &PermissionCheck) -> bool {
        self.action.matches(&check.action) && self.resource.matches(&check.resource)
    }
}

fn glob(pattern: &str) -> Result<Glob, RuleError> {
    Glob::new(pattern).map_err(|reason| RuleError { pattern: pattern.to_owned(), reason })
}

/// A pattern that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("permission pattern {pattern:?} cannot be read: {reason}")]
pub struct RuleError {
    /// The pattern.
    pub pattern: String,
    /// What is wrong with it.
    pub reason: String,
}

/// Rules as a configuration file writes them: the first that matches decides.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PermissionRules {
    /// What holds for a call that no rule speaks of. Default: `allow`, because rules are for those
    /// who want them.
    pub default: Verdict,
    /// The rules, in order. Default: none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rule: Vec<PermissionRule>,
}

impl PermissionRules {
    /// Tells whether these rules allow everything, so that nothing needs to be judged.
    pub fn is_empty(&self) -> bool {
        self.default == Verdict::Allow && self.rule.is_empty()
    }
}

/// The policy of ordered rules. Pure: the same call and rules give the same decision every time.
#[derive(Clone, Debug)]
pub struct RulePolicy {
    rules: Vec<CompiledRule>,
    default: Verdict,
    version: String,
}

impl RulePolicy {
    /// Compiles rules. Their version is a digest of what they say.
    ///
    /// # Errors
    /// When a pattern cannot be read.
    pub fn new(rules: PermissionRules) -> Result<Self, RuleError> {
        let default = rules.default;
        let compiled: Result<Vec<_>, _> = rules.rule.into_iter().map(PermissionRule::compile).collect();
        let rules = compiled?;
        let said = rules.iter().flat_map(|CompiledRule { rule, .. }| {
            [rule.verdict.as_str(), rule.action.as_str(), rule.resource.as_str()]
        });
        let version = short_digest("rules", [default.as_str()].into_iter().chain(said));
        Ok(Self { rules, default, version })
    }

    /// Judges one call.
    pub fn decide(&self, check: &PermissionCheck) -> PermissionDecision {
        let found = self.rules.iter().zip(1..).find(|(rule, _)| rule.matches(check));
        match found {
            Some((CompiledRule { rule, .. }, number)) => {
                PermissionDecision::new(rule.verdict, format!("rule {number}: {rule}"))
            }
            None => PermissionDecision::new(self.default, format!("default: {}", self.default.as_str())),
        }
    }
}

impl PermissionPolicy for RulePolicy {
    fn version(&self) -> Cow<'_, str> {
        Cow::Borrowed(&self.version)
    }

    fn judge(&self, check: &PermissionCheck, _: &PermissionContext<'_>) -> Judgement {
        self.decide(check).into()
    }

    fn rules(&self) -> Option<PermissionRules> {
        let rule = self.rules.iter().map(|rule| rule.rule.clone()).collect();
        Some(PermissionRules { default: self.default, rule })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(action: &str, resource: &str) -> PermissionCheck {
        PermissionCheck { action: action.to_owned(), resource: resource.to_owned() }
    }

    fn policy(default: Verdict, rules: &[(Verdict, &str, &str)]) -> RulePolicy {
        let rule =
            rules.iter().map(|(verdict, action, resource)| PermissionRule::new(*verdict, *action, *resource));
        RulePolicy::new(PermissionRules { default, rule: rule.collect() }).unwrap()
    }

    #[test]
    fn the_first_rule_that_matches_decides() {
        let policy = policy(
            Verdict::Deny,
            &[
                (Verdict::Allow, "file.read", "*"),
                (Verdict::Ask, "file.*", "out/*"),
                (Verdict::Deny, "*", "*"),
            ],
        );
        let read = policy.decide(&check("file.read", "out/a/b.txt"));
        assert_eq!((read.verdict, read.rule.as_str()), (Verdict::Allow, "rule 1: allow file.read *"));
        let write = policy.decide(&check("file.write", "out/a/b.txt"));
        assert_eq!((write.verdict, write.rule.as_str()), (Verdict::Ask, "rule 2: ask file.* out/*"));
        assert_eq!(policy.decide(&check("FILE.READ", "x")).rule, "rule 3: deny * *", "case counts");
    }

    #[test]
    fn without_a_matching_rule_the_default_holds() {
        let decision = policy(Verdict::Ask, &[(Verdict::Deny, "a", "b")]).decide(&check("a", "c"));
        assert_eq!(decision, PermissionDecision::new(Verdict::Ask, "default: ask"));
    }

    #[test]
    fn the_version_changes_with_what_the_rules_say_and_with_nothing_else() {
        let one = policy(Verdict::Allow, &[(Verdict::Ask, "a", "bc")]);
        assert_eq!(one.version(), policy(Verdict::Allow, &[(Verdict::Ask, "a", "bc")]).version());
        for other in [
            policy(Verdict::Deny, &[(Verdict::Ask, "a", "bc")]),
            policy(Verdict::Allow, &[(Verdict::Deny, "a", "bc")]),
            policy(Verdict::Allow, &[(Verdict::Ask, "ab", "c")]),
            policy(Verdict::Allow, &[]),
        ] {
            assert_ne!(one.version(), other.version());
        }
    }

    #[test]
    fn a_pattern_that_cannot_be_read_is_named() {
        let rules = PermissionRules {
            rule: vec![PermissionRule::new(Verdict::Ask, "file.[", "*")],
            ..PermissionRules::default()
        };
        let error = RulePolicy::new(rules).unwrap_err().to_string();
        assert!(error.starts_with("permission pattern \"file.[\" cannot be read: "), "{error}");
    }

    proptest! {
        #[test]
        fn the_rule_for_exactly_one_call_matches_it_alone(text in "[a-c*?\\[\\]{},!\\\\/é]{0,8}", other in "[a-c*?/]{0,8}") {
            let rule = PermissionRule::exactly(Verdict::Allow, &check("a.b", &text)).compile().unwrap();
            prop_assert!(rule.matches(&check("a.b", &text)));
            prop_assert_eq!(rule.matches(&check("a.b", &other)), text == other);
        }
    }
}
