//! The public names of servers' tools: `server_tool`.

use std::collections::BTreeMap;

use toolyard_contract::NameTable;

/// A tool of a server.
pub(super) type ToolId = (String, String);

/// Gives each tool `(server, tool)` the name that models see.
///
/// Where `a` has a tool `b_c` and there is a server `a_b`, the name `a_b_c` belongs to the server with the longer
/// name, and the other's tool gets a suffix, whether or not `a_b` has a tool `c`: so a name never depends on what
/// servers happen to list, or on which of them answered first.
pub(super) fn public_names(
    servers: &[&str],
    tools: impl Iterator<Item = ToolId>,
) -> BTreeMap<ToolId, String> {
    let keyed: BTreeMap<ToolId, String> =
        tools.map(|tool| (tool.clone(), own_name(&tool, servers))).collect();
    let table = NameTable::new(keyed.values().cloned());
    let name = |own: String| table.exposed(&own).map_or_else(|| own.clone(), str::to_owned);
    keyed.into_iter().map(|(tool, own)| (tool, name(own))).collect()
}

/// A name that no tool of another server has.
fn own_name((server, tool): &ToolId, servers: &[&str]) -> String {
    let plain = format!("{server}_{tool}");
    let begins = |other: &str| {
        let head = plain.get(..=other.len()).unwrap_or_default();
        other.len() > server.len() && head.ends_with('_') && head[..other.len()].eq_ignore_ascii_case(other)
    };
    // A separator that no server's name may have; the table puts a suffix in its place.
    if servers.iter().any(|other| begins(other)) { format!("{server}\u{1f}{tool}") } else { plain }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(servers: &[&str], tools: &[(&str, &str)]) -> Vec<String> {
        let ids = tools.iter().map(|(server, tool)| ((*server).to_owned(), (*tool).to_owned()));
        let names = public_names(servers, ids.clone());
        ids.map(|id| names[&id].clone()).collect()
    }

    #[test]
    fn two_tools_never_share_a_name_and_names_do_not_depend_on_what_is_listed() {
        let both = named(&["a", "a_b"], &[("a_b", "c"), ("a", "b_c"), ("a", "x")]);
        assert_eq!(both[0], "a_b_c");
        assert!(both[1].starts_with("a_b_c_x"), "{both:?}");
        assert_eq!(both[2], "a_x");
        assert_eq!(named(&["a", "a_b"], &[("a", "b_c")]), [both[1].clone()]);
        assert_eq!(named(&["a"], &[("a", "b_c")]), ["a_b_c"]);
    }

    #[test]
    fn every_name_is_one_that_providers_accept() {
        let long = "x".repeat(90);
        let tools = [("s", long.as_str()), ("s", "größe"), ("s p", "t.u"), ("s", "Read"), ("s", "read")];
        let names = named(&["s", "s p"], &tools);
        assert!(names.iter().all(|name| toolyard_contract::names::is_acceptable(name)), "{names:?}");
        let distinct: std::collections::BTreeSet<_> = names.iter().map(|name| name.to_lowercase()).collect();
        assert_eq!(distinct.len(), names.len());
    }
}
