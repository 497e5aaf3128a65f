//! Which packages an image is made of.

use std::collections::{BTreeMap, BTreeSet};

/// What an image must have; what these need comes with them.
pub(super) const SEEDS: [&str; 14] = [
    "base-files",
    "base-passwd",
    "bash",
    "coreutils",
    "dash",
    "findutils",
    "grep",
    "gzip",
    "libpython3-stdlib",
    "procps",
    "python3-minimal",
    "sed",
    "tar",
    "util-linux",
];

/// What packages need to be installed, not to run: an image is never changed.
const LEFT_OUT: [&str; 12] = [
    "adduser",
    "debconf",
    "debianutils",
    "dpkg",
    "init-system-helpers",
    "install-info",
    "libpam0g",
    "mailcap",
    "media-types",
    "readline-common",
    "usr-is-merged",
    "util-linux-extra",
];

/// Reads what `apt-cache depends` has printed, and gives the packages that are needed.
pub(super) fn closure(graph: &str) -> Result<Vec<String>, String> {
    let needs = needs(graph);
    let mut wanted: Vec<&str> = SEEDS.to_vec();
    let mut found = BTreeSet::new();
    while let Some(package) = wanted.pop() {
        if LEFT_OUT.contains(&package) || !found.insert(package) {
            continue;
        }
        let further = needs.get(package).ok_or_else(|| {
            format!("no package is named {package:?}: fetch the lists of packages by `apt-get update`")
        })?;
        wanted.extend(further);
    }
    Ok(found.into_iter().map(str::to_owned).collect())
}

/// What each package needs; of alternatives the first that is a package.
fn needs(graph: &str) -> BTreeMap<&str, Vec<&str>> {
    let mut needs: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut package = "";
    let mut chosen = false;
    for line in graph.lines() {
        let Some((kind, name)) = line.split_once("Depends: ") else {
            if !line.starts_with([' ', '<']) {
                package = line.trim();
                needs.entry(package).or_default();
            }
            continue;
        };
        // Virtual packages are in angle brackets, and followed by those that provide them.
        if !chosen && !name.starts_with('<') {
            needs.entry(package).or_default().push(name);
            chosen = true;
        }
        // A bar says that the next line is another way to fulfil this one.
        if !kind.contains('|') {
            chosen = false;
        }
    }
    needs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_alternatives_the_first_package_is_taken_and_virtual_ones_are_passed_over() {
        let graph = "a\n |Depends: b\n  Depends: c\n  PreDepends: d\n  Depends: <awk>\n    mawk\nb\nc\nd\n |Depends: <x>\n  Depends: c\n<awk>\n";
        let needs = needs(graph);
        assert_eq!(needs["a"], ["b", "d"]);
        assert_eq!(needs["d"], ["c"]);
        assert!(!needs.contains_key("<awk>"));
    }

    #[test]
    fn what_is_needed_comes_along_and_what_only_installs_is_left_out() {
        let mut graph = SEEDS.map(|seed| format!("{seed}\n  Depends: libc6\n")).concat();
        graph.push_str("libc6\n  Depends: dpkg\n  Depends: libgcc-s1\nlibgcc-s1\n");
        let packages = closure(&graph).unwrap();
        assert_eq!(packages.len(), SEEDS.len() + 2);
        assert!(packages.contains(&"libgcc-s1".to_owned()) && !packages.contains(&"dpkg".to_owned()));
        assert!(closure("bash\n").unwrap_err().contains("apt-get update"));
    }
}
