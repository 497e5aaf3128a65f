"""A small MCP server without an SDK, for what a well-behaved server never does.

    server.py [dies | silent | paged | circle | odd | broken | slow] [NAME-OF-AN-EXTRA-TOOL]

It notes the ids of cancelled requests in the file that NOTES names.
"""

import json
import os
import sys
import threading
import time

KIND = sys.argv[1] if len(sys.argv) > 1 else "plain"
TOOLS = {
    "echo": {},
    "pid": {"readOnlyHint": True},
    "crash": {},
    "wait": {},
    "big": {},
    "noise": {},
    "steps": {},
    "grow": {},
    "content": {},
    "refuse": {},
    "gate": {},
    "deafen": {},
    "variable": {},
    "note": {},
    "stumble": {"idempotentHint": True},
    **{name: {} for name in sys.argv[2:]},
}
OUT = threading.Lock()
DEAF = threading.Event()


def send(message):
    with OUT:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()


def tool(name):
    return {"name": name, "inputSchema": {"type": "object"}, "annotations": TOOLS[name]}


def listed(cursor):
    names = list(TOOLS)
    if KIND == "odd":
        odd = {"name": "odd", "inputSchema": {"type": "object", "properties": {"a": {"type": "no-such-type"}}}}
        return {"tools": [odd, tool("echo"), tool("echo")]}
    if KIND == "broken":
        entries = [
            {"name": "none"},
            {"name": "null", "inputSchema": None},
            {"name": "true", "inputSchema": True},
            {"name": "number", "inputSchema": {}, "description": 5},
            {"name": "hint", "inputSchema": {}, "annotations": {"readOnlyHint": "yes"}},
            {"inputSchema": {}},
            "text",
        ]
        return {"tools": [tool("pid"), *entries, tool("echo")]}
    if KIND == "slow":
        return None
    if KIND not in ("paged", "circle"):
        return {"tools": [tool(name) for name in names]}
    at = int(cursor or 0)
    page = {"tools": [tool(name) for name in names[at : at + 4]]}
    if KIND == "circle":
        page["nextCursor"] = "4"
    elif at + 4 < len(names):
        page["nextCursor"] = str(at + 4)
    return page


def text(value):
    return {"content": [{"type": "text", "text": str(value)}]}


def gated(request, path):
    "Answers when there is a file."
    while not os.path.exists(path):
        time.sleep(0.005)
    send({"id": request["id"], "result": text("open")})


def called(request, name, given):
    if name == "crash":
        os._exit(3)
    if name == "wait":
        return None
    if name == "gate":
        threading.Thread(target=gated, args=(request, given["file"]), daemon=True).start()
        return None
    if name == "deafen":
        DEAF.set()
    if name == "note":
        file = os.open(os.environ["NOTES"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.write(file, f"{given['text']}\n".encode())
        os.close(file)
    if name == "stumble":
        is_first = not os.path.exists(given["file"])
        with open(given["file"], "a") as file:
            file.write("here\n")
        if is_first:
            os._exit(3)
    if name == "variable":
        return text(os.environ.get(given["name"], ""))
    if name == "big":
        return text("x" * given["bytes"])
    if name == "noise":
        with OUT:
            os.write(1, b"no message\n\xff\xfe\n{\"jsonrpc\": \n[]\n")
        return text("done")
    if name == "steps":
        token = request["params"]["_meta"]["progressToken"]
        for step in range(given["steps"]):
            progress = {"progressToken": token, "progress": step + 1, "message": f"step {step + 1}"}
            send({"method": "notifications/progress", "params": progress})
        return text("done")
    if name == "grow":
        TOOLS["grown"] = {}
        send({"method": "notifications/tools/list_changed"})
        return text("grown")
    if name == "content":
        return given
    return text(os.getpid() if name == "pid" else given.get("text", name))


def answer(request):
    method, params = request["method"], request.get("params") or {}
    if method == "initialize":
        offers = {"tools": {"listChanged": True}, "prompts": {}, "resources": {}}
        us = {"name": "server.py", "version": "1"}
        return {"protocolVersion": "2025-06-18", "capabilities": offers, "serverInfo": us}
    if method == "tools/list":
        return listed(params.get("cursor"))
    if method == "prompts/get":
        words = " ".join([params["name"], *params.get("arguments", {}).values()])
        return {"messages": [{"role": "user", "content": {"type": "text", "text": words}}]}
    if method == "resources/read" and params["uri"] != "res://none":
        return {"contents": [{"uri": params["uri"], "text": "read"}]}
    if method == "prompts/list":
        return {"prompts": [{"name": "ask"}]}
    if method == "tools/call" and params["name"] != "refuse":
        return called(request, params["name"], params.get("arguments") or {})
    raise LookupError(f"no {method}")


def main():
    if KIND == "dies":
        sys.exit("a reason to die")
    for line in sys.stdin:
        request = json.loads(line)
        if KIND == "silent" or DEAF.is_set():
            continue
        if request.get("method") == "notifications/cancelled":
            with open(os.environ["NOTES"], "a") as notes:
                notes.write(f"{request['params']['requestId']}\n")
        if "id" not in request or "method" not in request:
            continue
        try:
            result = answer(request)
        except LookupError as error:
            send({"id": request["id"], "error": {"code": -32601, "message": str(error)}})
        else:
            if result is not None:
                send({"id": request["id"], "result": result})


main()
