"""MCP servers that do what no server should. The table of what comes of it is in misbehaving/table.rs.

    misbehaving.py stdio BEHAVIOUR     one server over standard input and output
    misbehaving.py http                one for each address, says its port: /json/BEHAVIOUR and /stream/BEHAVIOUR are
                                       streamable HTTP with JSON and with event streams, /sse/BEHAVIOUR is the old transport

All have a tool `act`, which shows the behaviour if it is about calls.
"""

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

LARGE = 6 * 1024 * 1024  # more than the table lets a server send


def encoded(message):
    return json.dumps({"jsonrpc": "2.0", **message}).encode()


def result(id, value):
    return encoded({"id": id, "result": value})


def text(id, value):
    return result(id, {"content": [{"type": "text", "text": value}]})


def error(id, code, message):
    return encoded({"id": id, "error": {"code": code, "message": message}})


def notice(method, params):
    return encoded({"method": method, "params": params})


LOG = notice("notifications/message", {"level": "info", "data": "m" * 200})
FORM = {"mode": "form", "message": "?", "requestedSchema": {"type": "object", "properties": {}}}
SAMPLE = {"messages": [{"role": "user", "content": {"type": "text", "text": "q"}}], "maxTokens": 5}


def raw_result(id, value):
    """A result as it is written."""
    return b'{"jsonrpc":"2.0","id":%d,"result":%b}' % (id, value)


def asked(method, params):
    return lambda id, _: [encoded({"id": f"q{n}", "method": method, "params": params}) for n in range(60_000)] + [
        text(id, "after")
    ]


def told(message):
    return lambda id, token: [message(token)] * 20_000 + [text(id, "after")]


# What comes as the answer to a call: messages, of which not all are such.
ANSWERS = {
    "fine": lambda id, _: [text(id, "fine")],
    "nan": lambda id, _: [raw_result(id, b'{"content":[],"structuredContent":{"x":NaN}}')],
    "surrogate": lambda id, _: [raw_result(id, b'{"content":[{"type":"text","text":"a\\ud83db"}]}')],
    "bad_utf8": lambda id, _: [raw_result(id, b'{"content":[{"type":"text","text":"a\xff\xfeb"}]}')],
    "raw_tab": lambda id, _: [raw_result(id, b'{"content":[{"type":"text","text":"a\tb"}]}')],
    "mark": lambda id, _: [b"\xef\xbb\xbf" + text(id, "fine")],
    "text_before": lambda id, _: [b"debug: " + text(id, "fine")],
    "two_on_a_line": lambda id, _: [LOG + b" " + text(id, "fine")],
    "deep": lambda id, _: [raw_result(id, b'{"content":[],"structuredContent":{"x":' + b"[" * 300 + b"]" * 300 + b"}}")],
    "very_deep": lambda id, _: [raw_result(id, b'{"content":[],"structuredContent":{"x":' + b"[" * 90_000 + b"]" * 90_000 + b"}}")],
    "many_blocks": lambda id, _: [raw_result(id, b'{"content":[' + b'{"type":"text","text":""},' * 150_000 + b'{"type":"text","text":""}]}')],
    "too_large": lambda id, _: [text(id, "x" * LARGE)],
    "twice": lambda id, _: [text(id, "fine"), text(id, "again")],
    "foreign_id": lambda _, __: [text(99_999, "wrong")],
    "id_as_text": lambda id, _: [text(str(id), "fine")],
    "no_id": lambda _, __: [error(None, -32000, "who is it for")],
    "unknown_block": lambda id, _: [result(id, {"content": [{"type": "hologram", "data": 1}, {"type": "text", "text": "t"}]})],
    "text_null": lambda id, _: [result(id, {"content": [{"type": "text", "text": None}, {"type": "text", "text": "t"}]})],
    "structured_null": lambda id, _: [result(id, {"content": [{"type": "text", "text": "fine"}], "structuredContent": None})],
    "failed_silently": lambda id, _: [result(id, {"content": [], "isError": True})],
    "a_task": lambda id, _: [result(id, {"task": {"taskId": "t", "status": "working", "createdAt": "2026-01-01T00:00:00Z", "lastUpdatedAt": "2026-01-01T00:00:00Z", "ttl": None}})],
    "content_no_list": lambda id, _: [result(id, {"content": "no list"})],
    "empty_result": lambda id, _: [result(id, {})],
    "result_text": lambda id, _: [result(id, "text")],
    "result_null": lambda id, _: [result(id, None)],
    "neither": lambda id, _: [encoded({"id": id})],
    "error_text": lambda id, _: [encoded({"id": id, "error": "boom"})],
    "refused": lambda id, _: [error(id, -32602, "no such place")],
    "batch": lambda id, _: [b"[" + text(id, "fine") + b"]"],
    "logs": told(lambda _: LOG),
    "steps": told(lambda token: notice("notifications/progress", {"progressToken": token, "progress": 1})),
    "changes": told(lambda _: notice("notifications/tools/list_changed", {})),
    "nonsense": told(lambda _: notice("notifications/nonsense", {"a": "b" * 200})),
    "pings": asked("ping", {}),
    "samples": asked("sampling/createMessage", SAMPLE),
    "questions": asked("elicitation/create", FORM),
    "roots": asked("roots/list", {}),
}


def deep_schema():
    schema = {"type": "object"}
    for _ in range(400):
        schema = {"type": "object", "properties": {"x": schema}}
    return schema


ACT = {"name": "act", "inputSchema": {"type": "object"}}
ODD = [{"inputSchema": {}}, {"name": "a"}, {"name": "b", "inputSchema": "s"}, {"name": "c", "inputSchema": {}, "description": 5}, 7]
ILL = {"name": "ill", "inputSchema": {"type": "objekt"}}
LISTS = {
    "odd_tools": {"tools": [*ODD, ACT]},
    "ill_schema": {"tools": [ILL, ACT]},
    "same_names": {"tools": [ACT, {**ACT, "description": "second"}]},
    "deep_schema": {"tools": [ACT, {"name": "deep", "inputSchema": deep_schema()}]},
    "many_tools": {"tools": [{"name": f"t{n}", "inputSchema": {"type": "object"}} for n in range(3000)] + [ACT]},
    "circle": {"tools": [ACT], "nextCursor": "again"},
    "empty_cursor": {"tools": [ACT], "nextCursor": ""},
    "cursor_number": {"tools": [ACT], "nextCursor": 5},
    "tools_null": {"tools": None},
    "tools_text": {"tools": "none"},
    "list_of_other": {"prompts": []},
    "large_list": {"tools": [{**ACT, "description": "x" * LARGE}]},
}


def answers(behaviour, message):
    """What is said to a message; `None`: nothing."""
    id, method = message.get("id"), message.get("method")
    if method == "initialize":
        if behaviour == "silent_start":
            return None
        if behaviour == "error_at_start":
            return [error(id, -32000, "licence expired")]
        if behaviour == "start_misshapen":
            return [result(id, {"hello": 1})]
        version = {"old_version": "1999-01-01", "version_number": 20250101}.get(behaviour, "2025-11-25")
        about = {"protocolVersion": version, "capabilities": {"tools": {"listChanged": True}}, "serverInfo": {"name": "m", "version": "1"}}
        return [LOG, result(id, about)] if behaviour == "log_at_start" else [result(id, about)]
    if method == "tools/list":
        if behaviour == "list_refused":
            return [error(id, -32603, "database is down")]
        return [result(id, LISTS.get(behaviour, {"tools": [ACT]}))]
    if method == "tools/call":
        token = (message["params"].get("_meta") or {}).get("progressToken")
        return ANSWERS.get(behaviour, ANSWERS["fine"])(id, token)
    if id is None or method is None:
        return []
    return [result(id, {})] if method == "ping" else [error(id, -32601, "unknown")]


# Standard input and output.


def out(data):
    view = memoryview(data)
    while view:
        view = view[os.write(1, view) :]


def endless(first, piece, stream=1):
    os.write(stream, first)
    while True:
        os.write(stream, piece)


def begin_process(behaviour):
    if behaviour == "exit_at_start":
        os.write(2, b"no key is set\n")
        os._exit(3)
    if behaviour == "garbage_at_start":
        out(b"Welcome!\n{broken\n\x00\xff\xfe\n[]\n\n")
    if behaviour == "endless_start":
        endless(b"", b"x" * 65536)
    if behaviour == "ignores_the_end":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if behaviour == "forks":
        for _ in range(3):
            subprocess.Popen(["sh", "-c", "trap '' TERM HUP; while :; do sleep 1; done"])
    if behaviour == "endless_errors":
        threading.Thread(target=endless, args=(b"", b"e" * 65536, 2), daemon=True).start()


def act_as_process(behaviour, id):
    """What a process can do instead of an answer."""
    begun = b'{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"' % id
    if behaviour == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if behaviour == "exits":
        os._exit(0)
    if behaviour == "exits_midway":
        out(begun)
        os._exit(0)
    if behaviour == "closes_output":
        os.close(1)
        time.sleep(1000)
    if behaviour == "endless_line":
        endless(begun, b"z" * 65536)
    if behaviour == "no_last_newline":
        out(text(id, "fine"))
        os._exit(0)
    if behaviour == "silent":
        return True
    return False


def serve_stdio(behaviour):
    begin_process(behaviour)
    calls = 0
    for line in sys.stdin.buffer:
        message = json.loads(line)
        if message.get("method") == "tools/call":
            calls += 1
            if behaviour == "stops_reading" and calls == 1:
                out(text(message["id"], "fine") + b"\n")
                time.sleep(1000)
            if act_as_process(behaviour, message["id"]):
                continue
        out(b"".join(answer + b"\n" for answer in answers(behaviour, message) or []))
    if behaviour == "ignores_the_end":
        time.sleep(1000)


# HTTP. Statuses and headers that come instead of an answer to a call.

JSON = "application/json"
NO_ID = json.dumps({"jsonrpc": "2.0", "error": {"code": -32000, "message": "no such session"}, "id": None})
PAGE = "<html><title>Log in</title></html>"
HTTP = {
    "accepted": (202, {}, ""),
    "no_content": (204, {}, ""),
    "bad_request": (400, {"content-type": JSON}, NO_ID),
    "who_are_you": (401, {"www-authenticate": 'Bearer realm="x"'}, ""),
    "forbidden": (403, {"content-type": "text/plain"}, "not you"),
    "not_found": (404, {"content-type": JSON}, NO_ID),
    "not_allowed": (405, {}, ""),
    "gone": (410, {}, ""),
    "unprocessable": (422, {"content-type": JSON}, NO_ID),
    "too_many": (429, {"retry-after": "7"}, ""),
    "broken": (500, {"content-type": "text/plain"}, "traceback"),
    "bad_gateway": (502, {"content-type": "text/html"}, PAGE),
    "busy": (503, {}, ""),
    "busy_for_now": (503, {"retry-after": "7"}, ""),
    "moved": (301, {"location": "/json/fine"}, ""),
    "found": (302, {"location": "/json/fine"}, ""),
    "see_other": (303, {"location": "/json/fine"}, ""),
    "same_307": (307, {"location": "/json/fine"}, ""),
    "same_308": (308, {"location": "/json/fine"}, ""),
    "other_307": (307, {"location": "http://127.0.0.1:9/mcp?secret=1"}, ""),
    "login_page": (200, {"content-type": "text/html"}, PAGE),
    "plain_text": (200, {"content-type": "text/plain"}, "fine"),
    "no_type": (200, {}, "fine"),
    "no_json": (200, {"content-type": JSON}, "{broken"),
    "empty_json": (200, {"content-type": JSON}, ""),
}


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 100
    sessions: dict = {}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, headers, body=b""):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def event(self, data, kind=None):
        lines = [b"event: " + kind] if kind else []
        lines += [b"data: " + line for line in data.split(b"\n")]
        self.wfile.write(b"\n".join(lines) + b"\n\n")

    def do_GET(self):
        way, behaviour = self.path.split("?")[0].strip("/").split("/")
        if way != "sse":
            return self.answer(405, {})
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        session, events = str(id(self)), queue.Queue()
        self.server.sessions[session] = events
        if behaviour == "no_endpoint":
            self.event(b"/nowhere", b"other")
        elif behaviour == "endpoint_elsewhere":
            self.event(b"http://127.0.0.1:9/x", b"endpoint")
        elif behaviour == "endpoint_garbage":
            self.event(b"http://[", b"endpoint")
        else:
            self.event(f"/sse/{behaviour}?session={session}".encode(), b"endpoint")
        try:
            while (data := events.get(timeout=120)) is not None:
                self.event(data, b"message")
        except (OSError, queue.Empty):
            pass
        self.close_connection = True

    def do_DELETE(self):
        self.answer(200, {})

    def do_POST(self):
        path, _, query = self.path.partition("?")
        way, behaviour = path.strip("/").split("/")
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if message.get("method") == "tools/call":
            if behaviour in HTTP:
                status, headers, body = HTTP[behaviour]
                return self.answer(status, headers, body.encode())
            if behaviour == "closes":
                self.close_connection = True
                return None
        said = answers(behaviour, message)
        if way == "sse":
            self.answer(202, {})
            for one in said or []:
                self.server.sessions[query.removeprefix("session=")].put(one)
            return None
        if said is None:
            return time.sleep(100)
        if not said:
            return self.answer(202, {})
        is_call = message.get("method") == "tools/call"
        if is_call and behaviour == "half":
            self.send_response(200)
            self.send_header("content-type", JSON)
            self.send_header("content-length", "1000")
            self.end_headers()
            self.wfile.write(said[0][:20])
            self.close_connection = True
            return None
        if way == "json":
            kind = "Application/JSON; charset=UTF-8" if behaviour == "shouting_type" else JSON
            return self.answer(200, {"content-type": kind}, said[0] if is_call else said[-1])
        self.send_response(200)
        self.send_header("content-type", "Text/Event-Stream" if behaviour == "shouting_type" else "text/event-stream")
        self.end_headers()
        self.close_connection = True
        if is_call and behaviour == "ends_early":
            return None
        try:
            for one in said:
                self.event(one)
        except OSError:
            pass


if sys.argv[1] == "stdio":
    serve_stdio(sys.argv[2])
else:
    server = Server(("127.0.0.1", 0), Handler)
    print(server.server_address[1], flush=True)
    server.serve_forever()
