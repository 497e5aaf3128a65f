//! What takes rights from the code in a container, in the form that its daemon takes.

use std::{fs, io::Write as _};

use tempfile::NamedTempFile;

use super::{
    config::{SandboxConfig, SandboxSeccomp},
    docker::Daemon,
    error::SandboxError,
    seccomp,
};

/// The options of one container, to be kept until it is made.
pub(super) struct Security {
    pub(super) options: Vec<String>,
    /// Whether folders in memory can be given a number of files; Podman refuses that.
    pub(super) bounds_files: bool,
    /// Podman wants the path of a profile, not its text.
    _profile: Option<NamedTempFile>,
}

impl Security {
    /// Makes them for a daemon.
    ///
    /// # Errors
    /// When a profile cannot be read, or be written where Podman finds it.
    pub(super) fn of(config: &SandboxConfig, daemon: &Daemon) -> Result<Self, SandboxError> {
        let mut options = Vec::new();
        if !config.new_privileges {
            options.push("no-new-privileges".to_owned());
        }
        let mut file = None;
        if let Some(profile) = profile(config)? {
            if daemon.is_podman {
                let written = write(&profile).map_err(|error| SandboxError::Refused {
                    reason: format!("its seccomp profile cannot be written to a file for Podman: {error}"),
                })?;
                options.push(format!("seccomp={}", written.path().display()));
                file = Some(written);
            } else {
                options.push(format!("seccomp={profile}"));
            }
        }
        Ok(Self { options, bounds_files: !daemon.is_podman, _profile: file })
    }
}

/// The text of the profile; none where it is the daemon's.
fn profile(config: &SandboxConfig) -> Result<Option<String>, SandboxError> {
    Ok(match &config.seccomp {
        SandboxSeccomp::Own => Some(seccomp::profile(&config.network)),
        SandboxSeccomp::Daemon => None,
        SandboxSeccomp::File(path) => {
            let read = fs::read_to_string(path).map_err(|error| SandboxError::Refused {
                reason: format!(
                    "its seccomp profile {:?} cannot be read: {error}",
                    path.display().to_string()
                ),
            })?;
            Some(read)
        }
    })
}

fn write(profile: &str) -> std::io::Result<NamedTempFile> {
    let mut file = NamedTempFile::with_prefix("toolyard-seccomp-")?;
    file.write_all(profile.as_bytes())?;
    Ok(file)
}
