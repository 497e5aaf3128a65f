"""Frames between engine and worker: four bytes of length, then JSON."""
import json
import os
import threading

from toolyard_worker.exact import with_long_integers

LENGTH_BYTES = 4
_decode = json.JSONDecoder().decode  # what `json.loads` finds out first, we know


class Wire:
    """Reads frames on one thread, sends them from any."""

    def __init__(self, read_fd, write_fd):
        self._reader = open(read_fd, "rb", buffering=1 << 16)
        self._write_fd = write_fd
        self._sending = threading.Lock()
        # A forked child must not answer for its parent, nor keep the pipe open after it. (Registered without `self`,
        # whose end while Python shuts down crashes Python 3.9.)
        os.register_at_fork(after_in_child=lambda: [os.close(fd) for fd in (read_fd, write_fd)])

    def read(self):
        """The next frame, or None at the end of the pipe."""
        head = self._reader.read(LENGTH_BYTES)
        if len(head) < LENGTH_BYTES:
            return None
        size = int.from_bytes(head, "big")
        body = self._reader.read(size)
        return with_long_integers(_decode, body.decode("utf-8")) if len(body) == size else None

    def send(self, text):
        """Sends one frame of JSON text."""
        body = text.encode("utf-8", "replace")
        frame = len(body).to_bytes(LENGTH_BYTES, "big") + body
        with self._sending:
            written = os.write(self._write_fd, frame)
            while written < len(frame):
                written += os.write(self._write_fd, memoryview(frame)[written:])
