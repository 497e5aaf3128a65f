use super::*;
use crate::{ToolSpec, inert};

fn tool(name: &str, from: &str) -> SharedTool {
    inert::tool(ToolSpec::new(name).description(from))
}

/// `add` and `Sub` can be made, `broken` cannot; `plus` is an alias of `add`, `loop` of itself.
struct Fixed;

impl ToolSource for Fixed {
    fn canonical_names(&self) -> Vec<&str> {
        vec!["add", "Sub", "broken"]
    }

    fn canonical_name<'a>(&'a self, name: &'a str) -> Result<&'a str, AliasCycle> {
        match &*name::key(name) {
            "plus" => Ok("add"),
            "loop" => Err(AliasCycle { name: name.to_owned() }),
            _ => Ok(name),
        }
    }

    fn build(&self, canonical: &str) -> Result<SharedTool, BuildError> {
        match &*name::key(canonical) {
            "add" => Ok(tool("add", "registered")),
            "sub" => Ok(tool("Sub", "registered")),
            "broken" => Err(BuildError::Failed("no key is configured".into())),
            _ => Err(BuildError::Unknown),
        }
    }
}

fn resolve(names: Option<&[&str]>, custom: &[SharedTool], tail: CustomTail) -> Resolved {
    ToolSet::resolve(names, custom, &Fixed, tail)
}

/// Name and origin of each tool.
fn shown(resolved: &Resolved) -> Vec<String> {
    let specs = resolved.set.tools().iter().map(|tool| tool.spec());
    specs.map(|spec| format!("{} {}", spec.name, spec.description_text())).collect()
}

#[test]
fn without_names_every_registered_tool_is_meant_then_the_custom_ones() {
    let resolved = resolve(None, &[tool("mine", "custom")], CustomTail::Append);
    assert_eq!(shown(&resolved), ["add registered", "Sub registered", "mine custom"]);
}

#[test]
fn an_empty_list_of_names_narrows_to_the_custom_tools_or_to_none() {
    let custom = [tool("mine", "custom")];
    assert_eq!(shown(&resolve(Some(&[]), &custom, CustomTail::Append)), ["mine custom"]);
    assert!(resolve(Some(&[]), &custom, CustomTail::Omit).set.is_empty());
}

#[test]
fn unknown_and_failing_names_are_reported_and_the_rest_is_resolved() {
    let resolved = resolve(Some(&["nope", "add", "broken", "loop", "nope"]), &[], CustomTail::Append);
    assert_eq!(shown(&resolved), ["add registered"]);
    assert_eq!(resolved.missing, ["nope"]);
    let failed: Vec<_> = resolved.failed.iter().map(|(name, error)| format!("{name}: {error}")).collect();
    assert_eq!(
        failed,
        [
            "broken: no key is configured",
            "loop: alias \"loop\" leads back to itself: let one of its aliases name a tool"
        ]
    );
}

#[test]
fn a_custom_tool_wins_over_a_registered_one_in_the_place_asked_for() {
    let resolved = resolve(Some(&["sub", "ADD"]), &[tool("Add", "custom")], CustomTail::Omit);
    assert_eq!(shown(&resolved), ["Sub registered", "Add custom"]);
}

#[test]
fn a_custom_tool_wins_over_an_alias_of_its_name() {
    let resolved = resolve(Some(&["plus", "add"]), &[tool("plus", "custom")], CustomTail::Omit);
    assert_eq!(shown(&resolved), ["plus custom", "add registered"]);
}

#[test]
fn a_custom_tool_also_answers_to_the_aliases_of_the_tool_that_it_replaces() {
    let resolved = resolve(Some(&["plus"]), &[tool("add", "custom")], CustomTail::Omit);
    assert_eq!(shown(&resolved), ["add custom"]);
}

#[test]
fn a_name_and_its_aliases_count_once() {
    let resolved = resolve(Some(&["plus", "add", " PLUS ", "Add"]), &[], CustomTail::Append);
    assert_eq!(shown(&resolved), ["add registered"]);
}

#[test]
fn a_mixed_case_registered_tool_is_found_in_any_case() {
    assert_eq!(shown(&resolve(Some(&["SUB"]), &[], CustomTail::Omit)), ["Sub registered"]);
}

#[test]
fn of_two_custom_tools_with_one_name_the_later_replaces_the_earlier_in_its_place() {
    let custom = [tool("x", "first"), tool("y", "only"), tool("X", "second")];
    assert_eq!(shown(&resolve(Some(&[]), &custom, CustomTail::Append)), ["X second", "y only"]);
}

#[test]
fn custom_tools_that_no_name_asked_for_follow_or_are_left_out() {
    let custom = [tool("a", "custom"), tool("b", "custom")];
    assert_eq!(
        shown(&resolve(Some(&["b", "add"]), &custom, CustomTail::Append)),
        ["b custom", "add registered", "a custom"]
    );
    assert_eq!(
        shown(&resolve(Some(&["b", "add"]), &custom, CustomTail::Omit)),
        ["b custom", "add registered"]
    );
}
