//! The public names of servers' tools: `server_tool`.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use toolyard_contract::{NameTable, name, names};

/// A tool of a server.
pub(super) type ToolId = (String, String);

/// How many tools of one server get a name while a pool lives; a server that lists others all the time is broken.
const MOST_NAMES: usize = 10_000;

/// The names that models have been shown: each means one tool as long as the pool lives, also when that is not listed any
/// more.
#[derive(Default)]
pub(super) struct Names {
    given: BTreeMap<ToolId, String>,
    /// The tool of each name, as names are compared.
    taken: HashMap<String, ToolId>,
    /// How many names each server has.
    counts: BTreeMap<String, usize>,
}

impl Names {
    /// Gives each tool `(server, tool)` the name that models see: the one that it had, or a new one. A tool of a server
    /// that has too many gets none.
    ///
    /// Where `a` has a tool `b_c` and there is a server `a_b`, the name `a_b_c` belongs to the server with the longer
    /// name, and the other's tool gets a suffix, whether or not `a_b` has a tool `c`. Of new names that differ in case
    /// only, the one with the fewest capitals stays as it is; so names do not depend on which server answered first.
    pub(super) fn of(
        &mut self,
        servers: &[&str],
        tools: impl Iterator<Item = ToolId>,
    ) -> BTreeMap<ToolId, String> {
        let tools: BTreeSet<ToolId> = tools.collect();
        let new = tools.iter().filter(|tool| !self.given.contains_key(*tool));
        let mut new: Vec<(ToolId, String)> =
            new.map(|tool| (tool.clone(), own_name(tool, servers))).collect();
        new.sort_by_cached_key(|(_, own)| (names::looks_suffixed(own), capitals(own), own.clone()));
        for (tool, own) in new {
            let count = self.counts.entry(tool.0.clone()).or_default();
            if *count < MOST_NAMES {
                *count += 1;
                self.give(tool, &own);
            }
        }
        tools.into_iter().filter_map(|tool| Some((tool.clone(), self.given.get(&tool)?.clone()))).collect()
    }

    /// Says which tools of a server are left out, because it has had too many.
    pub(super) fn nameless(&self, server: &str, tools: &[rmcp::model::Tool]) -> Option<String> {
        let has_none =
            |tool: &&rmcp::model::Tool| !self.given.contains_key(&(server.to_owned(), tool.name.to_string()));
        let left_out = tools.iter().filter(has_none).count();
        (left_out > 0).then(|| {
            format!(
                "{left_out} tools are left out: the server has listed more than {MOST_NAMES} different ones"
            )
        })
    }

    fn give(&mut self, tool: ToolId, own: &str) {
        let plain = NameTable::new([own]).exposed(own).map(str::to_owned);
        let others = (0..).flat_map(|more| {
            // What is hashed is longer each time, until it meets no other.
            let own = format!("{own}{}", "\u{1f}".repeat(more));
            [names::suffixed(&own), names::suffixed_long(&own)]
        });
        let free = |name: &String| !self.taken.contains_key(name::key(name).as_ref());
        let Some(name) = plain.into_iter().chain(others).find(free) else { return };
        self.taken.insert(name::key(&name).into_owned(), tool.clone());
        self.given.insert(tool, name);
    }
}

fn capitals(name: &str) -> usize {
    name.chars().filter(|c| c.is_uppercase()).count()
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
        let names = Names::default().of(servers, ids.clone());
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

    #[test]
    fn a_name_means_the_same_tool_whatever_is_listed_later() {
        let mut names = Names::default();
        let id = |server: &str, tool: &str| (server.to_owned(), tool.to_owned());
        let first = names.of(&["fs"], [id("fs", "Read")].into_iter());
        assert_eq!(first[&id("fs", "Read")], "fs_Read");
        let both = names.of(&["fs"], [id("fs", "read"), id("fs", "Read")].into_iter());
        assert_eq!(both[&id("fs", "Read")], "fs_Read");
        assert!(both[&id("fs", "read")].starts_with("fs_read_x"), "{both:?}");
        // The first one is gone, but its name is still its own.
        let last = names.of(&["fs"], [id("fs", "read"), id("fs", "READ")].into_iter());
        assert_eq!(last[&id("fs", "read")], both[&id("fs", "read")]);
        assert!(last[&id("fs", "READ")].starts_with("fs_READ_x"));
        let longer = names
            .of(&["fs", "fs_Read"], [id("fs", "Read"), id("fs_Read", "x"), id("fs", "read_x")].into_iter());
        assert_eq!(longer[&id("fs", "Read")], "fs_Read");
    }

    #[test]
    fn a_server_that_lists_others_all_the_time_gets_no_more_names() {
        let mut names = Names::default();
        for round in 0..3 {
            let tools = (0..MOST_NAMES).map(|n| ("s".to_owned(), format!("t{round}_{n}")));
            let given = names.of(&["s"], tools).len();
            assert_eq!(given, if round == 0 { MOST_NAMES } else { 0 });
        }
        assert_eq!(names.of(&["s", "t"], [("t".to_owned(), "x".to_owned())].into_iter()).len(), 1);
    }

    proptest::proptest! {
        #[test]
        fn no_two_tools_ever_share_a_name_and_none_changes(
            lists in proptest::collection::vec(
                proptest::collection::vec(("(a|a_b|A)", "[bBcC_ü]{1,3}"), 0..6),
                1..8,
            ),
        ) {
            let mut names = Names::default();
            let mut shown: BTreeMap<ToolId, String> = BTreeMap::new();
            for list in lists {
                let servers: BTreeSet<&str> = list.iter().map(|(server, _)| server.as_str()).collect();
                let servers: Vec<&str> = servers.into_iter().collect();
                for (tool, name) in names.of(&servers, list.iter().cloned()) {
                    proptest::prop_assert!(names::is_acceptable(&name));
                    let before = shown.insert(tool, name.clone());
                    proptest::prop_assert!(before.is_none_or(|before| before == name));
                }
                let distinct: BTreeSet<_> = shown.values().map(|name| name.to_lowercase()).collect();
                proptest::prop_assert_eq!(distinct.len(), shown.len());
            }
        }
    }
}
