use toolyard_contract::{Invocation, ToolFuture, ToolSpec};

use super::*;

struct Named(ToolSpec);

impl Tool for Named {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn call(self: Arc<Self>, _: Invocation) -> ToolFuture {
        Box::pin(async { Ok("".into()) })
    }
}

/// A tool whose description tells tools of one name apart.
fn tool(name: &str, description: &str) -> Arc<dyn Tool> {
    Arc::new(Named(ToolSpec::new(name).description(description)))
}

fn registry() -> BuiltinRegistry {
    let mut registry = BuiltinRegistry::new();
    for name in ["add", "Read", "web"] {
        registry.register(name, move || Ok(tool(name, "shipped"))).unwrap();
    }
    registry.register("broken", || Err("no interpreter".to_owned())).unwrap();
    registry.register_alias("plus", "add");
    registry.register_alias("sum", "Plus");
    registry.register_alias("ping", "pong");
    registry.register_alias("pong", "ping");
    registry.register_alias("later", "not_yet");
    registry
}

fn shown(resolution: &Resolution) -> Vec<String> {
    let show = |tool: &Arc<dyn Tool>| format!("{} {}", tool.spec().name, tool.spec().description_text());
    resolution.tools.iter().map(show).collect()
}

#[test]
fn names_are_listed_in_the_order_of_registration_without_aliases() {
    let mut registry = registry();
    registry.register("add", || Ok(tool("add", "newer"))).unwrap();
    assert_eq!(registry.names().collect::<Vec<_>>(), ["add", "Read", "web", "broken"]);
    assert_eq!(registry.aliases().next(), Some(("plus", "add")));
    assert_eq!(shown(&registry.resolve(["add"], [], CustomTail::Omit)), ["add newer"]);
}

#[test]
fn a_name_that_differs_in_case_alone_clashes() {
    let clash = registry().register("READ", || Ok(tool("READ", ""))).unwrap_err();
    assert_eq!(clash, NameClash { name: "READ".to_owned(), registered: "Read".to_owned() });
}

#[test]
fn aliases_are_followed_to_the_end_and_cycles_are_errors() {
    let registry = registry();
    assert_eq!(registry.canonical_name(" SUM "), Ok("add"));
    assert_eq!(registry.canonical_name("read"), Ok("Read"));
    assert_eq!(registry.canonical_name("nobody"), Ok("nobody"));
    assert_eq!(registry.canonical_name("later"), Ok("not_yet"));
    assert_eq!(registry.canonical_name("ping"), Err(AliasCycle { name: "ping".to_owned() }));
    assert!(registry.is_builtin("sum") && !registry.is_builtin("later") && !registry.is_builtin("ping"));
}

#[test]
fn the_name_of_a_tool_is_never_an_alias() {
    let mut registry = registry();
    registry.register_alias("add", "web");
    assert_eq!(registry.canonical_name("add"), Ok("add"));
}

#[test]
fn each_name_is_resolved_once_and_what_cannot_be_had_is_reported() {
    let names = ["web", "sum", "ADD", "nobody", "broken", "ping", "later", "nobody"];
    let resolution = registry().resolve(names, [], CustomTail::Append);
    assert_eq!(shown(&resolution), ["web shipped", "add shipped"]);
    assert_eq!(resolution.missing, ["nobody", "later"]);
    let failed: Vec<_> = resolution.failed.iter().map(|f| (f.name.as_str(), f.reason.as_str())).collect();
    assert_eq!(failed[0], ("broken", "no interpreter"));
    assert_eq!(failed[1].0, "ping");
    assert!(failed[1].1.contains("leads back to itself"));
}

#[test]
fn a_custom_tool_wins_over_a_shipped_one_and_over_an_alias() {
    let custom =
        || [tool("Plus", "custom"), tool("web", "first"), tool("extra", "custom"), tool("WEB", "second")];
    let resolution = registry().resolve(["plus", "web", "sum"], custom(), CustomTail::Omit);
    assert_eq!(shown(&resolution), ["Plus custom", "WEB second", "add shipped"]);
    let resolution = registry().resolve(["web"], custom(), CustomTail::Append);
    assert_eq!(shown(&resolution), ["WEB second", "Plus custom", "extra custom"]);
}

#[test]
fn an_empty_list_of_names_narrows_to_nothing_and_no_list_to_everything() {
    let none: [&str; 0] = [];
    assert!(registry().resolve(none, [], CustomTail::Append).tools.is_empty());
    let all = registry().resolve_all([tool("extra", "custom")]);
    assert_eq!(shown(&all), ["add shipped", "Read shipped", "web shipped", "extra custom"]);
    assert_eq!(all.failed.len(), 1);
}
