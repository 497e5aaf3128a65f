//! Finding the processes that a test started, however far they have run away.

use std::{
    fs,
    process::Command,
    sync::atomic::{AtomicU32, Ordering},
    thread,
    time::{Duration, Instant},
};

/// A text that the environment or the command line of all processes of one test holds, and nobody else's.
pub(crate) fn mark() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    // As the fraction of a number of seconds it can be told to `sleep`.
    format!("86399.{}{:03}7", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}

/// The processes that carry a mark, with their command lines.
pub(crate) fn marked(mark: &str) -> Vec<(u32, String)> {
    let Ok(processes) = fs::read_dir("/proc") else { return Vec::new() };
    let pids = processes.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    let read = |pid, what| {
        let bytes = fs::read(format!("/proc/{pid}/{what}")).unwrap_or_default();
        String::from_utf8_lossy(&bytes).replace('\0', " ")
    };
    let carries = |pid: &u32| read(*pid, "environ").contains(mark) || read(*pid, "cmdline").contains(mark);
    pids.filter(carries).map(|pid| (pid, read(pid, "cmdline"))).collect()
}

/// Waits until so many processes carry a mark.
pub(crate) fn wait_for(count: usize, mark: &str) {
    let began = Instant::now();
    while marked(mark).len() < count {
        assert!(began.elapsed() < Duration::from_secs(20), "only {:?}", marked(mark));
        thread::yield_now();
    }
}

/// Waits until no process carries a mark any more.
pub(crate) fn assert_gone(mark: &str) {
    let began = Instant::now();
    loop {
        let left = marked(mark);
        if left.is_empty() {
            return;
        }
        assert!(began.elapsed() < Duration::from_secs(20), "still there: {left:?}");
        thread::yield_now();
    }
}

pub(crate) fn kill_now(pid: u32) {
    signal("KILL", pid);
}

pub(crate) fn signal(name: &str, pid: u32) {
    // It may have ended by itself.
    let _ = Command::new("kill").args(["-s", name, &pid.to_string()]).output();
}
