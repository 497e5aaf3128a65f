//! The real call lists of a public benchmark, through the program.

use serde_json::Value;

use super::{lines, run};
use crate::formats::bfcl;

#[test]
fn real_lists_are_answered_line_by_line_with_their_own_arguments() {
    let documents = bfcl::lines();
    let output = run(&["call", "--jsonl", "--stub"], std::str::from_utf8(&documents).unwrap());
    assert_eq!(output.status.code(), Some(1), "some calls of the benchmark break their own schema");
    let asked: Vec<Value> =
        documents.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect();
    let answered = lines(&output);
    assert_eq!((asked.len(), answered.len()), (265, 265));
    let (mut ok, mut bad) = (0, 0);
    for (asked, answered) in asked.iter().zip(&answered) {
        assert_eq!(asked["id"], answered["id"]);
        let (calls, results) = (asked["calls"].as_array().unwrap(), answered["results"].as_array().unwrap());
        assert_eq!(calls.len(), results.len());
        for (call, result) in calls.iter().zip(results) {
            assert_eq!(call["id"], result["id"]);
            if result["outcome"] == "ok" {
                let arguments: Value =
                    serde_json::from_str(call["function"]["arguments"].as_str().unwrap()).unwrap();
                assert_eq!(result["output"], arguments);
                ok += 1;
            } else {
                assert_eq!(result["outcome"], "bad_arguments");
                let error = result["error"].as_str().unwrap();
                assert!(error.contains("at /") && error.contains(" is not "), "{error}");
                bad += 1;
            }
        }
    }
    assert_eq!((ok, bad), (757, 8));
}
