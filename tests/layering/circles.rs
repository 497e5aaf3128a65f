//! No file knows, by whatever way, a file that knows it: so each can be understood after those that it uses.
//!
//! A file knows another when a path in it, in a `use` or elsewhere, leads to something that the other defines; names
//! that a module merely hands on lead to where they are defined. That a module declares another says nothing, nor
//! that a module inside another knows that one. Code that is compiled for tests alone does not count.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use super::{
    Source, made_up,
    modules::{Module, Modules},
    sources,
};

/// The roots of the workspace's crates.
const CRATES: [&str; 5] =
    ["src/lib.rs", "src/cli/main.rs", "actors/src/lib.rs", "actors/contract/src/lib.rs", "macros/src/lib.rs"];

/// How many files may know each other.
const MAX_CIRCLE: usize = 2;

/// The folder inside which circles are let be until they are untied.
const LET_BE: &str = "actors/src/mcp";

#[test]
fn no_more_than_two_files_know_each_other() {
    let files = sources(&["src", "actors", "macros"]);
    let circles = CRATES.iter().flat_map(|root| circles_of(&Modules::read(Path::new(root), &files)));
    let circles: Vec<String> =
        circles.filter(|circle| !circle.is_let_be()).map(|it| it.to_string()).collect();
    assert!(circles.is_empty(), "untie these:\n{}", circles.join("\n"));
}

#[test]
fn every_file_of_the_crates_is_in_the_picture() {
    let files = sources(&["src", "actors", "macros"]);
    let crates: Vec<_> = CRATES.iter().map(|root| Modules::read(Path::new(root), &files)).collect();
    let is_shipped = |path: &Path| path.iter().any(|part| part == "src");
    let is_seen = |path: &Path| crates.iter().any(|modules| modules.has_file(path));
    let missing = files.iter().map(|(path, _)| &**path).filter(|path| is_shipped(path) && !is_seen(path));
    assert_eq!(missing.collect::<Vec<_>>(), Vec::<&Path>::new());
}

#[test]
fn a_circle_is_found_whatever_way_its_paths_are_written() {
    let files = made_up(&[
        ("src/lib.rs", "mod a; mod b; mod c; mod d; mod e; pub use b::{self, inner::Deep};"),
        ("src/a.rs", "use crate::Deep; pub struct A;"),
        ("src/b/mod.rs", "pub mod inner; pub mod other { pub use super::super::c::C as Renamed; }"),
        ("src/b/inner.rs", "pub struct Deep(super::other::Renamed);"),
        ("src/c.rs", "use super::d::*; pub struct C; fn f() -> D { D }"),
        ("src/d.rs", "pub use self::own::D; mod own { use crate::{a}; pub struct D; fn f(_: a::A) {} }"),
        ("src/e.rs", "use crate::{a::A, b, d::D,}; fn f(_: b::Deep) {}"),
    ]);
    let circles = found_in(&files);
    // Neither the root nor those of which nobody in it knows anything.
    assert_eq!(circles, [["src/a.rs", "src/b/inner.rs", "src/c.rs", "src/d.rs"]]);
}

#[test]
fn what_is_of_another_crate_of_tests_or_no_code_makes_no_circle() {
    let files = made_up(&[
        ("src/lib.rs", "mod a; mod b; mod c;"),
        ("src/a.rs", "use crate::b::B; pub struct A; #[cfg(test)] mod tests { use crate::c::C; }"),
        ("src/b.rs", "use crate::c::C; pub struct B; #[cfg(test)] use crate::a::{A};"),
        (
            "src/c.rs",
            "//! See crate::a::A.\nuse ::a::A; use b::B; pub struct C;\n/// [`B`](crate::b::B)\n\
             #[cfg(test)] fn f() { crate::a::A; } const X: &str = \"crate::a::A\"; fn g() { ::a::f() }",
        ),
    ]);
    assert_eq!(found_in(&files), Vec::<Vec<String>>::new());
}

#[test]
fn modules_may_know_what_contains_them_and_not_by_a_way_around() {
    let child = ("src/a/child.rs", "use super::A; pub struct Child(A);");
    let sister = ("src/a/sister.rs", "pub struct Sister(crate::a::A);");
    let parent = "mod child; mod sister; pub use self::{child::Child, sister::Sister}; pub struct A;";
    let files = made_up(&[("src/lib.rs", "mod a;"), ("src/a.rs", parent), child, sister]);
    assert_eq!(found_in(&files), Vec::<Vec<String>>::new());

    let parent = format!("{parent} use crate::b::B;");
    let b = ("src/b.rs", "use crate::a::Child; pub struct B;");
    let knows = ("src/a/child.rs", "use crate::{a::Sister}; pub struct Child(Sister);");
    let sister = ("src/a/sister.rs", "use crate::b::B; pub struct Sister(B);");
    let files = made_up(&[("src/lib.rs", "mod a; mod b;"), ("src/a.rs", &parent), knows, sister, b]);
    assert_eq!(found_in(&files), [["src/a/child.rs", "src/a/sister.rs", "src/b.rs"]]);
}

#[test]
fn a_circle_says_what_ties_it() {
    let files = made_up(&[
        ("src/lib.rs", "mod a; mod b;"),
        ("src/a.rs", "use crate::b::{B as Other}; pub struct A;"),
        ("src/b.rs", "pub struct B; fn f() { let _ = crate::a::A; }"),
    ]);
    let circles = circles_of(&Modules::read(Path::new("src/lib.rs"), &files));
    let said: Vec<String> = circles.iter().map(ToString::to_string).collect();
    let ties = "  src/a.rs -> src/b.rs: crate::b::B\n  src/b.rs -> src/a.rs: crate::a::A";
    assert_eq!(said, [format!("2 files: src/a.rs, src/b.rs\n{ties}")]);
}

/// Files that know each other, and the paths that tie them.
struct Circle {
    files: Vec<PathBuf>,
    ties: BTreeSet<String>,
}

impl Circle {
    /// Tells whether it is small, or not untied yet.
    fn is_let_be(&self) -> bool {
        self.files.len() <= MAX_CIRCLE || self.files.iter().all(|file| file.starts_with(LET_BE))
    }
}

impl std::fmt::Display for Circle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<_> = self.files.iter().map(|file| file.to_string_lossy()).collect();
        write!(f, "{} files: {}", names.len(), names.join(", "))?;
        self.ties.iter().try_for_each(|tie| write!(f, "\n  {tie}"))
    }
}

/// Which files each file knows.
type Graph<'a> = BTreeMap<&'a Path, BTreeSet<&'a Path>>;

/// The circles of a crate, the small ones too: the largest sets of files of which each knows each.
fn circles_of(modules: &Modules) -> Vec<Circle> {
    let mut graph: Graph<'_> = BTreeMap::new();
    for (from, to, _) in ties(modules) {
        graph.entry(&from.file).or_default().insert(&to.file);
    }
    let known: BTreeMap<&Path, BTreeSet<&Path>> =
        graph.keys().map(|file| (*file, known(&graph, file))).collect();
    let mutual = |file: &Path| -> Vec<&Path> {
        let is_mutual = |other: &&Path| known.get(other).is_some_and(|back| back.contains(file));
        known[file].iter().copied().filter(is_mutual).collect()
    };
    let sets: BTreeSet<_> = graph.keys().map(|file| mutual(file)).filter(|files| files.len() > 1).collect();
    let circle = |files: Vec<&Path>| {
        let is_inside = |module: &Module| files.contains(&&*module.file);
        let ties = ties(modules).filter(|(from, to, _)| is_inside(from) && is_inside(to));
        let ties = ties.map(|(from, to, path)| {
            format!("{} -> {}: {}", from.file.display(), to.file.display(), path.join("::"))
        });
        Circle { ties: ties.collect(), files: files.iter().map(|file| file.to_path_buf()).collect() }
    };
    sets.into_iter().map(circle).collect()
}

/// The files that a file knows, by whatever way.
fn known<'a>(graph: &Graph<'a>, from: &'a Path) -> BTreeSet<&'a Path> {
    let (mut known, mut next) = (BTreeSet::new(), vec![from]);
    while let Some(file) = next.pop() {
        next.extend(graph.get(file).into_iter().flatten().filter(|other| known.insert(**other)));
    }
    known
}

/// Every path that leads from one file to another that does not contain it.
fn ties(modules: &Modules) -> impl Iterator<Item = (&Module, &Module, &[String])> {
    let paths = modules.all.iter().enumerate();
    let paths = paths.flat_map(|(at, module)| module.paths.iter().map(move |path| (at, module, path)));
    paths.filter_map(|(at, from, path)| {
        let home = modules.home_of(at, path)?;
        let to = &modules.all[home];
        (from.file != to.file && !modules.contains(home, at)).then_some((from, to, &**path))
    })
}

fn found_in(files: &[Source]) -> Vec<Vec<String>> {
    let circles = circles_of(&Modules::read(Path::new("src/lib.rs"), files));
    let name = |file: PathBuf| file.to_string_lossy().into_owned();
    circles.into_iter().map(|circle| circle.files.into_iter().map(name).collect()).collect()
}
