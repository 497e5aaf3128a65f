//! What cannot be had is told as what it is, and leaves nothing behind.

use std::time::Duration;

use toolyard::sandbox::{SandboxError, SandboxNetwork, SandboxPoolConfig};

use super::{config, containers, engine};

async fn refusal(config: SandboxPoolConfig) -> SandboxError {
    let name = config.sandbox.name.clone();
    let engine = engine(config);
    let refusal = engine.sandbox().lease(None).await.map(|_| ()).unwrap_err();
    assert_eq!(containers(&name), Vec::<String>::new());
    refusal
}

#[tokio::test]
async fn a_daemon_that_does_not_answer_is_named() {
    let mut config = config();
    config.sandbox.daemon = Some("unix:///nowhere/docker.sock".to_owned());
    let refusal = refusal(config).await;
    assert!(matches!(refusal, SandboxError::Unreachable { .. }), "{refusal:?}");
    assert!(refusal.to_string().contains("/nowhere/docker.sock"), "{refusal}");
}

#[tokio::test]
async fn a_missing_image_is_named_with_the_way_to_get_it() {
    let mut config = config();
    config.sandbox.image = "toolyard-no-such-image:1".to_owned();
    let refusal = refusal(config).await;
    assert_eq!(refusal, SandboxError::ImageMissing { image: "toolyard-no-such-image:1".to_owned() });
    assert!(refusal.to_string().contains("toolyard sandbox build"), "{refusal}");
}

#[tokio::test]
async fn a_start_that_fails_half_way_leaves_nothing() {
    // The container can be made, and not started.
    let mut with_entrypoint = config();
    with_entrypoint.sandbox.entrypoint = vec!["/no/such/program".to_owned()];
    let refused = refusal(with_entrypoint).await;
    assert!(
        matches!(&refused, SandboxError::Refused { reason } if reason.contains("/no/such/program")),
        "{refused:?}"
    );

    let mut with_runtime = config();
    with_runtime.sandbox.runtime = Some("no-such-runtime".to_owned());
    let refused = refusal(with_runtime).await;
    assert!(
        matches!(&refused, SandboxError::Refused { reason } if reason.contains("no-such-runtime")),
        "{refused:?}"
    );

    let mut with_network = config();
    with_network.sandbox.network = SandboxNetwork::Named("no-such-network".to_owned());
    assert!(matches!(refusal(with_network).await, SandboxError::Refused { .. }));

    // The first process is up, and is not the agent.
    let mut with_other = config();
    with_other.sandbox.entrypoint = vec!["/bin/echo".to_owned()];
    assert!(matches!(refusal(with_other).await, SandboxError::Refused { .. }));
}

#[tokio::test]
async fn a_start_that_takes_too_long_leaves_nothing() {
    let mut config = config();
    let name = config.sandbox.name.clone();
    config.sandbox.start_timeout = Duration::from_millis(120);
    config.sandbox.entrypoint = vec!["/bin/sleep".to_owned(), "1000".to_owned()];
    let engine = engine(config);
    let refusal = engine.sandbox().lease(None).await.map(|_| ()).unwrap_err();
    assert!(
        matches!(refusal, SandboxError::StartTimedOut { .. } | SandboxError::Refused { .. }),
        "{refusal:?}"
    );
    super::eventually("nothing is left", || containers(&name).is_empty()).await;
}

#[tokio::test]
async fn without_a_free_place_a_lease_is_busy_in_time() {
    let mut config = config();
    (config.most, config.patience) = (1, Duration::from_mins(2));
    let engine = engine(config);
    let first = engine.sandbox().lease(None).await.unwrap();
    let mut impatient = (*engine.sandbox().config()).clone();
    impatient.patience = Duration::from_millis(100);
    engine.sandbox().configure(impatient);
    let second = engine.sandbox().lease(None).await.map(|_| ()).unwrap_err();
    assert_eq!(second, SandboxError::Busy { after: Duration::from_millis(100) });
    drop(first);
}

#[tokio::test]
async fn a_pool_without_a_place_to_live_says_so() {
    let pool = toolyard::sandbox::SandboxPool::new(config());
    assert_eq!(pool.lease(None).await.map(|_| ()).unwrap_err(), SandboxError::NotStarted);
    pool.close().await;
}
