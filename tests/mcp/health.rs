//! Servers that are asked whether they are still there.

use std::time::Duration;

use serde_json::{Value, json};
use toolyard::{
    Outcome,
    mcp::{HealthCheck, HealthProbe, McpState},
};

use super::{engine_with, eventually, output, run, server, status, within};

#[tokio::test]
async fn a_server_that_hangs_is_found_out_and_its_calls_are_lost() {
    let often = HealthCheck::default().every(Duration::from_millis(20)).within(Duration::from_millis(300));
    for by in [HealthProbe::Ping, HealthProbe::List] {
        let engine = engine_with([("s", server([]).health(often.by(by)))]).await;
        let Value::String(old) = output(&engine, "s_pid", json!({})).await else { panic!("a pid is text") };
        assert_eq!(output(&engine, "s_deafen", json!({})).await, "deafen");
        let lost = within("it is found out", run(&engine, "s_echo", json!({}))).await;
        assert_eq!(lost.outcome, Outcome::Lost, "{lost:?}");
        eventually("it is back", || {
            let status = &status(&engine)["s"];
            status.state == McpState::Ready && status.generation == 2
        })
        .await;
        let error = "it did not answer a health check within 0.3 s";
        assert_eq!(status(&engine)["s"].last_error.as_deref(), Some(error));
        assert_ne!(output(&engine, "s_pid", json!({})).await, old.as_str());
        engine.shutdown(Duration::ZERO).await;
    }
}

#[tokio::test]
async fn a_server_that_refuses_pings_is_there() {
    let often = HealthCheck::default().every(Duration::from_millis(1)).within(Duration::from_secs(20));
    let engine = engine_with([("s", server([]).health(often))]).await;
    // Many checks go out before these calls have ended.
    for _ in 0..50 {
        output(&engine, "s_echo", json!({})).await;
    }
    assert_eq!(status(&engine)["s"].generation, 1);
    engine.shutdown(Duration::ZERO).await;
}
