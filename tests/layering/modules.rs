//! The modules of a crate, read from its files: which names each has, and which paths it writes.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use super::Source;

/// A path as it is written: `crate`, `super`, `self` or a name first.
pub(super) type Written = Vec<String>;

/// One module, which is a file or a part of one.
#[derive(Default)]
pub(super) struct Module {
    pub(super) file: PathBuf,
    parent: Option<usize>,
    children: BTreeMap<String, usize>,
    /// What it defines itself.
    items: BTreeSet<String>,
    /// What it takes from elsewhere, by the name that it has here.
    taken: BTreeMap<String, Written>,
    /// The modules of which it takes everything.
    globs: Vec<Written>,
    /// Every path in it, those of `use` among them.
    pub(super) paths: Vec<Written>,
}

/// The modules of one crate; the first is its root. What is compiled for tests alone is left out.
#[derive(Default)]
pub(super) struct Modules {
    pub(super) all: Vec<Module>,
    /// The files that were left out.
    for_tests: Vec<PathBuf>,
}

/// What a path leads to.
#[derive(Clone, Copy)]
enum Found {
    Module(usize),
    /// Something that this module defines.
    ItemOf(usize),
}

impl Modules {
    /// Reads the crate whose root is the file `root`.
    pub(super) fn read(root: &Path, files: &[Source]) -> Self {
        let mut modules = Self::default();
        modules.all.push(Module { file: root.to_path_buf(), ..Module::default() });
        modules.read_file(0, root.parent().unwrap_or(Path::new("")), files);
        modules
    }

    /// Reads the file of a module, whose children's files are in `folder`.
    fn read_file(&mut self, module: usize, folder: &Path, files: &[Source]) {
        let path = &self.all[module].file;
        let text = files.iter().find(|(known, _)| known == path).map(|(_, text)| text);
        let text = text.unwrap_or_else(|| panic!("no file {}", path.display()));
        let tokens: TokenStream = text.parse().unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        self.read_tokens(module, folder, files, tokens);
    }

    fn read_tokens(&mut self, module: usize, folder: &Path, files: &[Source], tokens: TokenStream) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut at = 0;
        while at < tokens.len() {
            let word = word(&tokens, at);
            match (&*word, tokens.get(at + 1)) {
                ("#", Some(TokenTree::Group(attribute))) => {
                    at += 2;
                    if is_for_tests(&attribute.stream()) {
                        let item = at;
                        at = after_item(&tokens, item);
                        if let Some(name) = declared(&tokens[item..at]) {
                            self.for_tests.push(file_of(&name, folder, files));
                        }
                    }
                }
                ("use", _) => {
                    let end = end_of_statement(&tokens, at);
                    let uses = uses(&tokens[at + 1..end]);
                    self.take(module, uses);
                    at = end + 1;
                }
                ("mod", Some(TokenTree::Ident(name))) => {
                    self.read_child(module, folder, files, &name.to_string(), tokens.get(at + 2));
                    at += 3;
                }
                (
                    "struct" | "enum" | "union" | "trait" | "type" | "const" | "static" | "fn",
                    Some(TokenTree::Ident(name)),
                ) => {
                    self.all[module].items.insert(name.to_string());
                    at += 2;
                }
                _ => at = self.read_path(module, folder, files, &tokens, at),
            }
        }
    }

    /// Reads a path, what stands in brackets, or one token; gives where to go on.
    fn read_path(
        &mut self,
        module: usize,
        folder: &Path,
        files: &[Source],
        tokens: &[TokenTree],
        mut at: usize,
    ) -> usize {
        match &tokens[at] {
            TokenTree::Group(group) => {
                self.read_tokens(module, folder, files, group.stream());
                return at + 1;
            }
            TokenTree::Ident(first) => {
                let of_another_crate = is_colons(tokens, at.wrapping_sub(2));
                let mut path = vec![first.to_string()];
                while is_colons(tokens, at + 1)
                    && let Some(TokenTree::Ident(next)) = tokens.get(at + 3)
                {
                    path.push(next.to_string());
                    at += 3;
                }
                if path.len() > 1 && !of_another_crate {
                    self.all[module].paths.push(path);
                }
            }
            TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
        at + 1
    }

    /// Reads `mod name;` or `mod name { … }`.
    fn read_child(
        &mut self,
        parent: usize,
        folder: &Path,
        files: &[Source],
        name: &str,
        body: Option<&TokenTree>,
    ) {
        let child = self.all.len();
        let mut module = Module { parent: Some(parent), ..Module::default() };
        module.file = match body {
            Some(TokenTree::Group(_)) => self.all[parent].file.clone(),
            _ => file_of(name, folder, files),
        };
        self.all.push(module);
        self.all[parent].children.insert(name.to_owned(), child);
        match body {
            Some(TokenTree::Group(body)) => {
                self.read_tokens(child, &folder.join(name), files, body.stream());
            }
            _ => self.read_file(child, &folder.join(name), files),
        }
    }

    fn take(&mut self, module: usize, uses: Vec<(Written, Option<String>)>) {
        let module = &mut self.all[module];
        for (path, name) in uses {
            module.paths.push(path.clone());
            match name {
                Some(name) => drop(module.taken.insert(name, path)),
                None => module.globs.push(path),
            }
        }
    }

    /// The module in whose file stands what a path of `module` leads to, through whatever hands it on; `None` when it is
    /// of another crate.
    pub(super) fn home_of(&self, module: usize, path: &[String]) -> Option<usize> {
        match self.follow(module, path, &mut Vec::new())? {
            Found::Module(home) | Found::ItemOf(home) => Some(home),
        }
    }

    /// Tells whether a file is one of the crate's.
    pub(super) fn has_file(&self, file: &Path) -> bool {
        self.all.iter().any(|module| module.file == file) || self.for_tests.iter().any(|path| path == file)
    }

    /// Tells whether the second module is inside the first.
    pub(super) fn contains(&self, outer: usize, inner: usize) -> bool {
        std::iter::successors(Some(inner), |at| self.all[*at].parent).any(|at| at == outer)
    }

    /// `on_the_way` has what is being followed, because modules may take everything of one another.
    fn follow(&self, module: usize, path: &[String], on_the_way: &mut Vec<(usize, String)>) -> Option<Found> {
        let (first, mut rest) = path.split_first()?;
        let mut found = match &**first {
            "crate" => Found::Module(0),
            "self" => Found::Module(module),
            "super" => Found::Module(self.all[module].parent?),
            name => self.find(module, name, rest.is_empty(), on_the_way)?,
        };
        while let (Found::Module(here), Some((next, after))) = (found, rest.split_first()) {
            found = match &**next {
                "super" => Found::Module(self.all[here].parent?),
                // What is not found comes of a macro of the module.
                name => self.find(here, name, after.is_empty(), on_the_way).unwrap_or(Found::ItemOf(here)),
            };
            rest = after;
        }
        Some(found)
    }

    /// What a name means in a module. The last part of a path is a module only if nothing else has the name.
    fn find(
        &self,
        module: usize,
        name: &str,
        is_last: bool,
        on_the_way: &mut Vec<(usize, String)>,
    ) -> Option<Found> {
        let Module { children, items, taken, globs, .. } = &self.all[module];
        let child = || children.get(name).copied().map(Found::Module);
        let item = || items.contains(name).then_some(Found::ItemOf(module));
        let own = if is_last { item().or_else(child) } else { child().or_else(item) };
        let way = (module, name.to_owned());
        if own.is_some() || on_the_way.contains(&way) {
            return own;
        }
        on_the_way.push(way);
        let found = taken.get(name).and_then(|path| {
            // A name that is taken from a crate with the same name is that crate's.
            (path[0] != name).then(|| self.follow(module, path, on_the_way)).flatten()
        });
        let found = found.or_else(|| {
            globs.iter().find_map(|path| match self.follow(module, path, on_the_way)? {
                Found::Module(other) if other != module => self.find(other, name, is_last, on_the_way),
                _ => None,
            })
        });
        on_the_way.pop();
        found
    }
}

fn file_of(module: &str, folder: &Path, files: &[Source]) -> PathBuf {
    let beside = folder.join(format!("{module}.rs"));
    let is_beside = files.iter().any(|(path, _)| *path == beside);
    if is_beside { beside } else { folder.join(module).join("mod.rs") }
}

/// The name of a module that an item declares without its body.
fn declared(item: &[TokenTree]) -> Option<String> {
    let [.., TokenTree::Ident(keyword), TokenTree::Ident(name), TokenTree::Punct(_)] = item else {
        return None;
    };
    (keyword == "mod").then(|| name.to_string())
}

fn word(tokens: &[TokenTree], at: usize) -> String {
    match &tokens[at] {
        TokenTree::Ident(name) => name.to_string(),
        TokenTree::Punct(sign) => sign.as_char().to_string(),
        TokenTree::Group(_) | TokenTree::Literal(_) => String::new(),
    }
}

fn is_sign(tokens: &[TokenTree], at: usize, sign: char) -> bool {
    matches!(tokens.get(at), Some(TokenTree::Punct(found)) if found.as_char() == sign)
}

fn is_colons(tokens: &[TokenTree], at: usize) -> bool {
    is_sign(tokens, at, ':') && is_sign(tokens, at.wrapping_add(1), ':')
}

/// Tells whether an attribute says that something is compiled for tests alone.
fn is_for_tests(attribute: &TokenStream) -> bool {
    let text = attribute.to_string().replace(' ', "");
    text == "test" || text == "cfg(test)" || text.starts_with("cfg(all(test,")
}

fn end_of_statement(tokens: &[TokenTree], from: usize) -> usize {
    (from..tokens.len()).find(|at| is_sign(tokens, *at, ';')).unwrap_or(tokens.len())
}

/// Where the item ends that begins at `from`, attributes of its own before it.
fn after_item(tokens: &[TokenTree], from: usize) -> usize {
    let mut at = from;
    let is_use = |at: usize| word(tokens, at) == "use";
    while at < tokens.len() {
        match &tokens[at] {
            TokenTree::Ident(_) if is_use(at) => return end_of_statement(tokens, at) + 1,
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => return at + 1,
            TokenTree::Punct(sign) if matches!(sign.as_char(), ';' | ',') => return at + 1,
            _ => at += 1,
        }
    }
    at
}

/// The paths of a `use`, each with the name that it gives; without one for a `*`.
fn uses(tree: &[TokenTree]) -> Vec<(Written, Option<String>)> {
    let mut found = Vec::new();
    let of_another_crate = is_colons(tree, 0);
    if !of_another_crate {
        uses_below(&[], tree, &mut found);
    }
    found
}

fn uses_below(before: &[String], tree: &[TokenTree], found: &mut Vec<(Written, Option<String>)>) {
    for part in tree.split(|token| matches!(token, TokenTree::Punct(sign) if sign.as_char() == ',')) {
        if part.is_empty() {
            continue; // behind the last comma
        }
        let mut path = before.to_vec();
        let mut name = None;
        let mut at = 0;
        while at < part.len() {
            match &part[at] {
                TokenTree::Group(group) => {
                    let inside: Vec<TokenTree> = group.stream().into_iter().collect();
                    uses_below(&path, &inside, found);
                    path.clear();
                }
                TokenTree::Ident(word) if word == "as" => {
                    name = part.get(at + 1).map(ToString::to_string);
                    at += 1;
                }
                TokenTree::Ident(word) if word == "self" && !path.is_empty() => {}
                TokenTree::Ident(word) => path.push(word.to_string()),
                TokenTree::Punct(sign) if sign.as_char() == '*' => {
                    found.push((std::mem::take(&mut path), None));
                }
                TokenTree::Punct(_) | TokenTree::Literal(_) => {}
            }
            at += 1;
        }
        if let Some(last) = path.last() {
            found.push((path.clone(), Some(name.unwrap_or_else(|| last.clone()))));
        }
    }
}
