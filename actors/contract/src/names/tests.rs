use proptest::prelude::*;

use super::*;

#[test]
fn a_name_that_providers_accept_stays_as_it_is() {
    let names = ["read_file", "mcp__time__now", "web-search", "_private", "getWeather", "report_20260131"];
    let table = NameTable::new(names);
    for name in names {
        assert_eq!(table.exposed(name), Some(name));
    }
}

#[test]
fn awkward_names_become_readable_valid_and_distinct() {
    let long = "a".repeat(90);
    let other_long = "a".repeat(91);
    let names = [
        "spotify.play",
        "spotify/play",
        "spotify play",
        "天气查询",
        "🔧",
        "3d_print",
        "-x",
        "",
        " ",
        &long,
        &other_long,
    ];
    let table = NameTable::new(names);
    assert_valid_and_reversible(&table, names.len());
    assert!(table.exposed("spotify.play").unwrap().starts_with("spotify_play_x"));
    assert!(table.exposed("3d_print").unwrap().starts_with("_3d_print_x"));
    assert!(table.exposed("天气查询").unwrap().starts_with("tool_x"));
}

#[test]
fn composed_and_decomposed_twins_are_two_tools() {
    assert_valid_and_reversible(&NameTable::new(["caf\u{e9}", "cafe\u{301}"]), 2);
}

#[test]
fn of_case_twins_the_lower_case_one_keeps_its_name() {
    let table = NameTable::new(["READ", "Read", "read"]);
    assert_valid_and_reversible(&table, 3);
    assert_eq!(table.exposed("read"), Some("read"));
    assert!(table.exposed("Read").unwrap().starts_with("Read_x"));
}

#[test]
fn a_tool_cannot_take_the_exposed_name_of_another() {
    let victim = NameTable::new(["files/read"]).exposed("files/read").unwrap().to_owned();
    let table = NameTable::new(["files/read".to_owned(), victim.clone(), victim.to_ascii_uppercase()]);
    assert_valid_and_reversible(&table, 3);
    assert_eq!(table.raw(&victim), Some("files/read"));
}

#[test]
fn exposed_names_are_the_same_in_every_process_and_version() {
    let table = NameTable::new(["spotify.play"]);
    assert_eq!(table.exposed("spotify.play"), Some("spotify_play_xdce96855"));
}

#[test]
fn suffixes_that_meet_become_longer_for_both() {
    let (a, b) = colliding_pair();
    let table = NameTable::new([a.clone(), b.clone()]);
    assert_valid_and_reversible(&table, 2);
    for name in [&a, &b] {
        assert!(looks_suffixed(table.exposed(name).unwrap()));
        assert_eq!(table.exposed(name).unwrap().len(), "s_x".len() + 32);
    }
}

#[test]
fn a_name_that_was_made_for_providers_gets_no_second_suffix_and_is_nobody_elses() {
    let made = suffixed("größe");
    let of = |exposed: bool| NameTable::of_tools([&ToolSpec::new(&made).name_is_exposed(exposed)]);
    assert_eq!(of(true).exposed(&made), Some(made.as_str()));
    assert_ne!(of(false).exposed(&made), Some(made.as_str()));
    let both = [ToolSpec::new(&made).name_is_exposed(true), ToolSpec::new("größe"), ToolSpec::new("a b")];
    let table = NameTable::of_tools(&both);
    assert_valid_and_reversible(&table, 3);
    assert_eq!(table.exposed(&made), Some(made.as_str()));
    assert_eq!(table.exposed("größe"), Some(suffixed_long("größe").as_str()));
    let unacceptable = ToolSpec::new("a b").name_is_exposed(true);
    assert_eq!(NameTable::of_tools([&unacceptable]).exposed("a b"), Some(suffixed("a b").as_str()));
}

#[test]
fn a_model_may_send_the_own_name_of_a_tool() {
    let table = NameTable::new(["spotify.play"]);
    assert_eq!(table.raw("spotify.play"), Some("spotify.play"));
    assert_eq!(table.raw("spotify_play"), None);
}

/// Punctuation only after the first letter, so that every name has the same stem: about 2^16 tries find a pair.
fn colliding_pair() -> (String, String) {
    let mut seen: HashMap<String, String> = HashMap::new();
    for n in 0u32.. {
        let name: String = format!("s{n:b}")
            .chars()
            .map(|c| match c {
                '0' => '.',
                '1' => '/',
                c => c,
            })
            .collect();
        let shown = with_suffix(&name, Suffix::Short);
        if let Some(other) = seen.insert(shown, name.clone()) {
            return (other, name);
        }
    }
    unreachable!("32 bits repeat within 2^32 names")
}

fn assert_valid_and_reversible(table: &NameTable, count: usize) {
    let folded: BTreeSet<String> = table.iter().map(|(_, shown)| shown.to_ascii_lowercase()).collect();
    assert_eq!(folded.len(), count, "exposed names differ even without regard to case");
    for (name, shown) in table.iter() {
        assert!(is_acceptable(shown), "{shown:?} for {name:?}");
        assert_eq!(table.raw(shown), Some(name));
        assert_eq!(table.exposed(name), Some(shown));
    }
}

/// Names that are hard to keep apart: few letters, both cases, twins of every kind, and any text at all.
fn any_name() -> impl Strategy<Value = String> {
    prop_oneof![
        "[aAbB_.-]{0,4}",
        "[a-z]{1,3}_x[0-9a-fA-F]{8}",
        "[a-z_]{1,2}_x[0-9a-f]{32}",
        "(caf\u{e9}|cafe\u{301}|K|\u{212a}|ſ|s|天气|🔧){1,3}",
        "[a-zA-Z0-9_.]{60,90}",
        ".*",
    ]
}

proptest! {
    #[test]
    fn any_set_of_names_maps_to_distinct_valid_names_and_back(names in prop::collection::btree_set(any_name(), 0..40)) {
        let table = NameTable::new(names.clone());
        assert_valid_and_reversible(&table, names.len());
    }

    #[test]
    fn the_order_of_registration_changes_nothing(names in prop::collection::vec(any_name(), 0..20)) {
        let forth = NameTable::new(names.clone());
        let back = NameTable::new(names.into_iter().rev());
        prop_assert!(forth.iter().eq(back.iter()));
    }

    #[test]
    fn a_new_tool_renames_no_other_unless_they_differ_in_case_only(
        names in prop::collection::btree_set(any_name(), 0..20),
        new in any_name(),
    ) {
        let before = NameTable::new(names.clone());
        let after = NameTable::new(names.into_iter().chain([new.clone()]));
        for (name, shown) in before.iter() {
            prop_assert!(name.eq_ignore_ascii_case(&new) || after.exposed(name) == Some(shown));
        }
    }
}
