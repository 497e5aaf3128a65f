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
        let mut made = Self { options: Vec::new(), bounds_files: !daemon.is_podman, _profile: None };
        if !config.new_privileges {
            made.options.push("no-new-privileges".to_owned());
        }
        let profile = match &config.seccomp {
            SandboxSeccomp::Own => seccomp::profile(&config.network),
            SandboxSeccomp::File(path) => {
                fs::read_to_string(path).map_err(|error| SandboxError::Refused {
                    reason: format!(
                        "its seccomp profile {:?} cannot be read: {error}",
                        path.display().to_string()
                    ),
                })?
            }
            SandboxSeccomp::Daemon => return Ok(made),
        };
        if daemon.is_podman {
            let file = write(&profile).map_err(|error| SandboxError::Refused {
                reason: format!("its seccomp profile cannot be written to a file for Podman: {error}"),
            })?;
            made.options.push(format!("seccomp={}", file.path().display()));
            made._profile = Some(file);
        } else {
            made.options.push(format!("seccomp={profile}"));
        }
        Ok(made)
    }
}

fn write(profile: &str) -> std::io::Result<NamedTempFile> {
    let mut file = NamedTempFile::with_prefix("toolyard-seccomp-")?;
    file.write_all(profile.as_bytes())?;
    Ok(file)
}
