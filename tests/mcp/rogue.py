"""A server that writes what a test wants, over any link.

    rogue.py stdio
    rogue.py json | events | old PORT

`raw` answers with the text `line`, of which each character is one byte and `@` the id of the call. `flood` writes one message
so often and reads nothing meanwhile. `endless` begins an answer that never ends. `blocks` answers with so many empty blocks.
`deaf` reads nothing any more after its answer, `work` for some seconds before it. `hang` is never answered.
"""

import json
import os
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

LINK = sys.argv[1]
TOOLS = ["raw", "flood", "endless", "blocks", "deaf", "work", "hang", "pid", "echo"]
DEEP = {}
for _ in range(400):
    DEEP = {"type": "object", "properties": {"x": DEEP}}
FLOODS = {
    "ping": {"method": "ping"},
    "roots": {"method": "roots/list"},
    "sampling": {
        "method": "sampling/createMessage",
        "params": {"messages": [{"role": "user", "content": {"type": "text", "text": "q" * 1000}}], "maxTokens": 5},
    },
    "question": {
        "method": "elicitation/create",
        "params": {"mode": "form", "message": "q" * 1000, "requestedSchema": {"type": "object", "properties": {}}},
    },
    "log": {"method": "notifications/message", "params": {"level": "info", "data": "m" * 500}},
    "progress": {"method": "notifications/progress", "params": {"progressToken": "t", "progress": 1, "message": "p" * 300}},
    "changed": {"method": "notifications/tools/list_changed"},
}


def result(request, value):
    return json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": value}).encode()


def text(request, value):
    return result(request, {"content": [{"type": "text", "text": str(value)}]})


def answers(request):
    """The pieces of what is written for a request; `None` ends a message."""
    method = request.get("method")
    if method == "initialize":
        us = {"name": "rogue", "version": "1"}
        capabilities = {"tools": {"listChanged": True}}
        yield result(request, {"protocolVersion": "2025-06-18", "capabilities": capabilities, "serverInfo": us})
        yield None
    elif method == "tools/list":
        tools = [{"name": name, "inputSchema": {"type": "object"}} for name in TOOLS]
        yield result(request, {"tools": [*tools, {"name": "deep", "inputSchema": DEEP}]})
        yield None
    elif method == "tools/call":
        yield from called(request, request["params"]["name"], request["params"].get("arguments") or {})
    elif method and "id" in request:
        yield json.dumps({"jsonrpc": "2.0", "id": request["id"], "error": {"code": -32601, "message": "no"}}).encode()
        yield None


def called(request, name, given):
    if name == "raw":
        yield given["line"].encode("latin-1").replace(b"@", str(request["id"]).encode())
    elif name == "flood":
        message = {"jsonrpc": "2.0", **FLOODS[given["what"]]}
        for number in range(given["times"]):
            if "notifications" not in message["method"]:
                message["id"] = f"f{number}"
            yield json.dumps(message).encode()
            yield None
        yield text(request, "after the flood")
    elif name == "endless":
        yield b'{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"' % request["id"]
        while True:
            yield b"z" * 65536
    elif name == "blocks":
        yield b'{"jsonrpc":"2.0","id":%d,"result":{"content":[' % request["id"]
        block = b'{"type":"text","text":""}'
        for _ in range(given["thousands"]):
            yield (block + b",") * 1000
        yield block + b"]}}"
    elif name == "hang":
        return
    else:
        if name == "work":
            time.sleep(given["s"])
        yield text(request, os.getpid() if name == "pid" else name)
    yield None


def stdio():
    out = sys.stdout.buffer
    for line in sys.stdin.buffer:
        request = json.loads(line)
        for piece in answers(request):
            out.write(b"\n" if piece is None else piece)
            if piece is None:
                out.flush()
        if request.get("params", {}).get("name") == "deaf":
            time.sleep(1000)


class Http(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    streams = []

    def do_GET(self):
        if LINK != "old":
            return self.plain(405)
        self.begin("text/event-stream")
        self.chunk(b"event: endpoint\ndata: /messages\n\n")
        Http.streams.append(self)
        threading.Event().wait()

    def do_DELETE(self):
        self.plain(200)

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if "method" not in request:
            # Nobody reads what is answered here.
            threading.Event().wait()
        if "id" not in request:
            return self.plain(202)
        if LINK == "json":
            body = b"".join(piece for piece in answers(request) if piece is not None)
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
        elif LINK == "events":
            self.begin("text/event-stream")
            self.events(request)
            self.wfile.write(b"0\r\n\r\n")
        else:
            self.plain(202)
            Http.streams[-1].events(request)

    def events(self, request):
        is_begin = True
        for piece in answers(request):
            if piece is None:
                self.chunk(b"\n\n")
            else:
                self.chunk(b"data: " + piece if is_begin else piece)
            is_begin = piece is None

    def begin(self, kind):
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()

    def chunk(self, data):
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

    def plain(self, status):
        self.send_response(status)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


if LINK == "stdio":
    stdio()
else:
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2])), Http).serve_forever()
