"""A small MCP server without an SDK that wants things of its client, in both forms of the protocol.

    asking_server.py sessions | stateless

It writes what it hears of to the file that NOTES names, one JSON value a line.
"""

import json
import os
import sys

HAS_SESSIONS = sys.argv[1] == "sessions"
TOOLS = ["ask", "ask_twice", "ask_both", "model", "where", "wait", "say", "touch", "later", "flood"]
OFFERS = {"tools": {}, "resources": {"subscribe": True}, "completions": {}, "logging": {}}
US = {"name": "asking", "version": "1"}
NAME = {"type": "object", "properties": {"name": {"type": "string"}, "title": {"type": "string", "default": "Dr"}}, "required": ["name"]}

waiting = {}  # our own requests: what to do with the answer
listening = []  # the ids of subscriptions


def send(message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def note(value):
    with open(os.environ["NOTES"], "a") as notes:
        notes.write(json.dumps(value) + "\n")


def elicit(message):
    return {"method": "elicitation/create", "params": {"mode": "form", "message": message, "requestedSchema": NAME}}


SAMPLE = {
    "method": "sampling/createMessage",
    "params": {"messages": [{"role": "user", "content": {"type": "text", "text": "2+2?"}}], "maxTokens": 9},
}
ROOTS = {"method": "roots/list", "params": {}}
# What each tool wants before it answers, in turn.
WANTS = {
    "ask": [{"who": elicit("Who are you?")}],
    "ask_twice": [{"who": elicit("Who are you?")}, {"who": elicit("Who else?")}],
    "ask_both": [{"one": elicit("The first?"), "two": elicit("The second?")}],
    "model": [{"model": SAMPLE}],
    "where": [{"roots": ROOTS}],
}


def text(value):
    return {"content": [{"type": "text", "text": json.dumps(value)}], "resultType": "complete"}


def answer(id, result):
    send({"id": id, "result": result})


def call(id, name, params):
    if name == "wait":
        note("waiting")
        return
    if name == "later":  # the client hears of the answer when it sends the next line
        waiting["later"] = lambda: answer(id, text("later"))
        return
    if name == "say":
        level = params["_meta"].get("io.modelcontextprotocol/logLevel")
        send({"method": "notifications/message", "params": {"level": "error", "logger": "l", "data": {"at": level}}})
        return answer(id, text("said"))
    if name == "touch":
        updated = {"uri": "res://x"}
        for subscription in listening:
            send(changed("notifications/resources/updated", updated, subscription))
        if HAS_SESSIONS:
            send({"method": "notifications/resources/updated", "params": updated})
        return answer(id, text("touched"))
    if name == "flood":  # asks without end and waits for nothing
        for n in range(500):
            waiting[f"flood{n}"] = lambda value: None
            send({"id": f"flood{n}", **elicit("Flood?")})
        return answer(id, text("flooded"))
    wants = WANTS[name]
    if HAS_SESSIONS:
        note(f"{name} begins")
        return turn(id, wants, [])
    state = json.loads(params.get("requestState") or "[]")
    if "inputResponses" in params:
        state.append(params["inputResponses"])
    if len(state) < len(wants):
        send_back = {"resultType": "input_required", "inputRequests": wants[len(state)]}
        return answer(id, {**send_back, "requestState": json.dumps(state)})
    answer(id, text(state))


def turn(id, wants, had):
    """Asks for what is wanted next by requests of our own, or answers."""
    if len(had) == len(wants):
        return answer(id, text(had))
    answers = {}

    def take(key, value):
        answers[key] = value
        if len(answers) == len(wants[len(had)]):
            turn(id, wants, [*had, answers])

    for key, request in wants[len(had)].items():
        own = f"own{len(waiting)}"
        waiting[own] = lambda value, key=key: take(key, value)
        send({"id": own, **request})


def changed(method, params, subscription):
    meta = {"io.modelcontextprotocol/subscriptionId": subscription}
    return {"method": method, "params": {**params, "_meta": meta}}


def listen(id, params):
    wanted = params["notifications"]
    note({"listen": wanted})
    listening.append(id)
    send(changed("notifications/subscriptions/acknowledged", {"notifications": wanted}, id))


def handle(message):
    method, id, params = message["method"], message["id"], message.get("params") or {}
    if method == "initialize":
        note({"client": params["capabilities"]})
        return answer(id, {"protocolVersion": "2025-11-25", "capabilities": OFFERS, "serverInfo": US})
    if method == "server/discover" and not HAS_SESSIONS:
        known = {"supportedVersions": ["2026-07-28"], "capabilities": OFFERS, "resultType": "complete"}
        return answer(id, {**known, "ttlMs": 0, "cacheScope": "private"})
    if method == "tools/list":
        tools = [{"name": name, "inputSchema": {"type": "object"}} for name in TOOLS]
        return answer(id, {"tools": tools, "resultType": "complete", "ttlMs": 0, "cacheScope": "private"})
    if method == "resources/templates/list":
        templates = [{"name": "file", "uriTemplate": "res://{a}"}]
        listed = {"resourceTemplates": templates, "resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
        return answer(id, listed)
    if method == "tools/call":
        return call(id, params["name"], params)
    if method == "completion/complete":
        values = [params["argument"]["value"] + "on", json.dumps(params.get("context"))]
        return answer(id, {"completion": {"values": values}, "resultType": "complete"})
    if method in ("resources/subscribe", "resources/unsubscribe", "logging/setLevel"):
        note({method: params.get("uri") or params.get("level")})
        return answer(id, {})
    if method == "subscriptions/listen":
        return listen(id, params)
    send({"id": id, "error": {"code": -32601, "message": f"no {method}"}})


for line in sys.stdin:
    message = json.loads(line)
    if "method" not in message:
        given = message.get("result", message.get("error"))
        note({"answer": given})
        waiting[message["id"]](given)
    elif "id" in message:
        handle(message)
    elif message["method"] == "notifications/cancelled":
        note({"cancelled": message["params"]["requestId"]})
        if message["params"]["requestId"] in listening:
            listening.remove(message["params"]["requestId"])
    if "later" in waiting and message.get("method") != "tools/call":
        waiting.pop("later")()
