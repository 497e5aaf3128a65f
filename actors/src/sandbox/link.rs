//! The streams of a running container.

use std::time::Duration;

use bollard::container::LogOutput;
use futures::StreamExt;
use tokio::{
    io::AsyncWriteExt,
    sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
    time::timeout,
};

use super::{
    config::SandboxConfig,
    container::{Container, Service},
    docker::{Daemon, Input, Output},
    error::SandboxError,
    owner::Owner,
    wire::{Frames, Order, Said, frame},
};

/// How long the daemon is asked how a container ended.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// How much of what the first process says to standard error is kept, in bytes: the end of a traceback.
const COMPLAINTS: usize = 2000;

/// What comes from a container, in order; `Ended` last.
pub(super) enum Heard {
    Frames(Vec<(Said, Vec<u8>)>),
    /// The container is gone, or at least nothing comes from it any more: why.
    Ended(String),
}

/// A running container. Dropping it closes its streams, at which it ends by itself.
pub(super) struct Link {
    pub(super) daemon: Daemon,
    pub(super) id: String,
    pub(super) service: Service,
    orders: UnboundedSender<Vec<u8>>,
}

impl Link {
    /// Starts a container, and returns when it is up.
    pub(super) async fn open(config: &SandboxConfig, owner: &Owner) -> Result<(Self, Voice), SandboxError> {
        let daemon = Daemon::connect(config.daemon.as_deref()).await?;
        let Container { id, service, output, input } = Container::start(&daemon, config, owner).await?;
        let (orders, outgoing) = unbounded_channel();
        tokio::spawn(write(input, outgoing));
        let link = Self { daemon: daemon.clone(), id: id.clone(), service, orders };
        let mut voice = Voice {
            daemon: daemon.clone(),
            id: id.clone(),
            output,
            frames: Frames::default(),
            complaints: Vec::new(),
        };
        if service == Service::Agent {
            let life_ms = u64::try_from(config.life.as_millis()).unwrap_or(u64::MAX);
            link.order(&Order::Hello { life_ms }, &[]);
            if let Err(reason) = voice.ready().await {
                let _ = daemon.remove(&id).await;
                return Err(SandboxError::Refused { reason });
            }
        }
        Ok((link, voice))
    }

    /// Sends an order. One to a container that is gone is dropped: its end is heard by itself.
    pub(super) fn order(&self, order: &Order<'_>, body: &[&[u8]]) {
        let _ = self.orders.send(frame(order, body));
    }
}

/// Writes orders until nobody can give any more.
async fn write(mut input: Input, mut orders: UnboundedReceiver<Vec<u8>>) {
    while let Some(order) = orders.recv().await {
        if input.write_all(&order).await.is_err() || input.flush().await.is_err() {
            return;
        }
    }
    // The first process ends at the end of its input.
    let _ = input.shutdown().await;
}

/// What a container says.
pub(super) struct Voice {
    daemon: Daemon,
    id: String,
    output: Output,
    frames: Frames,
    complaints: Vec<u8>,
}

impl Voice {
    /// Waits for the agent's first word.
    async fn ready(&mut self) -> Result<(), String> {
        loop {
            match self.next().await? {
                said if said.is_empty() => {}
                said if matches!(said.as_slice(), [(Said::Ready, _)]) => return Ok(()),
                _ => return Err("its first process is not the agent".to_owned()),
            }
        }
    }

    /// Passes on what is said, and at last why nothing comes any more.
    pub(super) async fn listen(mut self, hear: impl Fn(Heard)) {
        let reason = loop {
            match self.next().await {
                Ok(said) => hear(Heard::Frames(said)),
                Err(reason) => break reason,
            }
        };
        let asked = timeout(LAST_WORDS, self.daemon.last_words(&self.id)).await.ok().flatten();
        hear(Heard::Ended(self.in_full(asked.unwrap_or(reason))));
    }

    async fn next(&mut self) -> Result<Vec<(Said, Vec<u8>)>, String> {
        match self.output.next().await {
            Some(Ok(LogOutput::StdErr { message })) => {
                self.complaints.extend_from_slice(&message);
                let more = self.complaints.len().saturating_sub(COMPLAINTS);
                self.complaints.drain(..more);
            }
            Some(Ok(output)) => self.frames.add(&output.into_bytes()),
            Some(Err(error)) => return Err(format!("its stream broke: {error}")),
            None => return Err("its first process ended".to_owned()),
        }
        let mut said = Vec::new();
        while let Some(frame) = self.frames.take()? {
            said.push(frame);
        }
        Ok(said)
    }

    fn in_full(&self, mut reason: String) -> String {
        let complaints = String::from_utf8_lossy(&self.complaints);
        if let Some(last) = complaints.lines().last() {
            reason.push_str(": ");
            reason.push_str(last);
        }
        reason
    }
}
