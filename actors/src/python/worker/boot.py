"""Starts a worker: reads the worker's modules from standard input and runs them. Given to `python -c`."""
import sys

# Before anything else is imported: what a relative entry finds may have been put there.
sys.path[:] = [entry for entry in sys.path if entry.startswith("/")]

import json
import os
import types

# It made Python leave the current folder out of its path; the file's own child processes are its own business.
os.environ.pop("PYTHONSAFEPATH", None)


def read_exactly(size):
    parts = []
    while size:
        part = os.read(0, min(size, 1 << 20))
        if not part:
            sys.exit(0)
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def watch_engine():
    """Leaves a process behind that kills this group when the engine is gone, whatever user code is doing then."""
    import select
    import signal

    if os.fork():
        return
    os.close(1)
    os.close(2)
    poll = select.poll()
    poll.register(0, 0)  # no events asked for: only the end of the pipe is reported
    poll.poll()
    os.killpg(0, signal.SIGKILL)


def main():
    boot = json.loads(read_exactly(int.from_bytes(read_exactly(4), "big")))
    if boot["watch"]:
        watch_engine()
    if boot["folder"]:
        try:
            os.chdir(boot["folder"])
        except OSError:
            pass  # it is gone; then relative paths lead nowhere
    package = sys.modules["toolyard_worker"] = types.ModuleType("toolyard_worker")
    package.__path__ = []
    for name, source in boot["modules"]:
        full_name = "toolyard_worker." + name
        module = sys.modules[full_name] = types.ModuleType(full_name)
        module.__file__ = "<toolyard>/" + name + ".py"
        setattr(package, name, module)
        exec(compile(source, module.__file__, "exec"), module.__dict__)
    package.serve.main()


main()
