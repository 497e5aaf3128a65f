"""What a run is: a process of its own, forked from this one, which is warm."""

import atexit
import gc
import types

LONGEST_ARGUMENT = 100000
# Filled in when the host has been told that we are up.
traceback = linecache = None


def get_warm():
    """Imports what runs need, once for all of them."""
    global traceback, linecache
    import site

    site.main()
    import collections
    import datetime
    import functools
    import linecache as lines
    import math
    import re
    import traceback as printing

    traceback, linecache = printing, lines
    gc.collect()
    gc.freeze()


def leave_agent(stdin, stdout, stderr, keep=()):
    """Makes this process, just forked, one that nothing of the agent can be reached from."""
    os.setsid()
    for old, new in ((stdin, 0), (stdout, 1), (stderr, 2)):
        os.dup2(old, new)
    for index, fd in enumerate(keep):
        os.dup2(fd, 3 + index, inheritable=False)
    os.closerange(3 + len(keep), 1 << 20)
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)


def become_run():
    """Makes this process, which has left the agent, one that looks as others do, and that goes first when memory runs
    out."""
    prctl(PR_SET_DUMPABLE, 1)
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    try:
        fd = os.open("/proc/self/oom_score_adj", os.O_WRONLY)
        os.write(fd, b"1000")
        os.close(fd)
    except OSError:
        pass


def become_python():
    """Makes this process one that looks as if it had been started for its code. Gives the module that the code is."""
    main = types.ModuleType("__main__")
    main.__dict__["__builtins__"] = __builtins__
    sys.modules["__main__"] = main
    sys.argv = [""]
    sys.path.insert(0, FOLDER)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.stdin = open(0, encoding="utf-8", closefd=False)
    for name, fd in (("stdout", 1), ("stderr", 2)):
        stream = open(fd, "w", encoding="utf-8", errors="backslashreplace", closefd=False, buffering=1)
        setattr(sys, name, stream)
        setattr(sys, "__%s__" % name, stream)
    return main


def exit_code(end):
    """What `sys.exit(x)` means."""
    if end.code is None:
        return 0
    if isinstance(end.code, int):
        return end.code & 0xFF
    print(end.code, file=sys.stderr)
    return 1


def report(error, name, source):
    """Prints a traceback without our own frames, and with the lines of code."""
    text = source.decode("utf-8", "replace")
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    told = traceback.TracebackException.from_exception(error)
    leave_out_ours(told)
    sys.stderr.write("".join(told.format()))


def leave_out_ours(told):
    if told is not None:
        told.stack[:] = [frame for frame in told.stack if frame.filename != HERE]
        leave_out_ours(told.__cause__)
        leave_out_ours(told.__context__)


HERE = (lambda: 0).__code__.co_filename


def run_python(source, main):
    name = "<python>"
    code = 0
    try:
        exec(compile(source, name, "exec", dont_inherit=True), main.__dict__)
    except SystemExit as end:
        code = exit_code(end)
    except BaseException as error:
        report(error, name, source)
        code = 1
    try:
        if "threading" in sys.modules:
            sys.modules["threading"]._shutdown()
        atexit._run_exitfuncs()
    finally:
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except (OSError, ValueError):
                code = code or 120
        os._exit(code)


def run_shell(source):
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if len(source) <= LONGEST_ARGUMENT and b"\0" not in source:
        os.execv("/bin/sh", ["sh", "-c", source])
    script = os.memfd_create("script", 0)
    os.write(script, source)
    os.execv("/bin/sh", ["sh", "/proc/self/fd/%d" % script])


def run(kind, source, main=None):
    if kind == "python":
        run_python(source, main or become_python())
    else:
        run_shell(source)


def fork(work, *streams):
    """Starts a process that leaves the agent and does its work; what it does not survive, it says."""
    pid = os.fork()
    if pid:
        return pid
    try:
        leave_agent(*streams)
        work()
    except BaseException as error:
        os.write(2, ("toolyard: the run could not begin: %s\n" % error).encode("utf-8", "replace"))
    os._exit(126)


def fork_run(kind, source, stdin, stdout, stderr):
    def work():
        become_run()
        run(kind, source)

    return fork(work, stdin, stdout, stderr)


def read_exactly(fd, length):
    parts = bytearray()
    while len(parts) < length:
        part = os.read(fd, min(length - len(parts), 1 << 20))
        if not part:
            os._exit(0)
        parts += part
    return bytes(parts)


def fork_spare(stdin, stdout, stderr, orders):
    """Starts a process that waits to be told what to run."""

    def work():
        # Ahead, as nearly all runs are of Python.
        main = become_python()
        head = read_exactly(3, 9)
        source = read_exactly(3, int.from_bytes(head[1:5], "big"))
        given = read_exactly(3, int.from_bytes(head[5:], "big"))
        os.close(3)
        if given:
            fd = memory_file(given)
            os.dup2(fd, 0)
            os.close(fd)
            sys.stdin = open(0, encoding="utf-8", closefd=False)
        become_run()
        run("python" if head[:1] == b"p" else "shell", source, main)

    return fork(work, stdin, stdout, stderr, (orders,))


def memory_file(data):
    fd = os.memfd_create("stdin", os.MFD_CLOEXEC)
    os.write(fd, data)
    os.lseek(fd, 0, os.SEEK_SET)
    return fd
