//! The daemon: what is asked of it, and what its refusals mean.

use std::{collections::HashMap, pin::Pin, time::Duration};

use bollard::{
    Docker,
    container::{AttachContainerResults, LogOutput},
    errors::Error,
    exec::{StartExecOptions, StartExecResults},
    models::{ContainerCreateBody, ContainerSummary, ExecConfig},
    query_parameters::{
        AttachContainerOptionsBuilder, CreateContainerOptionsBuilder, InspectContainerOptions,
        ListContainersOptionsBuilder, RemoveContainerOptionsBuilder, StartContainerOptions,
    },
};
use futures::Stream;
use tokio::{
    io::AsyncWrite,
    time::{Instant, sleep},
};

use super::error::SandboxError;
use crate::moment;

/// How long the daemon may take for one answer. A busy one takes seconds to start a container.
const ANSWER_SECONDS: u64 = 120;

/// How long a container may take to be gone once the daemon has agreed to remove it.
const REMOVAL: Duration = Duration::from_secs(10);

/// What a container's streams bring.
pub(super) type Output = Pin<Box<dyn Stream<Item = Result<LogOutput, Error>> + Send>>;

/// Where a container's standard input is written to.
pub(super) type Input = Pin<Box<dyn AsyncWrite + Send>>;

/// A connection to the daemon.
#[derive(Clone, Debug)]
pub(crate) struct Daemon {
    pub(super) docker: Docker,
    address: String,
    /// Whether it is Podman, which takes some settings in other forms.
    pub(super) is_podman: bool,
}

impl Daemon {
    /// Connects, and agrees on a version of the interface.
    pub(crate) async fn connect(address: Option<&str>) -> Result<Self, SandboxError> {
        let address = match address {
            Some(address) => address.to_owned(),
            None => std::env::var("DOCKER_HOST")
                .ok()
                .filter(|host| !host.is_empty())
                .unwrap_or_else(|| "unix:///var/run/docker.sock".to_owned()),
        };
        let unreachable =
            |error: Error| SandboxError::Unreachable { daemon: address.clone(), reason: root_cause(&error) };
        let version = bollard::API_DEFAULT_VERSION;
        let docker = if let Some(path) = address.strip_prefix("unix://") {
            Docker::connect_with_unix(path, ANSWER_SECONDS, version)
        } else {
            Docker::connect_with_http(&address, ANSWER_SECONDS, version)
        };
        let docker = docker.map_err(unreachable)?.negotiate_version().await.map_err(unreachable)?;
        let parts = docker.version().await.map_err(unreachable)?.components.unwrap_or_default();
        let is_podman = parts.iter().any(|part| part.name.contains("Podman"));
        Ok(Self { docker, address, is_podman })
    }

    /// The version of the daemon.
    pub(crate) async fn version(&self) -> Result<String, SandboxError> {
        let version = self.docker.version().await.map_err(|error| self.failed(&error))?;
        Ok(version.version.unwrap_or_default())
    }

    /// The id of an image, if there is one of this name.
    pub(crate) async fn image_id(&self, image: &str) -> Result<Option<String>, SandboxError> {
        match self.docker.inspect_image(image).await {
            Ok(found) => Ok(found.id),
            Err(error) if status(&error) == Some(404) => Ok(None),
            Err(error) => Err(self.failed(&error)),
        }
    }

    /// Makes a container; gives its id and the daemon's warnings.
    pub(super) async fn create(
        &self,
        name: &str,
        image: &str,
        body: ContainerCreateBody,
    ) -> Result<(String, Vec<String>), SandboxError> {
        let options = CreateContainerOptionsBuilder::default().name(name).build();
        match self.docker.create_container(Some(options), body).await {
            Ok(created) => Ok((created.id, created.warnings)),
            Err(error) if status(&error) == Some(404) && root_cause(&error).contains("mage") => {
                Err(SandboxError::ImageMissing { image: image.to_owned() })
            }
            Err(error) => Err(self.refused(&error)),
        }
    }

    /// Starts a container that was made.
    pub(super) async fn start(&self, id: &str) -> Result<(), SandboxError> {
        let started = self.docker.start_container(id, None::<StartContainerOptions>).await;
        started.map_err(|error| self.refused(&error))
    }

    /// Takes hold of the standard streams of a container.
    pub(super) async fn attach(&self, id: &str) -> Result<(Output, Input), SandboxError> {
        let options =
            AttachContainerOptionsBuilder::default().stdin(true).stdout(true).stderr(true).stream(true);
        let attached = self.docker.attach_container(id, Some(options.build())).await;
        let AttachContainerResults { output, input } = attached.map_err(|error| self.failed(&error))?;
        Ok((output, input))
    }

    /// Runs a command in a running container; gives its streams and the id that its end is asked for by.
    pub(super) async fn exec(
        &self,
        id: &str,
        command: Vec<String>,
    ) -> Result<(String, Output, Input), SandboxError> {
        let config = ExecConfig {
            attach_stdin: Some(true),
            attach_stdout: Some(true),
            attach_stderr: Some(true),
            cmd: Some(command),
            ..ExecConfig::default()
        };
        let made = self.docker.create_exec(id, config).await.map_err(|error| self.failed(&error))?;
        let options = StartExecOptions { output_capacity: Some(64 * 1024), ..StartExecOptions::default() };
        match self.docker.start_exec(&made.id, Some(options)).await.map_err(|error| self.failed(&error))? {
            StartExecResults::Attached { output, input } => Ok((made.id, output, input)),
            StartExecResults::Detached => {
                Err(SandboxError::Daemon { reason: "it gave no streams of an exec".to_owned() })
            }
        }
    }

    /// The exit code of an exec that has ended.
    pub(super) async fn exec_exit(&self, exec: &str) -> Result<Option<i64>, SandboxError> {
        let inspected = self.docker.inspect_exec(exec).await.map_err(|error| self.failed(&error))?;
        Ok(inspected.exit_code)
    }

    /// Ends a container. It is no error when it is not there.
    pub(super) async fn kill(&self, id: &str) -> Result<(), SandboxError> {
        let killed =
            self.docker.kill_container(id, None::<bollard::query_parameters::KillContainerOptions>).await;
        match killed {
            Ok(()) => Ok(()),
            // Not there, or not running.
            Err(error) if matches!(status(&error), Some(404 | 409)) => Ok(()),
            Err(error) => Err(self.failed(&error)),
        }
    }

    /// Ends and removes a container, and returns when it is gone. It is no error when it is not there.
    pub(super) async fn remove(&self, id: &str) -> Result<(), SandboxError> {
        let patience = moment::from_now(REMOVAL);
        loop {
            let options = RemoveContainerOptionsBuilder::default().force(true).v(true).build();
            match self.docker.remove_container(id, Some(options)).await {
                Ok(()) => return Ok(()),
                Err(error) if status(&error) == Some(404) => return Ok(()),
                // It is being removed already.
                Err(error) if status(&error) == Some(409) && Instant::now() < patience => {
                    sleep(Duration::from_millis(20)).await;
                }
                Err(error) => return Err(self.failed(&error)),
            }
        }
    }

    /// How a container ended, where the daemon still knows.
    pub(super) async fn last_words(&self, id: &str) -> Option<String> {
        let inspected = self.docker.inspect_container(id, None::<InspectContainerOptions>).await.ok()?;
        let state = inspected.state?;
        let code = state.exit_code.unwrap_or_default();
        match (state.running, state.oom_killed) {
            (Some(true), _) => None,
            (_, Some(true)) => Some("its memory ran out".to_owned()),
            _ => Some(format!("its first process ended with {code}")),
        }
    }

    /// The containers with a label, whatever their state.
    pub(super) async fn labelled(&self, label: &str) -> Result<Vec<ContainerSummary>, SandboxError> {
        let filters = HashMap::from([("label".to_owned(), vec![label.to_owned()])]);
        let options = ListContainersOptionsBuilder::default().all(true).filters(&filters).build();
        self.docker.list_containers(Some(options)).await.map_err(|error| self.failed(&error))
    }

    pub(super) fn failed(&self, error: &Error) -> SandboxError {
        match error {
            Error::DockerResponseServerError { message, .. } => {
                SandboxError::Daemon { reason: message.clone() }
            }
            _ => SandboxError::Unreachable { daemon: self.address.clone(), reason: root_cause(error) },
        }
    }

    fn refused(&self, error: &Error) -> SandboxError {
        match self.failed(error) {
            SandboxError::Daemon { reason } => SandboxError::Refused { reason },
            other => other,
        }
    }
}

fn status(error: &Error) -> Option<u16> {
    match error {
        Error::DockerResponseServerError { status_code, .. } => Some(*status_code),
        _ => None,
    }
}

/// The innermost reason: the outer ones say that a request failed.
fn root_cause(error: &Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}
