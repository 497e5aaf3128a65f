//! Times that no clock can hold: from a host, from a file, from a tool.

use std::{sync::Arc, time::Duration};

use serde_json::json;
use toolyard::{
    ExecuteOptions, Failure, Rate, RestartPolicy, RetryPolicy, StateScope, Stateful, ToolSpec, config::Config,
};

use super::{
    state::Counter,
    tools::{call, outcomes, paused, tool},
};

#[test]
fn a_host_may_set_any_time_and_nothing_panics() {
    let retry = RetryPolicy {
        attempts: 2,
        first_delay: Duration::MAX,
        max_delay: Duration::from_secs(9),
        ..RetryPolicy::default()
    };
    let late = tool(ToolSpec::new("late").idempotent(true).timeout(Duration::MAX), |invocation| async move {
        let mut failure = Failure::failed("busy");
        failure.detail.get_or_insert_default().retry_after_ms = Some(u64::MAX);
        if invocation.context.attempt == 1 { Err(failure) } else { Ok("".into()) }
    });
    let engine = paused()
        .tool(Stateful::new(Counter::new("count", StateScope::Engine)))
        .tool(late)
        .admission_timeout(Duration::MAX)
        .timeout(Duration::MAX)
        .deadline(Duration::MAX)
        .decide_within(Duration::MAX)
        .answer_within(Duration::MAX)
        .retry(retry)
        .restarts(RestartPolicy::new(3, Duration::MAX))
        .build()
        .unwrap();
    // The second waits for the row.
    let wait = json!({"work": "wait"});
    let calls = vec![call("count", wait.clone()), call("count", wait), call("late", json!({}))];
    let report = engine.execute_blocking(calls, ExecuteOptions::new().deadline(Duration::MAX)).unwrap();
    assert_eq!(outcomes(&report), ["ok", "ok", "ok"], "{report:?}");
    assert_eq!(engine.health("count").unwrap().panicked, 0);
}

#[test]
fn a_rate_over_a_time_that_no_clock_can_hold_is_a_rate_for_ever() {
    let spec = ToolSpec::new("t").rate(Rate::new(1, Duration::MAX).unwrap());
    let engine = paused().tool(tool(spec, |_| async { Ok("".into()) })).build().unwrap();
    let calls = vec![call("t", json!({})), call("t", json!({}))];
    let report = engine.execute_blocking(calls, ExecuteOptions::new()).unwrap();
    assert_eq!(outcomes(&report), ["ok", "not_started"]);
}

#[test]
fn a_file_that_says_more_seconds_than_can_be_waited_is_refused_with_the_bound() {
    for key in ["[engine]\nadmission_timeout_s", "[engine]\ntimeout_s", "[engine.retry]\nmax_delay_s"] {
        for seconds in ["1e19", "1e9", "inf", "1e300"] {
            let error = Config::parse(&format!("{key} = {seconds}")).unwrap_err().to_string();
            assert!(error.contains("is not a number of seconds from 0 to 946080000 (30 years)"), "{error}");
        }
        Config::parse(&format!("{key} = 946080000")).unwrap();
    }
}

#[test]
fn what_a_host_has_set_can_be_read_again_from_the_file_that_is_written() {
    let engine = paused().timeout(Duration::MAX).admission_timeout(Duration::MAX).build().unwrap();
    let text = Arc::new(engine).to_config().config.to_toml().unwrap();
    assert!(text.contains("timeout_s = 946080000"), "{text}");
    Config::parse(&text).unwrap();
}
