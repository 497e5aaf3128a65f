//! An image without a registry: Debian's packages, laid over each other.

mod layers;
mod packages;

use std::{path::Path, time::Duration};

use bollard::{
    body_full,
    query_parameters::{CreateImageOptionsBuilder, RemoveImageOptions},
};
use futures::{StreamExt, TryStreamExt, stream};
use tokio::{io::AsyncReadExt, time::timeout};

use self::{layers::Layers, packages::closure};
use super::{docker::Daemon, error::SandboxError};
use crate::child::{ChildCommand, InheritEnv};

/// How long one program of the build may take: fetching packages over a slow line.
const STEP: Duration = Duration::from_mins(10);

/// How many packages are unpacked at once.
const UNPACKED_AT_ONCE: usize = 2;

/// What a build has made.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct BuiltImage {
    /// The image's name.
    pub image: String,
    /// How many packages are in it.
    pub packages: usize,
    /// Its size, in bytes.
    pub bytes: u64,
}

/// Builds an image with Python, a shell and the usual small programs from packages that `apt-get` fetches. Needs a
/// Debian with package lists, and a daemon; no registry, and no rights beyond the daemon's socket.
///
/// # Errors
/// When a package cannot be fetched or unpacked, or the daemon does not take the image.
///
/// # Cancellation
/// Dropping the future leaves the image as it was.
pub async fn build_image(daemon: Option<&str>, image: &str) -> Result<BuiltImage, SandboxError> {
    let daemon = Daemon::connect(daemon).await?;
    let folder = TemporaryFolder::new()?;
    let depends = packager("apt-cache").args(["depends", "--recurse", "--important"]);
    let graph = output(depends.args(packages::SEEDS)).await?;
    let packages = closure(&String::from_utf8_lossy(&graph)).map_err(not_built)?;
    output(packager("apt-get").arg("download").args(&packages).folder(folder.path())).await?;

    let archives = std::fs::read_dir(folder.path()).map_err(not_built)?;
    let mut archives: Vec<_> = archives.filter_map(|entry| Some(entry.ok()?.path())).collect();
    archives.sort();
    let mut layers = Layers::new();
    let mut unpacked =
        stream::iter(archives.iter().map(|archive| unpack(archive))).buffered(UNPACKED_AT_ONCE);
    while let Some(files) = unpacked.try_next().await? {
        layers.add(&files).map_err(not_built)?;
    }
    let tar = layers.finish().map_err(not_built)?;
    let bytes = tar.len() as u64;
    let before = daemon.image_id(image).await?;
    import(&daemon, image, tar).await?;
    if let Some(before) = before {
        // One that is still in use, or has another name, stays.
        let _ = daemon.docker.remove_image(&before, None::<RemoveImageOptions>, None).await;
    }
    Ok(BuiltImage { image: image.to_owned(), packages: archives.len(), bytes })
}

/// One of Debian's programs, which know proxies and such by the environment.
fn packager(program: &str) -> ChildCommand {
    ChildCommand::new(program).inherit_env(InheritEnv::All)
}

async fn unpack(archive: &Path) -> Result<Vec<u8>, SandboxError> {
    output(packager("dpkg-deb").arg("--fsys-tarfile").arg(archive)).await
}

async fn import(daemon: &Daemon, image: &str, tar: Vec<u8>) -> Result<(), SandboxError> {
    let (repository, tag) = image.rsplit_once(':').unwrap_or((image, "latest"));
    let mut options = CreateImageOptionsBuilder::default().from_src("-").repo(repository).tag(tag).build();
    options.changes = vec![
        "ENV LANG=C.UTF-8 PATH=/usr/local/bin:/usr/bin:/bin".to_owned(),
        "WORKDIR /workspace".to_owned(),
        "USER 1000:1000".to_owned(),
        "CMD [\"/bin/sh\"]".to_owned(),
    ];
    let progress = daemon.docker.create_image(Some(options), Some(body_full(tar.into())), None);
    let steps = progress.map(|step| step.map_err(|error| daemon.failed(&error)));
    steps.try_for_each(|_| std::future::ready(Ok(()))).await
}

/// Runs a program to its end, and gives what it has printed.
async fn output(command: ChildCommand) -> Result<Vec<u8>, SandboxError> {
    let mut child = command.start().map_err(not_built)?;
    drop(child.take_stdin());
    let mut stdout = child.take_stdout().ok_or_else(|| not_built("a program has no output"))?;
    let mut printed = Vec::new();
    let ended = timeout(STEP, async {
        stdout.read_to_end(&mut printed).await.map_err(not_built)?;
        Ok(child.wait().await)
    });
    let exit = ended.await.map_err(|_| not_built(format!("a program took over {} s", STEP.as_secs())))??;
    if exit.is_success() {
        return Ok(printed);
    }
    let complaint = child.stderr_text();
    let last = complaint.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
    Err(not_built(format!("{last} ({exit}); package lists are fetched by `apt-get update`")))
}

#[allow(clippy::needless_pass_by_value)] // it stands in the place of a closure
fn not_built(reason: impl ToString) -> SandboxError {
    SandboxError::NotBuilt { reason: reason.to_string() }
}

/// A folder that is removed in the end.
struct TemporaryFolder(std::path::PathBuf);

impl TemporaryFolder {
    fn new() -> Result<Self, SandboxError> {
        let path = std::env::temp_dir().join(format!("toolyard-image-{}", super::container::unique()));
        std::fs::create_dir(&path).map_err(not_built)?;
        Ok(Self(path))
    }

    fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        // What stays is in the folder for temporary files.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
