"""Frames: two lengths of 4 bytes, a header of JSON, a body of bytes."""

import json
import os
import select
import signal
import sys
import time

TO_HOST = os.dup(1)
LARGEST = 64 << 20


def send(header, body=b""):
    head = json.dumps(header).encode()
    rest = memoryview(b"".join((len(head).to_bytes(4, "big"), len(body).to_bytes(4, "big"), head, body)))
    while rest:
        rest = rest[os.write(TO_HOST, rest):]


def split(buffer):
    """Takes the first whole frame off the buffer; None when it has none."""
    if len(buffer) < 8:
        return None
    head, body = int.from_bytes(buffer[:4], "big"), int.from_bytes(buffer[4:8], "big")
    if head + body > LARGEST:
        raise ValueError("a frame is too long")
    if len(buffer) < 8 + head + body:
        return None
    frame = json.loads(bytes(buffer[8:8 + head])), bytes(buffer[8 + head:8 + head + body])
    del buffer[:8 + head + body]
    return frame


def shown(text):
    """Text that is Unicode in any case: names of files may not be."""
    return text.encode("utf-8", "backslashreplace").decode()
