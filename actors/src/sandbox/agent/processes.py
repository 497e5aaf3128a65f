"""Processes below this one, which is the first of its container: it cannot be killed from inside, and what loses its
parent becomes its child. Every run and session adopts its own orphans while it lives, so a child of ours that is
neither is what a run has left behind."""

PR_SET_DUMPABLE = 4
PR_SET_CHILD_SUBREAPER = 36


def prctl(option, value):
    # Without ctypes the sandbox works, with less protection of runs from each other.
    if LIBC is not None:
        LIBC.prctl(option, value, 0, 0, 0)


try:
    import ctypes

    LIBC = ctypes.CDLL(None)
except (ImportError, OSError):
    LIBC = None


def hide_from_runs():
    """Runs have our user: nothing of this process may be read, traced or written by them."""
    prctl(PR_SET_DUMPABLE, 0)


def kill(pid, number):
    try:
        os.kill(pid, number)
    except (ProcessLookupError, PermissionError):
        pass


def family():
    """The children of each process."""
    children = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open("/proc/%s/stat" % name, "rb") as stat:
                parent = int(stat.read().rsplit(b")", 1)[1].split()[1])
        except (OSError, IndexError, ValueError):
            continue
        children.setdefault(parent, []).append(int(name))
    return children


def kill_trees(roots):
    """Kills processes with all below them. Everything stands still meanwhile, so that nothing can escape by forking."""
    kill(-1, signal.SIGSTOP)
    children, doomed = family(), list(roots)
    for pid in doomed:
        doomed.extend(children.get(pid, ()))
    for pid in doomed:
        kill(pid, signal.SIGKILL)
    kill(-1, signal.SIGCONT)


def own_children():
    try:
        with open("/proc/self/task/%d/children" % os.getpid(), "rb") as file:
            return {int(pid) for pid in file.read().split()}
    except OSError:
        return set(family().get(os.getpid(), ()))


def sweep(roots):
    """Ends every child of ours that is not among the roots, with all below it."""
    while True:
        strays = own_children() - roots
        if not strays:
            return
        kill_trees(strays)
        for pid in strays:
            try:
                os.waitpid(pid, 0)
            except ChildProcessError:
                pass


class OomCounter:
    """How often the kernel has killed for want of memory."""

    FILES = ("/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control")

    def __init__(self):
        self.fd = None
        for path in self.FILES:
            try:
                self.fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
                break
            except OSError:
                pass

    def read(self):
        try:
            lines = os.pread(self.fd, 4096, 0).split(b"\n") if self.fd is not None else ()
        except OSError:
            lines = ()
        return next((int(line.split()[1]) for line in lines if line.startswith(b"oom_kill ")), 0)
