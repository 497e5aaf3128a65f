use futures::executor::block_on;
use serde_json::{Value, json};
use toolyard_contract::{
    CustomTail, Invocation, ProviderError, Resolved, ToolFuture, ToolProvider, ToolSet, ToolSpec,
};

use super::*;

struct Named(ToolSpec);

impl Tool for Named {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn call(self: Arc<Self>, _: Invocation) -> ToolFuture {
        ToolFuture::ready(Ok("".into()))
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

fn shown(resolved: &Resolved) -> Vec<String> {
    let show = |tool: &SharedTool| format!("{} {}", tool.spec().name, tool.spec().description_text());
    resolved.set.tools().iter().map(show).collect()
}

#[test]
fn names_are_listed_in_the_order_of_registration_without_aliases() {
    let mut registry = registry();
    registry.register("add", || Ok(tool("add", "newer"))).unwrap();
    assert_eq!(registry.names().collect::<Vec<_>>(), ["add", "Read", "web", "broken"]);
    assert_eq!(registry.aliases().next(), Some(("plus", "add")));
    let resolved = ToolSet::resolve(Some(&["add"]), &[], &registry, CustomTail::Omit);
    assert_eq!(shown(&resolved), ["add newer"]);
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
fn what_the_registry_cannot_give_is_reported_and_the_rest_is_resolved() {
    let names = ["web", "sum", "ADD", "nobody", "broken", "ping", "later"];
    let resolved = ToolSet::resolve(Some(&names), &[], &registry(), CustomTail::Append);
    assert_eq!(shown(&resolved), ["web shipped", "add shipped"]);
    assert_eq!(resolved.missing, ["nobody", "later"]);
    assert_eq!(resolved.failed[0], ("broken".to_owned(), BuildError::Failed("no interpreter".to_owned())));
    assert_eq!(resolved.failed[1].0, "ping");
}

#[test]
fn a_custom_tool_wins_over_a_shipped_one_and_over_an_alias() {
    let custom = [tool("Plus", "custom"), tool("web", "custom")];
    let resolved = ToolSet::resolve(Some(&["plus", "web", "sum"]), &custom, &registry(), CustomTail::Omit);
    assert_eq!(shown(&resolved), ["Plus custom", "web custom", "add shipped"]);
}

#[test]
fn without_names_every_tool_of_the_registry_is_made() {
    let all = ToolSet::resolve(None, &[tool("extra", "custom")], &registry(), CustomTail::Append);
    assert_eq!(shown(&all), ["add shipped", "Read shipped", "web shipped", "extra custom"]);
    assert_eq!(all.failed.len(), 1);
}

/// What the registry gives as a provider for these options.
fn provided(registry: &BuiltinRegistry, options: &Value) -> Result<Vec<String>, String> {
    let options = options.as_object().unwrap().clone();
    let tools = block_on(registry.get_tools(&options)).map_err(|error: ProviderError| error.to_string())?;
    Ok(tools.iter().map(|tool| format!("{} {}", tool.spec().name, tool.spec().description_text())).collect())
}

#[test]
fn as_a_provider_the_registry_gives_what_the_options_name() {
    let registry = registry().custom_tools([tool("extra", "custom"), tool("web", "custom")]);
    let given = |options: Value| provided(&registry, &options);
    let (all, extra) = (["add shipped", "Read shipped", "web custom"], "extra custom");
    assert_eq!(given(json!({})).unwrap(), [&all[..], &[extra]].concat());
    assert_eq!(given(json!({"custom_tools": "omit", "other": 1})).unwrap(), all);
    assert_eq!(given(json!({"names": ["sum"]})).unwrap(), ["add shipped", extra, "web custom"]);
    assert_eq!(given(json!({"names": []})).unwrap(), [extra, "web custom"]);
    assert!(given(json!({"names": [], "custom_tools": "omit"})).unwrap().is_empty());
    assert_eq!(given(json!({"names": null})).unwrap().len(), 4);
}

#[test]
fn as_a_provider_the_registry_says_what_it_cannot_give() {
    let refused = |options: Value| provided(&registry(), &options).unwrap_err();
    let unknown = refused(json!({"names": ["add", "wep"]}));
    assert_eq!(unknown, "option \"names\": no built-in tool is named \"wep\"; there is: web");
    assert_eq!(refused(json!({"names": ["broken"]})), "tool \"broken\" cannot be made: no interpreter");
    assert_eq!(refused(json!({"names": "add"})), "option \"names\" must be a list of names");
    assert_eq!(refused(json!({"names": [1]})), "option \"names\" must be a list of names");
    assert!(refused(json!({"custom_tools": true})).contains("\"append\" or \"omit\""));
}
