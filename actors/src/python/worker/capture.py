"""What user code prints, kept apart from the frames and attributed to the call that printed it.

The descriptors 0, 1 and 2 that the engine gave are moved away first. Descriptor 1 and 2 then lead to a pipe of
our own, so prints from C and from child processes are caught too; `sys.stdout` and `sys.stderr` are replaced, so
prints of overlapping calls can be told apart. What belongs to no call goes to the worker's log, the engine's
standard error of this process.
"""
import contextvars
import fcntl
import io
import os
import select
import sys
import threading

PRINTED_BYTES = 64 * 1024
PIPE_BYTES = 1 << 20
_F_SETPIPE_SZ = 1031  # named in `fcntl` from Python 3.10 on

_printing = contextvars.ContextVar("toolyard_printing", default=None)


class Printed:
    """What one call printed: the first bytes, and how many more there were."""

    __slots__ = ("_parts", "_room", "_dropped")

    def __init__(self):
        self._parts = []
        self._room = PRINTED_BYTES
        self._dropped = 0

    def add(self, data):
        kept = data[: self._room]
        self._room -= len(kept)
        self._dropped += len(data) - len(kept)
        self._parts.append(kept)

    def text(self):
        text = b"".join(self._parts).decode("utf-8", "replace")
        return text + f"\n[{self._dropped} more bytes]" if self._dropped else text


class Capture:
    def __init__(self):
        self.engine_in = os.dup(0)
        self.engine_out = os.dup(1)
        self._log = os.dup(2)
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.close(null)
        self._pipe, write_end = os.pipe()
        _enlarge(write_end)
        os.set_blocking(self._pipe, False)
        os.dup2(write_end, 1)
        os.dup2(write_end, 2)
        os.close(write_end)
        self._has_output = select.poll()
        self._has_output.register(self._pipe, select.POLLIN)
        self._running = set()
        self._draining = threading.Lock()
        _unbuffer_c_streams()
        sys.stdout = Stream(self, 1)
        sys.stderr = Stream(self, 2)
        self._drainer = threading.Thread(target=self._drain_forever, name="toolyard-capture", daemon=True)
        self._drainer.start()

    def close(self):
        """Leads the descriptors to the log, for what is printed while Python shuts down."""
        os.dup2(self._log, 1)
        os.dup2(self._log, 2)
        self._drainer.join(timeout=0.2)  # a child process may hold the pipe open

    def begin(self):
        """Starts the capture for a call, in the current context."""
        printed = Printed()
        self._running.add(printed)
        _printing.set(printed)
        return printed

    def end(self, printed):
        """Ends it and gives the text."""
        with self._draining:
            if self._has_output.poll(0):  # one thread at a time may ask
                self._read_pipe()
        self._running.discard(printed)
        return printed.text() if printed._parts else ""

    def write(self, data):
        """Takes what was written to `sys.stdout` or `sys.stderr`."""
        self._give(_printing.get(), data)

    def _give(self, printed, data):
        if printed not in self._running:
            printed = None
        if printed is None and len(self._running) == 1:
            # A thread of the call's own, C code or a child process: only one call can have printed it.
            (printed,) = self._running
        if printed is not None:
            printed.add(data)
        else:
            os.write(self._log, data)

    def _read_pipe(self):
        """Takes what is in the pipe; False when nobody holds its other end any more."""
        while True:
            try:
                data = os.read(self._pipe, 1 << 16)
            except BlockingIOError:
                return True
            if not data:
                return False
            self._give(None, data)

    def _drain_forever(self):
        poll = select.poll()
        poll.register(self._pipe, select.POLLIN)
        held = True
        while held:
            poll.poll()
            with self._draining:
                held = self._read_pipe()


class Stream(io.TextIOBase):
    """Stands for `sys.stdout` and `sys.stderr`."""

    encoding = "utf-8"
    errors = "replace"

    def __init__(self, capture, fd):
        self._capture = capture
        self._fd = fd
        self.buffer = Bytes(capture, fd)

    def writable(self):
        return True

    def write(self, text):
        self._capture.write(text.encode("utf-8", "replace"))
        return len(text)

    def fileno(self):
        return self._fd

    def reconfigure(self, **_):
        """Scripts ask for UTF-8, which it is."""


class Bytes(io.RawIOBase):
    """Stands for `sys.stdout.buffer`."""

    def __init__(self, capture, fd):
        self._capture = capture
        self._fd = fd

    def writable(self):
        return True

    def write(self, data):
        data = bytes(data)
        self._capture.write(data)
        return len(data)

    def fileno(self):
        return self._fd


def _enlarge(pipe):
    """Makes room for C code that prints while it holds the interpreter, when nobody can empty the pipe."""
    try:
        fcntl.fcntl(pipe, _F_SETPIPE_SZ, PIPE_BYTES)
    except OSError:
        pass  # the system's limit is lower


def _unbuffer_c_streams():
    """Makes C code's prints appear when they are made, not when the process ends."""
    try:
        import ctypes

        libc = ctypes.CDLL(None)
        unbuffered = 2
        for name in ("stdout", "stderr"):
            libc.setvbuf(ctypes.c_void_p.in_dll(libc, name), None, unbuffered, 0)
    except (ImportError, AttributeError, ValueError, OSError):
        pass  # then they are attributed late, which is all that is lost
