//! Servers that listen on a port of this machine.

use std::{
    net::{TcpListener, TcpStream},
    path::Path,
    process::{Child, Command, Stdio},
    time::Duration,
};

use tokio::time::sleep;

use super::eventually;
use crate::{processes::signal, venv};

/// The path of a server on the Python SDK.
pub(super) const SDK_SERVER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/mcp/sdk_server.py");

/// A port on which nothing listens.
pub(super) fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// A server that listens. It is killed when it is dropped.
pub(super) struct Listening(Child);

impl Listening {
    /// Starts one on a generation of the Python SDK, and waits until it listens.
    pub(super) async fn start(sdk: &str, port: u16, transport: &str) -> Self {
        Self::start_with(sdk, port, transport, &[]).await
    }

    /// As [`start`](Self::start), with these variables in its environment.
    pub(super) async fn start_with(sdk: &str, port: u16, transport: &str, env: &[(&str, &Path)]) -> Self {
        let mut command = Command::new(venv::python(sdk));
        command.arg(SDK_SERVER).arg(port.to_string()).arg(transport).envs(env.iter().copied());
        Self::of(command, port).await
    }

    /// Starts a program, and waits until it listens.
    pub(super) async fn of(mut command: Command, port: u16) -> Self {
        let server = Self(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
        eventually("it listens", || TcpStream::connect(("127.0.0.1", port)).is_ok()).await;
        server
    }

    /// Asks it to end, and kills it when it has not done so soon, as those do who run servers.
    pub(super) async fn terminate(mut self) {
        signal("TERM", self.0.id());
        for _ in 0..30 {
            if self.0.try_wait().unwrap().is_some() {
                break;
            }
            sleep(Duration::from_millis(10)).await;
        }
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
