//! The processes below this one.

use std::fs;

use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, wait};

/// Kills and reaps every process below this one and returns when none is left.
///
/// This process must be a subreaper: then a process whose parent dies becomes its child, so killing children until
/// there are none reaches daemons and those that fork while it runs.
pub(super) fn end_all_children() {
    loop {
        for child in children_of(getpid()) {
            // It may just have ended; then there is nothing to kill.
            let _ = kill_process(child, Signal::KILL);
        }
        if wait(WaitOptions::empty()).is_err() {
            return;
        }
    }
}

/// Whether a process of a group is still running. Those that only wait for their parent to reap them do not count:
/// orphans in a container whose first process reaps nobody stay so for ever.
pub(super) fn group_is_running(group: Pid) -> bool {
    processes().any(|process| process.group == Some(group) && !process.has_ended)
}

/// Whether more than `most` processes are below one, those that nobody has reaped among them.
pub(super) fn has_more_below(top: Pid, most: usize) -> bool {
    let mut found = vec![top];
    let mut asked = 0;
    while asked < found.len() && found.len() - 1 <= most {
        found.extend(children_of(found[asked]));
        asked += 1;
    }
    found.len() - 1 > most
}

/// The live and unreaped children of a process.
fn children_of(parent: Pid) -> Vec<Pid> {
    listed_children(parent).unwrap_or_else(|| {
        processes().filter(|process| process.parent == Some(parent)).map(|process| process.id).collect()
    })
}

/// The children as the kernel lists them for each thread, where it does: quick however many other processes there are.
fn listed_children(parent: Pid) -> Option<Vec<Pid>> {
    let mut children = Vec::new();
    for thread in fs::read_dir(format!("/proc/{}/task", parent.as_raw_nonzero())).ok()? {
        let listed = fs::read_to_string(thread.ok()?.path().join("children")).ok()?;
        children.extend(listed.split_ascii_whitespace().filter_map(|id| Pid::from_raw(id.parse().ok()?)));
    }
    Some(children)
}

/// A line of the process table.
struct Process {
    id: Pid,
    parent: Option<Pid>,
    group: Option<Pid>,
    has_ended: bool,
}

fn processes() -> impl Iterator<Item = Process> {
    let entries = fs::read_dir("/proc").into_iter().flatten();
    entries.filter_map(|entry| Process::read(entry.ok()?.file_name().to_str()?.parse().ok()?))
}

impl Process {
    fn read(id: i32) -> Option<Self> {
        Self::parse(id, &fs::read_to_string(format!("/proc/{id}/stat")).ok()?)
    }

    fn parse(id: i32, stat: &str) -> Option<Self> {
        // The name, in parentheses, may hold anything; state, parent and group follow its end.
        let mut fields = stat[stat.rfind(')')? + 1..].split_ascii_whitespace();
        let has_ended = matches!(fields.next()?, "Z" | "X");
        // One that is about to end has the group -1.
        let mut pid = || fields.next()?.parse().ok().filter(|id| *id > 0).and_then(Pid::from_raw);
        Some(Self { id: Pid::from_raw(id)?, parent: pid(), group: pid(), has_ended })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_is_about_to_end_has_no_group() {
        let ending = Process::parse(7, "7 (a) b) R 0 -1 -1 0 -1").unwrap();
        assert_eq!((ending.parent, ending.group, ending.has_ended), (None, None, false));
        let running = Process::parse(7, "7 (a) b) S 1 7 7 0 -1").unwrap();
        assert_eq!((running.parent, running.group), (Pid::from_raw(1), Pid::from_raw(7)));
    }

    #[test]
    fn a_started_process_is_among_the_children() {
        let mut child =
            std::process::Command::new("cat").stdin(std::process::Stdio::piped()).spawn().unwrap();
        let pid = Pid::from_child(&child);
        assert!(children_of(getpid()).contains(&pid));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!children_of(getpid()).contains(&pid));
    }
}
