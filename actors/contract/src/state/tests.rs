use serde_json::json;

use super::*;
use crate::Failure;

/// Adds `by` to its row, or fails.
struct Adder(ToolSpec);

impl StatefulTool for Adder {
    type State = i64;

    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn scope(&self) -> StateScope {
        StateScope::Agent
    }

    fn initial(&self, agent: Option<&str>) -> i64 {
        if agent == Some("rich") { 100 } else { 0 }
    }

    fn work(self: Arc<Self>, invocation: Invocation, state: i64) -> StateWork<i64> {
        let arguments: Value = serde_json::from_str(&invocation.arguments).unwrap();
        let sum = state + arguments["by"].as_i64().unwrap();
        match arguments["how"].as_str() {
            Some("fail") => StateWork::Done(Err(Failure::failed("no")), sum),
            Some("wait") => StateWork::Waits(Box::pin(async move { (Ok(json!(sum).into()), sum) })),
            _ => StateWork::Done(Ok(json!(sum).into()), sum),
        }
    }
}

fn adder() -> Box<dyn Shard> {
    Stateful::new(Adder(ToolSpec::new("add"))).state().unwrap().shard
}

fn agent(id: &str) -> RowKey {
    RowKey::Agent(id.into())
}

fn add(shard: &mut dyn Shard, key: &RowKey, arguments: &Value) -> ShardWork {
    shard.begin(key, Invocation::detached(arguments.to_string()))
}

fn state(shard: &dyn Shard, key: &RowKey) -> Option<String> {
    shard.get(key).unwrap().map(|raw| raw.get().to_owned())
}

#[test]
fn a_call_that_fails_leaves_its_row_as_it_was() {
    let mut shard = adder();
    add(&mut *shard, &agent("a"), &json!({"by": 5}));
    add(&mut *shard, &agent("a"), &json!({"by": 7, "how": "fail"}));
    add(&mut *shard, &agent("rich"), &json!({"by": 1}));
    assert_eq!(state(&*shard, &agent("a")).as_deref(), Some("5"));
    assert_eq!(state(&*shard, &agent("rich")).as_deref(), Some("101"));
    assert_eq!(state(&*shard, &RowKey::Engine), None);
}

#[test]
fn a_call_that_waits_commits_unless_its_row_was_replaced_meanwhile() {
    let mut shard = adder();
    let key = agent("a");
    let finish = |work: ShardWork| match work {
        ShardWork::Waits(waits) => futures::executor::block_on(waits).1,
        _ => panic!("it waits"),
    };
    let waited = finish(add(&mut *shard, &key, &json!({"by": 5, "how": "wait"})));
    assert_eq!(state(&*shard, &key).as_deref(), Some("0"));
    shard.commit(&key, waited).unwrap();
    assert_eq!(state(&*shard, &key).as_deref(), Some("5"));

    let late = finish(add(&mut *shard, &key, &json!({"by": 5, "how": "wait"})));
    let row: RowValue = serde_json::from_value(json!({"agent": "a", "state": 50})).unwrap();
    shard.put(&row).unwrap();
    assert_eq!(shard.commit(&key, late), Err(RowReplaced));

    let late = finish(add(&mut *shard, &key, &json!({"by": 5, "how": "wait"})));
    assert!(shard.remove(&key));
    add(&mut *shard, &key, &json!({"by": 1}));
    assert_eq!(shard.commit(&key, late), Err(RowReplaced), "a new row of the same agent is another row");
    assert_eq!(state(&*shard, &key).as_deref(), Some("1"));
}

#[test]
fn rows_are_written_in_order_and_bad_values_are_refused() {
    let mut shard = adder();
    for (id, by) in [("b", 2), ("a", 1)] {
        add(&mut *shard, &agent(id), &json!({"by": by}));
    }
    let mut keys = shard.begin_cut(0);
    keys.sort();
    let rows = shard.read_cut(0, &mut keys, 10, usize::MAX).unwrap();
    let written: Vec<_> = rows.iter().map(|row| serde_json::to_string(row).unwrap()).collect();
    assert_eq!(written, [r#"{"agent":"a","state":1}"#, r#"{"agent":"b","state":2}"#]);
    let bad: RowValue = serde_json::from_value(json!({"agent": "a", "state": "x"})).unwrap();
    assert!(shard.put(&bad).is_err());
    assert_eq!(state(&*shard, &agent("a")).as_deref(), Some("1"));
    assert!(shard.contains(&agent("a")) && !shard.contains(&agent("c")));
}

#[test]
fn a_table_that_was_large_gives_its_memory_back_when_its_rows_are_gone() {
    let mut rows = rows::Rows::new(Arc::new(Adder(ToolSpec::new("add"))));
    let small = rows.capacity();
    for number in 0..10_000 {
        add(&mut rows, &agent(&number.to_string()), &json!({"by": 1}));
    }
    assert!(rows.capacity() >= 10_000);
    (0..10_000).for_each(|number| assert!(rows.remove(&agent(&number.to_string()))));
    assert!(rows.capacity() <= small + 64, "{}", rows.capacity());
}
