//! What running code in a sandbox costs beside what the daemon itself takes for it. Everything is measured in turns, so
//! that whatever else the machine does weighs on all of it alike; the ratios of the medians are what counts.
//!
//! Needs a daemon and the image that `toolyard sandbox build` makes.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use bollard::{
    Docker,
    exec::{StartExecOptions, StartExecResults},
    models::{ContainerCreateBody, ExecConfig, HostConfig},
    query_parameters::{CreateContainerOptions, RemoveContainerOptionsBuilder, StartContainerOptions},
};
use futures::{StreamExt, stream};
use toolyard::{
    Engine,
    sandbox::{RunRequest, SandboxLease, SandboxPoolConfig},
};

const ROUNDS: usize = 40;
const STARTS: usize = 8;
/// Runs of one measurement of throughput.
const RUNS: u32 = 64;
const PRINT: &str = "print(1)";

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let docker = Docker::connect_with_defaults().expect("a daemon").negotiate_version().await;
        let docker = docker.expect("a daemon that answers");
        let mut config = SandboxPoolConfig::default();
        (config.warm, config.most) = (0, STARTS + 1);
        let engine = Engine::builder().sandbox(config).build().expect("an engine");
        let mut times = Times::default();
        starts(&docker, &engine, &mut times).await;
        let bare = Bare::start(&docker).await;
        let lease = engine.sandbox().lease(Some("bench")).await.expect("a sandbox");
        calls(&bare, &lease, &mut times).await;
        throughput(&bare, &lease).await;
        bare.remove().await;
        engine.shutdown(Duration::ZERO).await;
        times.report();
    });
}

/// Cold starts: a container alone, and one with the agent up to its first answer.
async fn starts(docker: &Docker, engine: &Engine, times: &mut Times) {
    for _ in 0..STARTS {
        let bare = times.of("create and start, bare", Bare::start(docker)).await;
        bare.remove().await;
        let lease = times.of("create and start, with the agent", engine.sandbox().lease(None)).await;
        let lease = lease.expect("a sandbox");
        times.of("the first run in it", run(&lease)).await;
        lease.stop().await.expect("its end");
    }
}

/// One call at a time, a few of each kind in turn: as many of one kind as an agent makes in a row.
async fn calls(bare: &Bare, lease: &SandboxLease, times: &mut Times) {
    let session = lease.session("bench");
    run(lease).await;
    session.run("x = 0").await.expect("a run");
    for _ in 0..ROUNDS {
        times.of("docker exec true", bare.exec(&["true"])).await;
        times.of("docker exec python3 -c", bare.exec(&["python3", "-c", PRINT])).await;
        for _ in 0..5 {
            times.of("python run, a fresh process", run(lease)).await;
        }
        for _ in 0..5 {
            times.of("shell run, a fresh process", shell(lease)).await;
        }
        for _ in 0..5 {
            let value = times.of("session round trip", session.run("x += 1\nx")).await.expect("a run").value;
            assert!(value.is_some());
        }
    }
}

async fn throughput(bare: &Bare, lease: &SandboxLease) {
    for at_once in [1, 2, 8] {
        let begun = Instant::now();
        stream::iter((0..RUNS).map(|_| run(lease))).buffer_unordered(at_once).collect::<Vec<_>>().await;
        let runs = begun.elapsed();
        let begun = Instant::now();
        let execs = (0..RUNS / 4).map(|_| bare.exec(&["true"]));
        stream::iter(execs).buffer_unordered(at_once).collect::<Vec<_>>().await;
        let execs = begun.elapsed().saturating_mul(4);
        println!(
            "{at_once} at once: {:6.0} runs/s, bare exec {:4.0}/s",
            f64::from(RUNS) / runs.as_secs_f64(),
            f64::from(RUNS) / execs.as_secs_f64()
        );
    }
}

async fn run(lease: &SandboxLease) {
    let result = lease.run(RunRequest::python(PRINT)).await.expect("a run");
    assert_eq!(result.stdout, b"1\n");
}

async fn shell(lease: &SandboxLease) {
    assert!(lease.run(RunRequest::shell(":")).await.expect("a run").is_success());
}

/// A container of the same image, with nothing in it that helps.
struct Bare {
    docker: Docker,
    id: String,
}

impl Bare {
    async fn start(docker: &Docker) -> Self {
        let body = ContainerCreateBody {
            image: Some("toolyard-sandbox:latest".to_owned()),
            cmd: Some(vec!["sleep".to_owned(), "infinity".to_owned()]),
            host_config: Some(HostConfig {
                network_mode: Some("none".to_owned()),
                init: Some(true),
                ..HostConfig::default()
            }),
            ..ContainerCreateBody::default()
        };
        let made = docker.create_container(None::<CreateContainerOptions>, body).await.expect("a container");
        docker.start_container(&made.id, None::<StartContainerOptions>).await.expect("its start");
        Self { docker: docker.clone(), id: made.id }
    }

    async fn exec(&self, command: &[&str]) {
        let config = ExecConfig {
            attach_stdout: Some(true),
            attach_stderr: Some(true),
            cmd: Some(command.iter().map(|&word| word.to_owned()).collect()),
            ..ExecConfig::default()
        };
        let made = self.docker.create_exec(&self.id, config).await.expect("an exec").id;
        let started = self.docker.start_exec(&made, None::<StartExecOptions>).await.expect("its start");
        let StartExecResults::Attached { mut output, .. } = started else { panic!("it is attached") };
        while output.next().await.is_some() {}
        assert_eq!(self.docker.inspect_exec(&made).await.expect("its end").exit_code, Some(0));
    }

    async fn remove(&self) {
        let options = RemoveContainerOptionsBuilder::default().force(true).build();
        self.docker.remove_container(&self.id, Some(options)).await.expect("its end");
    }
}

#[derive(Default)]
struct Times(BTreeMap<&'static str, Vec<Duration>>);

impl Times {
    async fn of<T>(&mut self, what: &'static str, work: impl Future<Output = T>) -> T {
        let begun = Instant::now();
        let done = work.await;
        self.0.entry(what).or_default().push(begun.elapsed());
        done
    }

    fn median(&self, what: &str) -> f64 {
        let mut times = self.0[what].clone();
        times.sort();
        times[times.len() / 2].as_secs_f64() * 1e3
    }

    fn report(&self) {
        for (what, times) in &self.0 {
            let least = times.iter().min().expect("a measurement").as_secs_f64() * 1e3;
            println!(
                "{what:36} n={:3} least {least:8.2} ms, median {:8.2} ms",
                times.len(),
                self.median(what)
            );
        }
        let exec = self.median("docker exec python3 -c");
        let ratio = |what| exec / self.median(what);
        println!(
            "a run is {:.0} times as fast as docker exec python3 -c",
            ratio("python run, a fresh process")
        );
        println!("a session call is {:.0} times as fast", ratio("session round trip"));
        let cold = self.median("create and start, with the agent") + self.median("the first run in it");
        println!(
            "a cold start with its first run takes {:.2} times as long as a bare create and start",
            cold / self.median("create and start, bare")
        );
    }
}
