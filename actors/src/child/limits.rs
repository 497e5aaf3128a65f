//! Resource limits of a child.

use std::time::Duration;

use rustix::io::Result;
use rustix::process::{Pid, Resource, Rlimit, prlimit};

/// Limits what one child process may use. Every limit is off by default, because a useful value depends on what
/// the child does; processes that the child starts inherit them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ResourceLimits {
    /// Processor time, in whole seconds (rounded up); past it the kernel kills the child.
    pub cpu_time: Option<Duration>,
    /// Address space in bytes; past it allocations fail.
    pub memory_bytes: Option<u64>,
    /// Largest file that it may write, in bytes.
    pub file_bytes: Option<u64>,
    /// Open descriptors.
    pub open_files: Option<u64>,
}

impl ResourceLimits {
    fn settings(&self) -> [(Resource, Option<u64>); 4] {
        let cpu_seconds = self.cpu_time.map(|time| time.as_millis().div_ceil(1000));
        [
            (Resource::Cpu, cpu_seconds.map(|seconds| u64::try_from(seconds).unwrap_or(u64::MAX))),
            (Resource::As, self.memory_bytes),
            (Resource::Fsize, self.file_bytes),
            (Resource::Nofile, self.open_files),
        ]
    }

    /// Sets the limits of a process that has just been started.
    pub(super) fn apply_to(&self, process: Pid) -> Result<()> {
        for (resource, limit) in self.settings() {
            if limit.is_some() {
                prlimit(Some(process), resource, Rlimit { current: limit, maximum: limit })?;
            }
        }
        Ok(())
    }

    /// The limits as one argument of a keeper's command line.
    pub(super) fn to_argument(self) -> String {
        let numbers =
            self.settings().map(|(_, limit)| limit.map_or(String::new(), |limit| limit.to_string()));
        numbers.join(",")
    }

    /// Reads [`Self::to_argument`] back.
    pub(super) fn from_argument(argument: &str) -> Self {
        let mut numbers = argument.split(',').map(|number| number.parse().ok());
        let mut next = || numbers.next().flatten();
        Self {
            cpu_time: next().map(Duration::from_secs),
            memory_bytes: next(),
            file_bytes: next(),
            open_files: next(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_survive_the_keepers_command_line() {
        let limits = ResourceLimits {
            cpu_time: Some(Duration::from_secs(3)),
            memory_bytes: None,
            file_bytes: Some(0),
            open_files: Some(64),
        };
        assert_eq!(ResourceLimits::from_argument(&limits.to_argument()), limits);
        assert_eq!(
            ResourceLimits::from_argument(&ResourceLimits::default().to_argument()),
            ResourceLimits::default()
        );
    }
}
