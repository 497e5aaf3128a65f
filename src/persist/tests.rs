use std::{fs, path::PathBuf};

use serde_json::value::RawValue;

use super::{
    sim::{Fault, SimDisk, Survival},
    *,
};

/// Enough rows for several writes.
const ROWS: u64 = 2_000;

fn rows(version: u64) -> impl Iterator<Item = Result<StateRow, StateFileError>> {
    (0..ROWS).map(move |n| {
        Ok(StateRow {
            tool: "counter".into(),
            agent: Some(format!("agent-{n}").into()),
            state: RawValue::from_string(format!("{{\"n\":{n},\"v\":{version},\"pad\":\"{:40}\"}}", ""))
                .unwrap(),
        })
    })
}

/// The version that every row of the file has; an error when the file does not load as a whole.
fn loaded_version(disk: &dyn FileSystem) -> Result<u64, StateFileError> {
    let rows: Vec<StateRow> = read(disk, path())?.collect::<Result<_, _>>()?;
    assert_eq!(rows.len() as u64, ROWS);
    assert!(rows.iter().all(|row| version(row) == version(&rows[0])), "old and new rows in one file");
    Ok(version(&rows[0]))
}

fn version(row: &StateRow) -> u64 {
    serde_json::from_str::<serde_json::Value>(row.state.get()).unwrap()["v"].as_u64().unwrap()
}

fn save_rows(disk: &dyn FileSystem, version: u64) -> Result<u64, StateFileError> {
    save(disk, path(), vec!["counter".to_owned()], rows(version))
}

fn path() -> &'static Path {
    Path::new("folder/state.json")
}

fn disk_with_version_1() -> SimDisk {
    let disk = SimDisk::new();
    save_rows(&disk, 1).unwrap();
    disk
}

fn operations_of_a_save() -> usize {
    let disk = disk_with_version_1();
    disk.arm(Fault::None);
    save_rows(&disk, 2).unwrap();
    disk.operations()
}

#[test]
fn what_was_saved_is_read_back_row_by_row() {
    let disk = disk_with_version_1();
    assert_eq!(loaded_version(&disk).unwrap(), 1);
    let first = read(&disk, path()).unwrap().next().unwrap().unwrap();
    assert_eq!((first.tool.as_str(), first.agent.as_deref()), ("counter", Some("agent-0")));
    assert!(first.state.get().starts_with("{\"n\":0,\"v\":1,"), "kept to the letter");
}

#[test]
fn a_save_that_fails_at_any_operation_leaves_a_file_that_loads() {
    let all = operations_of_a_save();
    assert!(all >= 6, "creating, several writes, two syncs, a rename: {all}");
    for at in 0..all {
        let disk = disk_with_version_1();
        disk.arm(Fault::Fail(at));
        save_rows(&disk, 2).unwrap_err();
        disk.arm(Fault::None);
        // Only the last operation, the sync of the folder, comes after the replacement.
        let expected = if at == all - 1 { 2 } else { 1 };
        assert_eq!(loaded_version(&disk).unwrap(), expected, "failed at operation {at}");
        assert_eq!(disk.names(), [path()], "the attempt at operation {at} left something behind");
        save_rows(&disk, 3).unwrap();
        assert_eq!(loaded_version(&disk).unwrap(), 3, "after a failure at operation {at}");
    }
}

#[test]
fn a_loss_of_power_at_any_operation_leaves_the_old_file_or_the_new_one() {
    let all = operations_of_a_save();
    for at in 0..=all {
        for (contents, entries) in [(false, false), (false, true), (true, false), (true, true)] {
            let disk = disk_with_version_1();
            disk.arm(Fault::PowerLoss(at));
            let saved = save_rows(&disk, 2);
            disk.restart(Survival { contents, entries });
            let version = loaded_version(&disk).unwrap_or_else(|error| {
                panic!("lost power at operation {at}, contents {contents}, entries {entries}: {error}")
            });
            assert!([1, 2].contains(&version));
            assert!(saved.is_err() || version == 2, "a save that was said to be done was lost");
            save_rows(&disk, 3).unwrap();
            assert_eq!(loaded_version(&disk).unwrap(), 3);
        }
    }
}

#[test]
fn a_row_that_cannot_be_had_leaves_the_old_file() {
    let disk = disk_with_version_1();
    let broken = rows(2).take(5).chain([Err(StateFileError::CutOff)]);
    assert!(matches!(save(&disk, path(), vec!["counter".to_owned()], broken), Err(StateFileError::CutOff)));
    assert_eq!(loaded_version(&disk).unwrap(), 1);
    assert_eq!(disk.names(), [path()]);
}

#[test]
fn saves_to_one_path_at_once_leave_one_whole_file_on_a_real_disk() {
    let folder = tempfile::tempdir().unwrap();
    let path: PathBuf = folder.path().join("state.json");
    std::thread::scope(|scope| {
        for version in 1..=4 {
            let path = &path;
            scope.spawn(move || save(&Disk, path, vec!["counter".to_owned()], rows(version)).unwrap());
        }
    });
    let rows: Vec<StateRow> = read(&Disk, &path).unwrap().map(Result::unwrap).collect();
    assert!(rows.len() as u64 == ROWS && rows.iter().all(|row| version(row) == version(&rows[0])));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "only the file itself is left");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }
}

#[test]
fn line_breaks_inside_a_state_stay_within_its_line() {
    let disk = SimDisk::new();
    let state = RawValue::from_string("{\n  \"text\": \"a\\nb\"\n}".into()).unwrap();
    let row = StateRow { tool: "t".into(), agent: None, state };
    assert_eq!(save(&disk, path(), vec!["t".to_owned()], [Ok(row)]).unwrap(), 1);
    let rows: Vec<StateRow> = read(&disk, path()).unwrap().map(Result::unwrap).collect();
    let state: serde_json::Value = serde_json::from_str(rows[0].state.get()).unwrap();
    assert_eq!(state, serde_json::json!({"text": "a\nb"}));
}

/// Reads a text as a state file and gives the error.
fn error_of(text: &[u8]) -> String {
    match StateReader::new(text).and_then(|mut rows| rows.find_map(Result::err).map_or(Ok(()), Err)) {
        Ok(()) => "none".to_owned(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn a_file_that_is_not_whole_says_where_and_why() {
    let head = "{\"format\":\"toolyard-state\",\"version\":1,\"tools\":[\"t\"]}\n";
    let row = "{\"tool\":\"t\",\"agent\":null,\"state\":{}}\n";
    let cases = [
        (format!("{head}{row}{{\"rows\":1}}\n"), "none"),
        (format!("{head}{{\"rows\":0}}"), "none"),
        (String::new(), "not a state file: its first line does not say so"),
        (row.to_owned(), "not a state file: its first line does not say so"),
        ("{\"format\":\"other\",\"version\":1}\n".into(), "not a state file: its first line does not say so"),
        (
            "{\"format\":\"toolyard-state\",\"version\":2,\"new\":true}\n".into(),
            "format version 2 is newer than this program, which reads up to 1",
        ),
        (format!("{head}{row}"), "the file is cut off: its last line is missing"),
        (format!("{head}{}", &row[..20]), "the file is cut off: its last line is missing"),
        (
            format!("{head}{}", row.replace("\"t\"", "\"u\"")),
            "line 2: it is a row of tool \"u\", which the first line does not name",
        ),
        (head.replace("[\"t\"]", "[\"t\",\"T\"]"), "line 1: it names the tool \"T\" twice"),
        (format!("{head}{row}{{\"rows\":2}}\n"), "line 3: it counts 2 rows, there are 1"),
        (format!("{head}{{\"rows\":0}}\n{row}"), "line 3: there is more after the last line"),
    ];
    for (text, expected) in cases {
        assert_eq!(error_of(text.as_bytes()), expected, "{text:?}");
    }
    let unreadable = error_of(format!("{head}{{\"tool\":7}}\n").as_bytes());
    assert!(unreadable.starts_with("line 2: invalid type: integer `7`"), "{unreadable}");
    let odd = error_of(head.replace("1,", "1,\"more\":1,").as_bytes());
    assert!(odd.starts_with("line 1: unknown field `more`, expected one of `format`"), "{odd}");
    assert_eq!(error_of(&[head.as_bytes(), b"\xff\n"].concat()), "line 2: it is not UTF-8");
}
