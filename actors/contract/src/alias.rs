//! Other names of tools.

use std::collections::HashMap;

use crate::name;

/// A table of other names, each for a tool or for one more alias; names are compared by
/// [`name::key`].
#[derive(Clone, Debug, Default)]
pub struct Aliases {
    /// In the order of registration.
    list: Vec<Alias>,
    by_key: HashMap<String, usize>,
}

#[derive(Clone, Debug)]
struct Alias {
    name: String,
    target: String,
}

/// Aliases that lead back to one another.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("alias {name:?} leads back to itself: let one of its aliases name a tool")]
pub struct AliasCycle {
    /// The name that was followed.
    pub name: String,
}

impl Aliases {
    /// Lets `alias` stand for `target`, which need not be known yet; a later target replaces an
    /// earlier one. An alias for its own name says nothing, and takes an earlier target away.
    pub fn insert(&mut self, alias: impl Into<String>, target: impl Into<String>) {
        let alias = Alias { name: alias.into(), target: target.into() };
        let key = name::key(&alias.name).into_owned();
        if key == name::key(&alias.target) {
            return self.remove(&key);
        }
        match self.by_key.get(&key) {
            Some(&place) => self.list[place] = alias,
            None => {
                self.by_key.insert(key, self.list.len());
                self.list.push(alias);
            }
        }
    }

    fn remove(&mut self, key: &str) {
        let Some(place) = self.by_key.remove(key) else { return };
        self.list.remove(place);
        self.by_key.values_mut().filter(|later| **later > place).for_each(|later| *later -= 1);
    }

    /// Follows aliases to the first name for which `is_tool` holds: the name of a tool is never an
    /// alias. A name that leads nowhere comes back as the last one on the way.
    ///
    /// # Errors
    /// When aliases lead back to one another.
    pub fn follow<'a>(
        &'a self,
        name: &'a str,
        is_tool: impl Fn(&str) -> bool,
    ) -> Result<&'a str, AliasCycle> {
        let mut current = name;
        for _ in 0..=self.list.len() {
            if is_tool(current) {
                return Ok(current);
            }
            match self.by_key.get(&*name::key(current)) {
                Some(&place) => current = &self.list[place].target,
                None => return Ok(current),
            }
        }
        Err(AliasCycle { name: name.to_owned() })
    }

    /// The aliases and what each stands for, in the order of registration.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.list.iter().map(|alias| (alias.name.as_str(), alias.target.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn aliases(pairs: &[(&str, &str)]) -> Aliases {
        let mut aliases = Aliases::default();
        pairs.iter().for_each(|&(alias, target)| aliases.insert(alias, target));
        aliases
    }

    fn is_tool(name: &str) -> bool {
        ["add", "read"].contains(&&*name::key(name))
    }

    #[test]
    fn chains_are_followed_to_a_tool_in_any_spelling() {
        let aliases = aliases(&[("plus", "add"), ("Sum", "PLUS")]);
        assert_eq!(aliases.follow(" sum ", is_tool), Ok("add"));
        assert_eq!(aliases.follow("Add", is_tool), Ok("Add"));
        assert_eq!(aliases.follow("nobody", is_tool), Ok("nobody"));
    }

    #[test]
    fn a_chain_that_leads_nowhere_ends_at_its_last_name() {
        assert_eq!(aliases(&[("a", "b"), ("b", "c")]).follow("a", is_tool), Ok("c"));
    }

    #[test]
    fn cycles_of_any_length_are_errors() {
        let aliases = aliases(&[("x", "y"), ("y", "x"), ("a", "b"), ("b", "c"), ("c", "a"), ("into", "a")]);
        for name in ["x", "a", "c", "into"] {
            assert_eq!(aliases.follow(name, is_tool), Err(AliasCycle { name: name.to_owned() }));
        }
    }

    #[test]
    fn an_alias_for_its_own_name_is_as_good_as_none() {
        let table = aliases(&[("add", "add"), (" Nobody", "nobody ")]);
        assert_eq!(table.iter().count(), 0);
        assert_eq!(table.follow("add", is_tool), Ok("add"));
        assert_eq!(table.follow("nobody", is_tool), Ok("nobody"));
        let undone = aliases(&[("one", "add"), ("plus", "read"), ("last", "plus"), ("Plus", "plus")]);
        assert_eq!(undone.iter().collect::<Vec<_>>(), [("one", "add"), ("last", "plus")]);
        assert_eq!(undone.follow("last", is_tool), Ok("plus"));
        assert_eq!(undone.follow("one", is_tool), Ok("add"));
    }

    #[test]
    fn the_name_of_a_tool_is_never_an_alias() {
        assert_eq!(aliases(&[("add", "read")]).follow("add", is_tool), Ok("add"));
    }

    #[test]
    fn aliases_are_listed_in_order_and_a_later_target_replaces_an_earlier_one() {
        let aliases = aliases(&[("b", "x"), ("a", "y"), ("B", "z")]);
        assert_eq!(aliases.iter().collect::<Vec<_>>(), [("B", "z"), ("a", "y")]);
    }
}
