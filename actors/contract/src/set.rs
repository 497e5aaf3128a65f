//! Sets of tools: ordered, immutable, one tool per name.

use std::{collections::HashMap, fmt, fmt::Write as _, sync::Arc};

use crate::{FunctionSchema, Tool, name};

/// A tool that several sets and engines may share.
pub type SharedTool = Arc<dyn Tool>;

/// An ordered set of tools; the order is both the order shown to a model and that of listings.
///
/// A set never changes: merging gives a new one. Clones share one copy. Names are compared by
/// [`name::key`]. A tool without a name is kept and listed by [`schemas`](Self::schemas), but
/// cannot be looked up.
#[derive(Clone, Default)]
pub struct ToolSet {
    inner: Arc<Inner>,
}

#[derive(Default)]
struct Inner {
    tools: Vec<SharedTool>,
    by_key: HashMap<String, usize>,
    duplicates: Vec<Duplicate>,
}

/// Which tool stays when two have one name. The place is always that of the first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DuplicatePolicy {
    /// The earlier tool stays.
    #[default]
    FirstWins,
    /// The later tool takes the earlier one's place.
    LastWins,
}

/// A tool that was left out of a set because another one has its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Duplicate {
    /// The name of the tool that is in the set.
    pub kept: String,
    /// The name of the tool that is not.
    pub dropped: String,
}

impl Duplicate {
    /// Tells whether the two names differ in case or outer blanks, so that these may well be two
    /// different tools of which a model could only ever reach one.
    pub fn differs_in_spelling(&self) -> bool {
        self.kept != self.dropped
    }
}

impl fmt::Display for Duplicate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "tool {:?} was left out: {:?} has the same name", self.dropped, self.kept)
    }
}

impl ToolSet {
    /// Makes an empty set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes a set of `tools`; of two with one name the first stays.
    pub fn from_tools(tools: impl IntoIterator<Item = SharedTool>) -> Self {
        Self::build(tools, DuplicatePolicy::default())
    }

    /// Makes a set of this one's tools followed by those of each group; of two with one name the
    /// first stays. [`duplicates`](Self::duplicates) of the new set reports what was left out.
    ///
    /// A group is a list of tools, or the [`tools`](Self::tools) of another set.
    #[must_use]
    pub fn merge(&self, groups: &[&[SharedTool]]) -> Self {
        self.merge_with(DuplicatePolicy::default(), groups)
    }

    /// Merges like [`merge`](Self::merge) under a policy of the caller's.
    #[must_use]
    pub fn merge_with(&self, policy: DuplicatePolicy, groups: &[&[SharedTool]]) -> Self {
        let tools = self.tools().iter().chain(groups.iter().copied().flatten());
        Self::build(tools.cloned(), policy)
    }

    /// Merges with one list.
    #[must_use]
    pub fn with_tools(&self, tools: &[SharedTool]) -> Self {
        self.merge(&[tools])
    }

    fn build(tools: impl IntoIterator<Item = SharedTool>, policy: DuplicatePolicy) -> Self {
        let mut inner = Inner::default();
        for tool in tools {
            inner.insert(tool, policy);
        }
        Self { inner: Arc::new(inner) }
    }

    /// What was left out when this set was made.
    pub fn duplicates(&self) -> &[Duplicate] {
        &self.inner.duplicates
    }

    /// The tools, in order.
    pub fn tools(&self) -> &[SharedTool] {
        &self.inner.tools
    }

    /// The number of tools.
    pub fn len(&self) -> usize {
        self.inner.tools.len()
    }

    /// Tells whether there are no tools.
    pub fn is_empty(&self) -> bool {
        self.inner.tools.is_empty()
    }

    /// Looks a tool up by name.
    pub fn get(&self, name: &str) -> Option<&SharedTool> {
        self.inner.by_key.get(&*name::key(name)).map(|&place| &self.inner.tools[place])
    }

    /// Tells whether every one of these tools is here and declared parallel-safe; an empty list is.
    pub fn all_parallel_safe<'a>(&self, names: impl IntoIterator<Item = &'a str>) -> bool {
        names.into_iter().all(|name| self.get(name).is_some_and(|tool| tool.spec().parallel_safe))
    }

    /// The names, in order, in the tools' own spelling; tools without one are passed over.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tools().iter().map(|tool| tool.spec().name.trim()).filter(|name| !name.is_empty())
    }

    /// The schema of every tool, in order, in the form that function-calling interfaces take.
    pub fn schemas(&self) -> Vec<FunctionSchema> {
        self.tools().iter().map(|tool| tool.spec().to_schema()).collect()
    }

    /// The whole description of every tool, in order.
    pub fn specs(&self) -> Vec<serde_json::Value> {
        self.tools().iter().map(|tool| tool.spec().to_value()).collect()
    }

    /// Describes the tools for a prompt: a line `- name: description` for each that has a name;
    /// empty text for an empty set.
    pub fn describe(&self) -> String {
        let mut text = String::new();
        for tool in self.tools() {
            let spec = tool.spec();
            let (name, description) = (spec.name.trim(), spec.description_text());
            if name.is_empty() {
                continue;
            }
            let line_break = if text.is_empty() { "" } else { "\n" };
            let colon = if description.is_empty() { "" } else { ": " };
            let _ = write!(text, "{line_break}- {name}{colon}{description}");
        }
        text
    }
}

impl Inner {
    fn insert(&mut self, tool: SharedTool, policy: DuplicatePolicy) {
        let key = name::key(&tool.spec().name).into_owned();
        if key.is_empty() {
            self.tools.push(tool);
            return;
        }
        let Some(&place) = self.by_key.get(&key) else {
            self.by_key.insert(key, self.tools.len());
            self.tools.push(tool);
            return;
        };
        let dropped = match policy {
            DuplicatePolicy::FirstWins => tool,
            DuplicatePolicy::LastWins => std::mem::replace(&mut self.tools[place], tool),
        };
        self.duplicates.push(Duplicate {
            kept: self.tools[place].spec().name.clone(),
            dropped: dropped.spec().name.clone(),
        });
    }
}

impl FromIterator<SharedTool> for ToolSet {
    fn from_iter<I: IntoIterator<Item = SharedTool>>(tools: I) -> Self {
        Self::from_tools(tools)
    }
}

/// Gives the tools in order, for whoever takes them one by one.
impl IntoIterator for ToolSet {
    type Item = SharedTool;
    type IntoIter = std::vec::IntoIter<SharedTool>;

    fn into_iter(self) -> Self::IntoIter {
        self.tools().to_vec().into_iter()
    }
}

impl fmt::Debug for ToolSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        ToolSpec,
        inert::{named as tool, tool as with_spec},
    };

    fn described(name: &str, text: &str) -> SharedTool {
        with_spec(ToolSpec::new(name).description(text))
    }

    fn names(set: &ToolSet) -> Vec<&str> {
        set.names().collect()
    }

    #[test]
    fn a_new_set_is_empty_and_so_is_one_of_no_tools() {
        assert!(ToolSet::new().is_empty());
        assert!(ToolSet::from_tools([]).is_empty());
        assert_eq!(ToolSet::new().describe(), "");
        assert!(ToolSet::new().schemas().is_empty());
    }

    #[test]
    fn tools_keep_their_order() {
        let set = ToolSet::from_tools(["c", "a", "b"].map(tool));
        assert_eq!(names(&set), ["c", "a", "b"]);
        assert_eq!(set.schemas().iter().map(|s| s.name.as_str()).collect::<Vec<_>>(), ["c", "a", "b"]);
        assert_eq!(
            set.specs().iter().map(|s| s["name"].as_str().unwrap()).collect::<Vec<_>>(),
            ["c", "a", "b"]
        );
    }

    #[test]
    fn merging_puts_the_receiver_first_then_each_group_in_order() {
        let base = ToolSet::from_tools(["a", "b"].map(tool));
        let group = ToolSet::from_tools(["c"].map(tool));
        let merged = base.merge(&[group.tools(), &["d", "e"].map(tool)]);
        assert_eq!(names(&merged), ["a", "b", "c", "d", "e"]);
        assert!(merged.duplicates().is_empty());
        assert_eq!((base.len(), group.len()), (2, 1), "the inputs are unchanged");
    }

    #[test]
    fn of_two_tools_with_one_name_the_first_stays_in_its_place_and_the_other_is_reported() {
        let first = ToolSet::from_tools([described("a", "first"), tool("b")]);
        let merged = first.merge(&[&[tool("c"), described("a", "second")]]);
        assert_eq!(names(&merged), ["a", "b", "c"]);
        assert_eq!(merged.get("a").unwrap().spec().description_text(), "first");
        assert_eq!(merged.duplicates(), [Duplicate { kept: "a".into(), dropped: "a".into() }]);
        assert!(!merged.duplicates()[0].differs_in_spelling());
    }

    #[test]
    fn under_last_wins_the_later_tool_takes_the_place_of_the_earlier() {
        let first = ToolSet::from_tools([described("a", "first"), tool("b")]);
        let merged = first.merge_with(DuplicatePolicy::LastWins, &[&[described("a", "second")]]);
        assert_eq!(names(&merged), ["a", "b"]);
        assert_eq!(merged.get("a").unwrap().spec().description_text(), "second");
        assert_eq!(merged.duplicates().len(), 1);
    }

    #[test]
    fn names_that_differ_in_case_alone_clash_and_the_report_says_so() {
        let set = ToolSet::from_tools(["Read", "read"].map(tool));
        assert_eq!(names(&set), ["Read"]);
        let clash = &set.duplicates()[0];
        assert!(clash.differs_in_spelling());
        assert_eq!(clash.to_string(), "tool \"read\" was left out: \"Read\" has the same name");
    }

    #[test]
    fn lookup_trims_and_folds_case_on_both_sides() {
        let set = ToolSet::from_tools([tool("File_Read")]);
        assert!(set.get(" file_READ ").is_some());
        assert!(set.get("file").is_none());
        assert!(set.get("").is_none());
    }

    #[test]
    fn a_list_of_names_is_parallel_safe_when_every_tool_is_here_and_says_so() {
        let safe = with_spec(ToolSpec::new("safe").parallel_safe(true));
        let set = ToolSet::from_tools([safe, tool("unmarked")]);
        assert!(set.all_parallel_safe([]));
        assert!(set.all_parallel_safe(["safe", " SAFE "]));
        assert!(!set.all_parallel_safe(["safe", "unmarked"]), "a tool that does not say is not safe");
        assert!(!set.all_parallel_safe(["unknown"]));
    }

    #[test]
    fn a_description_has_one_line_for_each_tool_that_has_a_name() {
        let set = ToolSet::from_tools([described("add", " Adds. "), tool(" "), tool("bare")]);
        assert_eq!(set.describe(), "- add: Adds.\n- bare");
    }

    #[test]
    fn tools_without_a_name_are_kept_but_have_no_name_to_list() {
        let set = ToolSet::from_tools([tool(""), tool("a"), tool(" ")]);
        assert_eq!(set.len(), 3);
        assert_eq!(names(&set), ["a"]);
        assert_eq!(set.schemas().len(), 3);
        assert!(set.duplicates().is_empty());
    }
}
