//! `rogue.py`, a server that writes what a test wants, over any link.

use std::{
    net::TcpStream,
    process::{Child, Command, Stdio},
};

use toolyard::mcp::McpServerConfig;

use super::{eventually, listening::free_port};

/// The path of the server.
pub(super) const ROGUE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/mcp/rogue.py");

/// The links that it can be reached by: pipes, streamable HTTP with bodies and with events, and events as they were before.
pub(super) const LINKS: [&str; 4] = ["stdio", "json", "events", "old"];

/// A server, and how it is reached. It ends when it is dropped.
pub(super) struct Rogue {
    pub(super) config: McpServerConfig,
    listening: Option<Child>,
}

impl Rogue {
    pub(super) async fn start(link: &str) -> Self {
        if link == "stdio" {
            return Self { config: McpServerConfig::stdio("python3", [ROGUE, "stdio"]), listening: None };
        }
        let port = free_port();
        let mut command = Command::new("python3");
        command.args([ROGUE, link, &port.to_string()]).stdout(Stdio::null()).stderr(Stdio::null());
        let listening = Some(command.spawn().unwrap());
        eventually("it listens", || TcpStream::connect(("127.0.0.1", port)).is_ok()).await;
        let url = format!("http://127.0.0.1:{port}/mcp");
        let config = if link == "old" { McpServerConfig::sse(url) } else { McpServerConfig::http(url) };
        Self { config, listening }
    }
}

impl Drop for Rogue {
    fn drop(&mut self) {
        if let Some(listening) = &mut self.listening {
            let _ = listening.kill();
            let _ = listening.wait();
        }
    }
}
