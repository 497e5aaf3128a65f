"""What code in the container can change of this process, as it has the same user, where the kernel lets it."""


class Condition:
    """Limits, processors and priority of this process, which all runs inherit: they must be as they were at its start."""

    def __init__(self):
        # The kernel writes the limits anew for each reading.
        self.limits = os.open("/proc/self/limits", os.O_RDONLY | os.O_CLOEXEC)
        self.at_start = self.read()

    def read(self):
        return (
            os.pread(self.limits, 4096, 0),
            os.sched_getaffinity(0),
            os.getpriority(os.PRIO_PROCESS, 0),
            os.sched_getscheduler(0),
        )

    def has_changed(self):
        try:
            return self.read() != self.at_start
        except OSError:
            return True
