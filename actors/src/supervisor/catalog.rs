//! The published catalogue: which tools there are, how they are checked, where they run.

use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicU64, Ordering},
};

use rustc_hash::FxHashMap;
use serde_json::Value;
use toolyard_contract::{
    ActivationController, Aliases, ArgumentError, Execution, NameTable, Outcome, Output, RowKey, Tool,
    ToolSpec, absent, exact, hidden, name, names, strict,
};

use super::{catalog_error::CatalogError, fit::Fit, off::Off};
use crate::{admission::ToolGates, call_end::Finished, keys::Key, rows::RowTable};

/// An immutable snapshot of the tools. A list keeps the one that it started with.
#[derive(Clone, Default)]
pub struct Catalog {
    /// In the order of registration; replaced tools keep their place.
    entries: Vec<Arc<Entry>>,
    by_name: FxHashMap<Box<str>, u32>,
    aliases: Aliases,
    /// What is not there and could be.
    pub(super) off: Off,
    /// Made when it is first needed; every change takes it away.
    exposed: OnceLock<NameTable>,
}

/// One tool of a catalogue.
pub struct Entry {
    /// Tells it and its rows from others; never used again.
    id: u64,
    pub(crate) tool: Arc<dyn Tool>,
    /// What it remembers, if it keeps state.
    rows: Option<RowTable>,
    /// Its own limits, once for each depth of nested lists.
    gates: Vec<ToolGates>,
    /// Whether the tool is switched on, and at which version of the controller that was asked.
    active: AtomicU64,
    input: Fit,
    output: Fit,
}

impl Entry {
    pub(crate) fn new(tool: Arc<dyn Tool>, rows: Option<RowTable>, gates: Vec<ToolGates>) -> Self {
        static LAST: AtomicU64 = AtomicU64::new(0);
        Self {
            id: LAST.fetch_add(1, Ordering::Relaxed),
            tool,
            rows,
            gates,
            active: AtomicU64::new(0),
            input: Fit::default(),
            output: Fit::default(),
        }
    }

    /// A tool that no actor stands behind: its calls can be checked and judged, not sent.
    pub(crate) fn detached(tool: Arc<dyn Tool>) -> Self {
        Self::new(tool, None, Vec::new())
    }

    /// The tool.
    pub fn tool(&self) -> &Arc<dyn Tool> {
        &self.tool
    }

    /// What the tool says about itself.
    pub fn spec(&self) -> &ToolSpec {
        self.tool.spec()
    }

    /// Compiles the schemas now, so that a tool that cannot be checked is found at registration.
    pub(crate) fn check_schemas(&self) -> Result<(), CatalogError> {
        let spec = self.spec();
        let bad = |which, reason: &String| CatalogError::BadSchema {
            name: spec.name.clone(),
            which,
            reason: reason.clone(),
        };
        self.input.compiled(&spec.input_schema).map_err(|reason| bad("input", reason))?;
        if let Some(schema) = &spec.output_schema {
            self.output.compiled(schema).map_err(|reason| bad("output", reason))?;
        }
        Ok(())
    }

    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// What the tool remembers, if it keeps state.
    pub(crate) fn rows(&self) -> Option<&RowTable> {
        self.rows.as_ref()
    }

    /// The key of the row that an agent's calls work on; `None` without state.
    pub(crate) fn row(&self, agent: Option<&Arc<str>>) -> Option<RowKey> {
        self.rows.as_ref().map(|rows| rows.key(agent))
    }

    /// The same among the keys of the whole engine.
    pub(crate) fn row_key(&self, agent: Option<&Arc<str>>) -> Option<Key> {
        self.row(agent).map(|row| Key::Row(self.id, row))
    }

    pub(crate) fn keeps_state(&self) -> bool {
        self.rows.is_some()
    }

    /// Tells whether the row that an agent's calls work on was ever used; `None` without state.
    pub(crate) fn has_row(&self, agent: Option<&Arc<str>>) -> Option<bool> {
        self.rows.as_ref().map(|rows| rows.has_row(agent))
    }

    /// Which of the tool's actors runs an agent's calls, from 1; `None` where there is one.
    pub(crate) fn shard(&self, agent: Option<&Arc<str>>) -> Option<usize> {
        let rows = self.rows.as_ref().filter(|rows| rows.shards().len() > 1)?;
        Some(rows.place_of(&rows.key(agent)) + 1)
    }

    /// The gates of this tool, once for each depth of nested lists.
    pub(crate) fn gates(&self) -> &[ToolGates] {
        &self.gates
    }

    /// Tells whether the tool is switched on. Patterns are matched once for each change of the rules.
    pub(crate) fn is_active(&self, activation: &ActivationController) -> bool {
        // One more than the version, so that no version is the 0 of the beginning.
        let version = activation.version().wrapping_add(1) << 1;
        let known = self.active.load(Ordering::Relaxed);
        if known & !1 == version {
            return known & 1 == 1;
        }
        let active = activation.is_active(&self.spec().name);
        self.active.store(version | u64::from(active), Ordering::Relaxed);
        active
    }

    /// What to say of a call of a tool that is switched off.
    pub(crate) fn inactive(&self) -> String {
        format!("tool {:?}: it is switched off", self.spec().name)
    }

    pub(crate) fn is_blocking(&self) -> bool {
        self.spec().execution == Execution::Blocking
    }

    /// Checks the text of an arguments object: syntax, duplicate keys, and the schema unless the tool
    /// checks that itself. Gives the text without what is `null` for being left out.
    ///
    /// `is_plain` says that its syntax and its keys have been looked at, and that nothing is `null`.
    pub(crate) fn check_arguments(&self, text: String, is_plain: bool) -> Result<String, ArgumentError> {
        let spec = self.spec();
        let without_nulls = |text: &str| absent::without_forced_nulls(text, &spec.input_schema);
        if spec.checks_arguments {
            if is_plain || strict::is_plain(&text) {
                return Ok(text);
            }
            strict::check(&text)?;
            return Ok(without_nulls(&text).unwrap_or(text));
        }
        match self.check_schema(&text) {
            Ok(()) => Ok(text),
            Err(error @ ArgumentError::Schema(_)) => match without_nulls(&text) {
                Some(text) => self.check_schema(&text).map(|()| text),
                None => Err(error),
            },
            Err(error) => Err(error),
        }
    }

    fn check_schema(&self, text: &str) -> Result<(), ArgumentError> {
        let (value, is_inexact) = strict::parse_noting(text)?;
        let schema = &self.spec().input_schema;
        self.input.check("input", schema, &value, is_inexact, text).map_err(ArgumentError::Schema)
    }

    /// Joins a tool's word with what its spec promises: words argument errors by the schema, and
    /// notes an output that breaks the declared schema.
    pub(crate) fn judge(&self, mut finished: Finished) -> Finished {
        match finished.outcome {
            Outcome::BadArguments => {
                finished.error = finished.error.map(|error| self.fit_for_a_model(error));
                // The text that the tool could not parse; never shown.
                let unfit = finished.output.take();
                let by_schema = unfit.and_then(|text| self.schema_error(text.to_text()));
                if let Some(error) = by_schema {
                    let error = self.fit_for_a_model(error);
                    finished.detail.get_or_insert_default().schema_error = Some(error.clone());
                    finished.error = Some(error);
                }
            }
            Outcome::Ok => {
                if let Some(mismatch) = self.output_mismatch(finished.output.as_ref()) {
                    finished.detail.get_or_insert_default().output_mismatch = Some(mismatch);
                }
            }
            _ => {}
        }
        finished
    }

    /// Words a refusal of arguments for a model, and what the schema says, where it is that.
    pub(crate) fn refusal(&self, error: ArgumentError) -> (String, Option<String>) {
        match error {
            // It names what the call gave, and does not say that there is such a parameter.
            ArgumentError::NotForTheModel(_) => (error.to_string(), None),
            ArgumentError::Schema(reason) => {
                let reason = self.fit_for_a_model(reason);
                (reason.clone(), Some(reason))
            }
            _ => (self.fit_for_a_model(error.to_string()), None),
        }
    }

    /// Words an error about arguments without the parameters that the runtime fills in, and not too long.
    fn fit_for_a_model(&self, error: String) -> String {
        if hidden::is_named(&error, &self.spec().injected) {
            return "what the runtime adds to the arguments is missing or does not fit; no argument of the call can \
                    change that"
                .to_owned();
        }
        name::short(error, MOST_ERROR)
    }

    fn schema_error(&self, arguments: &str) -> Option<String> {
        let (value, is_inexact) = strict::parse_noting(arguments).ok()?;
        let schema = &self.spec().input_schema;
        self.input.compiled(schema).ok()?;
        self.input.check("input", schema, &value, is_inexact, arguments).err()
    }

    fn output_mismatch(&self, output: Option<&Output>) -> Option<String> {
        let schema = self.spec().output_schema.as_ref()?;
        let value = output.map_or(Value::Null, Output::to_value);
        let json = output.filter(|output| output.as_text().is_none()).map(Output::to_text);
        let text = json.filter(|json| exact::has_inexact(json));
        self.output.check("output", schema, &value, text.is_some(), text.unwrap_or_default()).err()
    }
}

/// How long an error about arguments may be, in characters; it may quote names that a model made up.
const MOST_ERROR: usize = 2_000;

impl Catalog {
    /// Finds a tool by the name that providers were shown, its own name, or an alias.
    pub fn get(&self, wanted: &str) -> Option<&Arc<Entry>> {
        // First, so that no tool can take calls of another by being named as that one is shown.
        if names::looks_suffixed(wanted)
            && let Some(raw) = self.exposed_names().raw(wanted)
        {
            return self.entries.get(*self.by_name.get(raw)? as usize);
        }
        // The spelling of the registration is in the map too, so that this rarely folds case.
        let index = self.by_name.get(wanted).or_else(|| {
            let is_tool = |name: &str| self.by_name.contains_key(name::key(name).as_ref());
            self.by_name.get(name::key(self.aliases.follow(wanted, is_tool).ok()?).as_ref())
        })?;
        self.entries.get(*index as usize)
    }

    /// Finds a tool by its own name alone.
    pub fn own(&self, name: &str) -> Option<&Arc<Entry>> {
        self.entries.get(self.place_of(name)?)
    }

    /// Finds the tool whose own name is this, letter by letter.
    pub fn exact(&self, name: &str) -> Option<&Arc<Entry>> {
        self.own(name).filter(|entry| entry.spec().name == name)
    }

    /// Where a tool with this name of its own stands among the entries.
    pub(crate) fn place_of(&self, name: &str) -> Option<usize> {
        self.by_name.get(name::key(name).as_ref()).map(|&place| place as usize)
    }

    /// The tools in their order.
    pub fn entries(&self) -> &[Arc<Entry>] {
        &self.entries
    }

    /// The names to show to providers.
    pub fn exposed_names(&self) -> &NameTable {
        self.exposed.get_or_init(|| NameTable::of_tools(self.entries.iter().map(|entry| entry.spec())))
    }

    /// The aliases: name and what it stands for.
    pub fn aliases(&self) -> impl Iterator<Item = (&str, &str)> {
        self.aliases.iter()
    }

    /// What to say of a call of a tool that is not there, where it could be.
    pub(crate) fn off(&self, wanted: &str) -> Option<String> {
        self.off.says(wanted, &self.aliases)
    }

    /// Says why `wanted` is not there and what is, as far as it may be shown.
    pub(crate) fn unknown(&self, wanted: &str, shown: impl Fn(&Entry) -> bool) -> String {
        const MOST: usize = 10;
        let entries = || self.entries.iter().filter(|entry| shown(entry));
        let names = || entries().map(|entry| entry.spec().name.as_str());
        let nearest = name::nearest(wanted, names());
        let wanted = name::shown(wanted);
        if !nearest.is_empty() {
            return format!("no tool is named {wanted:?}; the nearest names are: {}", nearest.join(", "));
        }
        match entries().count() {
            0 => format!("no tool is named {wanted:?}; there are no tools"),
            many if many > MOST => format!(
                "no tool is named {wanted:?}; there are {many}, among them: {}",
                names().take(MOST).collect::<Vec<_>>().join(", ")
            ),
            _ => {
                format!("no tool is named {wanted:?}; there are: {}", names().collect::<Vec<_>>().join(", "))
            }
        }
    }

    /// Adds a tool under a name that is free.
    pub(crate) fn add(&mut self, entry: Entry) -> Result<(), CatalogError> {
        let raw = entry.spec().name.clone();
        let key = name::key(&raw);
        if key.is_empty() {
            return Err(CatalogError::BlankName);
        }
        if let Some(&taken) = self.by_name.get(key.as_ref()) {
            let taken_by = self.entries[taken as usize].spec().name.clone();
            return Err(CatalogError::NameTaken { name: raw, taken_by });
        }
        let index = u32::try_from(self.entries.len()).unwrap_or(u32::MAX);
        self.by_name.insert(key.into(), index);
        self.by_name.insert(raw.as_str().into(), index);
        self.entries.push(Arc::new(entry));
        self.exposed.take();
        Ok(())
    }

    /// Puts a tool in the place of the one with the same name.
    pub(crate) fn replace(&mut self, entry: Entry) -> Result<(), CatalogError> {
        let raw = entry.spec().name.clone();
        let Some(&index) = self.by_name.get(name::key(&raw).as_ref()) else {
            return Err(CatalogError::Unknown { name: raw });
        };
        self.by_name.remove(self.entries[index as usize].spec().name.as_str());
        self.by_name.insert(name::key(&raw).into(), index);
        self.by_name.insert(raw.into(), index);
        self.entries[index as usize] = Arc::new(entry);
        self.exposed.take();
        Ok(())
    }

    /// Takes a tool out.
    pub(crate) fn remove(&mut self, wanted: &str) -> Result<(), CatalogError> {
        let Some(&index) = self.by_name.get(name::key(wanted).as_ref()) else {
            return Err(CatalogError::Unknown { name: wanted.to_owned() });
        };
        self.entries.remove(index as usize);
        self.exposed.take();
        self.by_name.retain(|_, at| *at != index);
        self.by_name.values_mut().filter(|at| **at > index).for_each(|at| *at -= 1);
        Ok(())
    }

    /// Lets `alias` stand for the tool `target`, unless a tool has that name.
    pub(crate) fn add_alias(&mut self, alias: &str, target: &str) -> Result<(), CatalogError> {
        self.aliases.insert(alias, target);
        let is_tool = |name: &str| self.by_name.contains_key(name::key(name).as_ref());
        self.aliases.follow(alias, is_tool)?;
        Ok(())
    }
}
