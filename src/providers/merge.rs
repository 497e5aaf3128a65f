//! What has to change in a catalogue so that it has what the providers give now.

use std::{collections::HashMap, sync::Arc};

use toolyard_actors::{Catalog, CatalogChange};
use toolyard_contract::{Duplicate, SharedTool, name};

/// The changes, and what each member has in the catalogue after them.
pub(super) struct Merge {
    pub(super) changes: Vec<CatalogChange>,
    pub(super) given: Vec<Vec<SharedTool>>,
    pub(super) left_out: Vec<Duplicate>,
}

/// Whose tool has a name.
#[derive(Clone, Copy, PartialEq)]
enum Owner {
    Member(usize),
    /// The host, or nobody any more.
    Other,
}

/// Finds the changes that lead from what the members gave before to what they give now; `None` leaves
/// what a member gave. A name belongs to whoever had it first: the host, then the earlier provider.
pub(super) fn merge(catalog: &Catalog, before: &[&[SharedTool]], news: &[Option<Vec<SharedTool>>]) -> Merge {
    let mut taken: HashMap<String, (Owner, SharedTool)> = HashMap::new();
    for entry in catalog.entries() {
        let is_given = |given: &&[SharedTool]| given.iter().any(|tool| Arc::ptr_eq(tool, entry.tool()));
        let owner = before.iter().position(is_given).map_or(Owner::Other, Owner::Member);
        taken.insert(key(entry.tool()), (owner, entry.tool().clone()));
    }
    let mut merge = Merge { changes: Vec::new(), given: Vec::new(), left_out: Vec::new() };
    for (member, old, new) in members(before, news) {
        for tool in old.iter().filter(|old| !new.iter().any(|new| key(new) == key(old))) {
            if taken.get(&key(tool)).is_some_and(|(owner, _)| *owner == Owner::Member(member)) {
                taken.remove(&key(tool));
                merge.changes.push(CatalogChange::Remove(tool.spec().name.clone()));
            }
        }
    }
    for (member, _, new) in members(before, news) {
        let mut given = Vec::with_capacity(new.len());
        for tool in new {
            let mine = Owner::Member(member);
            match taken.get(&key(tool)) {
                // A provider may give one name twice; the first counts.
                Some((owner, kept))
                    if *owner != mine || given.iter().any(|other| key(other) == key(tool)) =>
                {
                    let (kept, dropped) = (kept.spec().name.clone(), tool.spec().name.clone());
                    merge.left_out.push(Duplicate { kept, dropped });
                    continue;
                }
                Some((_, there)) if Arc::ptr_eq(there, tool) => {}
                Some(_) => merge.changes.push(CatalogChange::Replace(tool.clone())),
                None => merge.changes.push(CatalogChange::Add(tool.clone())),
            }
            taken.insert(key(tool), (mine, tool.clone()));
            given.push(tool.clone());
        }
        merge.given.push(given);
    }
    merge
}

fn members<'a>(
    before: &'a [&'a [SharedTool]],
    news: &'a [Option<Vec<SharedTool>>],
) -> impl Iterator<Item = (usize, &'a [SharedTool], &'a [SharedTool])> {
    let now = |(member, (old, new)): (usize, (&&'a [SharedTool], &'a Option<Vec<SharedTool>>))| {
        (member, *old, new.as_deref().unwrap_or(old))
    };
    before.iter().zip(news).enumerate().map(now)
}

fn key(tool: &SharedTool) -> String {
    name::key(&tool.spec().name).into_owned()
}
