//! What `$ref` names, put in its place.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{Object, merge, note, walk};

/// What happens to a `$ref` that leads back to itself.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Recursion {
    /// It stays a `$ref`, to a definition of [`Inlined::definitions`].
    Keep,
    /// It is written out twice; further down the description says what comes.
    Unroll,
}

/// A schema without references, apart from recursive ones that were kept.
pub(super) struct Inlined {
    pub(super) schema: Value,
    /// What the kept references name, by the name after `#/$defs/`.
    pub(super) definitions: BTreeMap<String, Value>,
}

/// Deeper than this no provider and no model follows; what is below becomes a description.
const MAX_DEPTH: usize = 40;

/// How much text references may add in total: a small schema from an untrusted server can name itself into
/// gigabytes. The largest limit that a provider documents is 120,000 characters.
const MAX_ADDED_BYTES: usize = 500_000;

const UNROLLED: usize = 2;

/// Writes out every local reference of a 2020-12 schema; merges what stands beside a `$ref` with what it names.
pub(super) fn inline(root: &Value, recursion: Recursion) -> Inlined {
    let mut inliner = Inliner {
        root,
        recursion,
        path: Vec::new(),
        added_bytes: 0,
        known: BTreeMap::new(),
        names: BTreeMap::new(),
        definitions: BTreeMap::new(),
    };
    let (schema, _) = inliner.schema(root.clone(), 0);
    Inlined { schema, definitions: inliner.definitions }
}

struct Inliner<'a> {
    root: &'a Value,
    recursion: Recursion,
    /// The references that are being written out, outermost first.
    path: Vec<String>,
    added_bytes: usize,
    known: BTreeMap<String, Target<'a>>,
    /// The definition name of each reference that is kept, and whether the definition accepts more there.
    names: BTreeMap<String, (String, bool)>,
    definitions: BTreeMap<String, Value>,
}

/// What a reference names.
#[derive(Clone, Copy)]
struct Target<'a> {
    schema: Option<&'a Value>,
    is_recursive: bool,
    bytes: usize,
}

/// A schema, and whether it accepts more than the one it came from.
type Written = (Value, bool);

impl<'a> Inliner<'a> {
    fn schema(&mut self, schema: Value, depth: usize) -> Written {
        let Value::Object(mut schema) = schema else { return (schema, false) };
        if depth > MAX_DEPTH {
            return (cut(schema), true);
        }
        schema.remove("$defs");
        schema.remove("definitions");
        let reference = match schema.get("$ref") {
            Some(Value::String(reference)) => Some(reference.clone()),
            _ => None,
        };
        if reference.is_some() {
            schema.remove("$ref");
        }
        let below = walk::relax_children(&mut schema, &mut |child| self.schema(child, depth + 1));
        note::add(&mut schema, below.rest);
        let (schema, more) = match reference {
            Some(reference) => self.reference(&reference, schema, depth),
            None => (flatten(schema).into(), false),
        };
        (schema, more || below.accepts_more)
    }

    fn reference(&mut self, reference: &str, mut siblings: Object, depth: usize) -> Written {
        let target = self.target(reference);
        let Some(schema) = target.schema else { return (named_only(reference, siblings, None), true) };
        let (target, more) = if target.is_recursive && self.recursion == Recursion::Keep {
            let (reference, more) = self.definition(reference, schema);
            (json!({"$ref": reference}), more)
        } else {
            let written = self.path.iter().filter(|open| *open == reference).count();
            if written >= UNROLLED || self.added_bytes + target.bytes > MAX_ADDED_BYTES {
                return (named_only(reference, siblings, schema.get("type")), true);
            }
            self.added_bytes += target.bytes;
            self.path.push(reference.to_owned());
            let (mut written_out, more) = self.schema(schema.clone(), depth + 1);
            self.path.pop();
            if let (true, Value::Object(schema)) = (target.is_recursive, &mut written_out) {
                // So that a reader knows what the innermost reference names.
                schema.entry("title").or_insert_with(|| reference.into());
            }
            (written_out, more)
        };
        if more {
            let rest = walk::take(&mut siblings, &walk::UNEVALUATED);
            note::add(&mut siblings, rest);
        }
        let both = if siblings.is_empty() { target } else { merge::both_values(&siblings.into(), &target) };
        (both, more)
    }

    fn target(&mut self, reference: &str) -> Target<'a> {
        if let Some(target) = self.known.get(reference) {
            return *target;
        }
        let schema = resolve(self.root, reference);
        let target = Target {
            schema,
            is_recursive: is_recursive(self.root, reference),
            bytes: schema.map_or(0, |schema| schema.to_string().len()),
        };
        self.known.insert(reference.to_owned(), target);
        target
    }

    /// The new place of a recursive definition, and whether it accepts more there; its schema is written out at
    /// its first use.
    fn definition(&mut self, reference: &str, target: &Value) -> (String, bool) {
        if let Some((name, more)) = self.names.get(reference) {
            return (format!("#/$defs/{name}"), *more);
        }
        let last = reference.rsplit(['/', '#']).next().unwrap_or_default();
        let word: String = last.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
        let mut name = if word.is_empty() { "root".to_owned() } else { word };
        while self.names.values().any(|(taken, _)| *taken == name) {
            name.push('_');
        }
        self.names.insert(reference.to_owned(), (name.clone(), false));
        let (schema, more) = self.schema(target.clone(), 0);
        self.definitions.insert(name.clone(), schema);
        self.names.insert(reference.to_owned(), (name.clone(), more));
        (format!("#/$defs/{name}"), more)
    }
}

/// Merges the parts of `allOf` into the schema itself, as far as they can be.
fn flatten(mut schema: Object) -> Object {
    let Some(Value::Array(parts)) = schema.remove("allOf") else { return schema };
    let mut left = Vec::new();
    for part in parts {
        match &part {
            Value::Bool(true) => {}
            Value::Object(object) if !object.contains_key("$ref") => match merge::both(&schema, object) {
                Some(merged) => schema = merged,
                None => left.push(part),
            },
            _ => left.push(part),
        }
    }
    if !left.is_empty() {
        schema.insert("allOf".to_owned(), left.into());
    }
    schema
}

/// A reference that is not written out: what stood beside it, the type of what it names, and its name.
fn named_only(reference: &str, siblings: Object, kind: Option<&Value>) -> Value {
    let mut schema = siblings;
    let mut rest = walk::take(&mut schema, &walk::UNEVALUATED);
    rest.insert("$ref".to_owned(), reference.into());
    note::add(&mut schema, rest);
    if let Some(kind) = kind {
        schema.entry("type").or_insert_with(|| kind.clone());
    }
    schema.into()
}

/// What is too deep stays as its type and a description.
fn cut(mut schema: Object) -> Value {
    let rest = note::take_rest(&mut schema, &["type", "title", "description"]);
    note::add(&mut schema, rest);
    schema.into()
}

fn resolve<'a>(root: &'a Value, reference: &str) -> Option<&'a Value> {
    let pointer = reference.strip_prefix('#')?;
    let found = root.pointer(&percent_decoded(pointer)?)?;
    (found.is_object() || found.is_boolean()).then_some(found)
}

fn percent_decoded(text: &str) -> Option<String> {
    let mut parts = text.split('%');
    let mut bytes = parts.next()?.as_bytes().to_vec();
    for part in parts {
        let (digits, rest) = part.split_at_checked(2)?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        bytes.extend(rest.as_bytes());
    }
    String::from_utf8(bytes).ok()
}

/// Tells whether what a reference names leads back to that reference.
fn is_recursive(root: &Value, reference: &str) -> bool {
    let mut open = vec![reference.to_owned()];
    let mut seen: Vec<String> = Vec::new();
    while let Some(next) = open.pop() {
        let mut found = Vec::new();
        if let Some(target) = resolve(root, &next) {
            references(target.clone(), &mut found);
        }
        if found.iter().any(|one| one == reference) {
            return true;
        }
        open.extend(found.into_iter().filter(|one| !seen.contains(one)));
        seen.push(next);
    }
    false
}

fn references(schema: Value, found: &mut Vec<String>) {
    let Value::Object(mut schema) = schema else { return };
    if let Some(Value::String(reference)) = schema.get("$ref") {
        found.push(reference.clone());
    }
    schema.remove("$defs");
    schema.remove("definitions");
    walk::map_children(&mut schema, &mut |child| {
        references(child, found);
        Value::Null
    });
}
