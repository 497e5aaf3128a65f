"""One REPL session: reads frames with code, runs them in one namespace, and answers. Given to `python -c`.

A frame to here is four bytes of length, then JSON. A frame from here is one byte of kind (`o` and `e` are output, `r` is
an answer as JSON), four bytes of length, then the content.
"""
import builtins
import io
import json
import os
import select
import sys
import threading
import types

CHUNK = 1 << 16


class Wire:
    def __init__(self):
        self._in, self._out = os.dup(0), os.dup(1)
        self._sending = threading.Lock()
        os.register_at_fork(after_in_child=self._leave)

    def _leave(self):
        """A forked child must neither answer nor read for its parent."""
        if self._in is not None:
            os.close(self._in)
            os.close(self._out)
            self._in = self._out = None

    def read(self):
        size = int.from_bytes(self._exactly(4), "big")
        return json.loads(self._exactly(size))

    def _exactly(self, size):
        parts = []
        while size:
            part = os.read(self._in, min(size, 1 << 20))
            if not part:
                os._exit(0)
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    def send(self, kind, content):
        frame = memoryview(kind + len(content).to_bytes(4, "big") + content)
        with self._sending:
            while frame:
                frame = frame[os.write(self._out, frame):]

    def answer(self, **answer):
        self.send(b"r", json.dumps(answer, ensure_ascii=False).encode("utf-8", Cells.WHOLE))


class Sink:
    """Where one of the two output streams goes: the first bytes of a call over the wire, the rest is counted."""

    def __init__(self, wire, kind, fd):
        self._wire, self._kind, self._fd = wire, kind, fd
        self._own_process = os.getpid()
        self._lock = threading.RLock()
        self._room = self.total = 0
        os.register_at_fork(before=self._lock.acquire, after_in_parent=self._lock.release, after_in_child=self._lock.release)

    def begin(self, most):
        with self._lock:
            self._room, self.total = most, 0

    def end(self):
        """Nobody reads what comes between two calls."""
        with self._lock:
            self._room = 0

    def write(self, data):
        if os.getpid() != self._own_process:
            os.write(self._fd, data)
            return
        with self._lock:
            kept = data[: self._room]
            self._room -= len(kept)
            self.total += len(data)
            if kept:
                self._wire.send(self._kind, bytes(kept))


class Stream(io.TextIOBase):
    """Stands for `sys.stdout` and `sys.stderr`."""

    encoding = "utf-8"
    errors = Cells.WHOLE

    def __init__(self, sink, fd):
        self._sink, self._fd = sink, fd
        self.buffer = Bytes(sink, fd)

    def writable(self):
        return True

    def write(self, text):
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        for start in range(0, len(text), CHUNK):
            self._sink.write(text[start: start + CHUNK].encode("utf-8", self.errors))
        return len(text)

    def fileno(self):
        return self._fd

    def reconfigure(self, **_):
        """Scripts ask for UTF-8, which it is."""


class Bytes(io.RawIOBase):
    """Stands for `sys.stdout.buffer`."""

    def __init__(self, sink, fd):
        self._sink, self._fd = sink, fd

    def writable(self):
        return True

    def write(self, data):
        view = memoryview(data).cast("B")
        for start in range(0, len(view), CHUNK):
            self._sink.write(bytes(view[start: start + CHUNK]))
        return len(view)

    def fileno(self):
        return self._fd


class Descriptors:
    """Catches what child processes and C code write to the descriptors 1 and 2."""

    def __init__(self, sinks):
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.close(null)
        self._sinks = {}
        for fd, sink in sinks.items():
            read_end, write_end = os.pipe()
            os.set_blocking(read_end, False)
            os.dup2(write_end, fd)
            os.close(write_end)
            self._sinks[read_end] = sink
        self._draining = threading.Lock()
        threading.Thread(target=self._drain_forever, daemon=True).start()

    def drain(self):
        with self._draining:
            for read_end, sink in self._sinks.items():
                try:
                    while data := os.read(read_end, CHUNK):
                        sink.write(data)
                except BlockingIOError:
                    pass

    def _drain_forever(self):
        poll = select.poll()
        for read_end in self._sinks:
            poll.register(read_end, select.POLLIN)
        while True:
            poll.poll()
            self.drain()


class Session:
    def __init__(self, wire, allowed_modules, defined):
        self._wire = wire
        self._out, self._err = Sink(wire, b"o", 1), Sink(wire, b"e", 2)
        self._descriptors = Descriptors({1: self._out, 2: self._err})
        self._streams = Stream(self._out, 1), Stream(self._err, 2)
        main = sys.modules["__main__"] = types.ModuleType("__main__")
        self.names = main.__dict__
        self.names.update(defined)
        self.names["__builtins__"] = builtins
        self._cells = Cells(self.names)
        if allowed_modules is not None:
            allow_modules(self.names, allowed_modules)

    def run(self, code, most_output, **_):
        sys.stdout, sys.stderr = self._streams
        for sink in (self._out, self._err):
            sink.begin(most_output)
        answer = self._cells.run(code, most_output)
        self._descriptors.drain()
        answer["stdout_bytes"], answer["stderr_bytes"] = self._out.total, self._err.total
        for sink in (self._out, self._err):
            sink.end()
        return answer


def watch_engine(wire_fd):
    """Leaves a process behind that kills this group when the engine is gone, whatever the code is doing then, and keeps
    all that the code starts below this process, where it is counted."""
    import signal

    if os.fork():
        adopt_orphans()
        return
    os.close(1)
    os.close(2)
    poll = select.poll()
    poll.register(wire_fd, 0)  # no events asked for: only the end of the pipe is reported
    poll.poll()
    os.killpg(0, signal.SIGKILL)


def adopt_orphans():
    set_child_subreaper = 36
    try:
        import ctypes

        ctypes.CDLL(None).prctl(set_child_subreaper, 1, 0, 0, 0)
    except (ImportError, AttributeError, OSError):
        pass  # then orphans are not counted


def main():
    wire = Wire()
    setup = wire.read()
    if setup["watch"]:
        watch_engine(0)
    session = Session(wire, setup["allowed_modules"], setup["globals"])
    while True:
        command = wire.read()
        if command["op"] == "run":
            answer = session.run(**command)
        elif command["op"] == "save":
            answer = save(session.names, command["most_bytes"])
        else:
            answer = load(session.names, command["snapshot"])
        wire.answer(id=command["id"], **answer)


main()
