"""The worker's loop: loads one file, then runs calls until the engine closes the pipe.

The engine decides how many calls are here at once: sync functions that are not parallel-safe come one at a time, and
whatever comes is begun at once. So every call that reached the worker may have had effects when it dies.
"""
import contextvars
import inspect
import json
import sys
import threading
import traceback

from toolyard_worker import loader
from toolyard_worker.capture import Capture
from toolyard_worker.results import Encoder, Unwritable, exact_json
from toolyard_worker.scalars import Refused
from toolyard_worker.signature import STATE, STREAM
from toolyard_worker.wire import Wire

OWN_FILES = "<toolyard>"


class InnerState:
    """A tool's state: two JSON values that a function may read, change and replace."""

    def __init__(self, state=None, meta_state=None):
        self.state = state
        self.meta_state = meta_state


class Worker:
    def __init__(self, wire, capture):
        self._wire = wire
        self._capture = capture
        self._functions = {}
        self._encoder = Encoder()
        self._largest_reply = 0
        self._pool = None
        self._alone = None
        self._loop = self._loop_thread = None
        self._tasks = {}

    def run(self):
        handlers = {"call": self._on_call, "cancel": self._on_cancel, "load": self._on_load}
        while True:
            frame = self._wire.read()
            if frame is None:
                break
            handlers[frame["op"]](frame)
        # Threads that run while Python shuts down can bring it down.
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._loop_thread.join(timeout=0.2)

    def _on_load(self, frame):
        self._encoder = Encoder(frame["nan"])
        self._largest_reply = frame["largest_reply"]
        try:
            loaded = loader.load(frame["file"], frame["patterns"], frame["parallel_safe"], frame["options"])
        except loader.NotLoaded as error:
            self._send(op="refused", error=str(error), traceback=_trimmed(error.__cause__))
            return
        self._functions = loaded.functions
        functions = loaded.functions.values()
        overlaps = [function for function in functions if function.is_async or function.parallel_safe]
        if any(not function.is_async for function in overlaps):
            self._pool = self._threads(frame["threads"])
        # With calls beside it, a call that must be alone may not hold up the reading of frames.
        if overlaps:
            self._alone = self._threads(1)
        tools = [
            {
                "name": function.name,
                "description": function.description,
                "schema": function.schema,
                "is_async": function.is_async,
                "parallel_safe": function.parallel_safe,
                "takes": sorted(function.takes),
                "state_per_agent": getattr(function.call, "state_scope", "engine") == "agent",
                "initial_state": function.initial_state,
                "excluded": function.excluded,
                "effects": loader.texts(function.call, "effects"),
                "permission_action": getattr(function.call, "permission_action", None),
            }
            for function in functions
        ]
        self._send(op="loaded", tools=tools, problems=loaded.problems)

    @staticmethod
    def _threads(count):
        from concurrent.futures import ThreadPoolExecutor

        return ThreadPoolExecutor(count, thread_name_prefix="toolyard")

    def _on_call(self, frame):
        function = self._functions.get(frame["tool"])
        if function is None:
            self._send(op="ended", id=frame["id"], refused="the file has no such function any more")
        elif function.is_async:
            self._event_loop().call_soon_threadsafe(self._start_task, function, frame)
        else:
            executor = self._pool if function.parallel_safe else self._alone
            run = contextvars.copy_context().run
            if executor is None:
                run(self._run_sync, function, frame)
            else:
                executor.submit(run, self._run_sync, function, frame)

    def _on_cancel(self, frame):
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._cancel_task, frame["id"])

    def _cancel_task(self, call_id):
        task = self._tasks.get(call_id)
        if task is not None:
            task.cancel()

    def _event_loop(self):
        if self._loop is None:
            import asyncio

            self._loop = asyncio.new_event_loop()
            self._loop_thread = threading.Thread(target=self._loop.run_forever, name="toolyard-loop", daemon=True)
            self._loop_thread.start()
        return self._loop

    def _start_task(self, function, frame):
        task = self._loop.create_task(self._run_async(function, frame))
        self._tasks[frame["id"]] = task
        task.add_done_callback(lambda task: self._end_task(task, frame["id"]))

    def _end_task(self, task, call_id):
        del self._tasks[call_id]
        # Here, because a task that is cancelled before its first step runs no code of its own.
        if task.cancelled():
            self._send(op="ended", id=call_id, error="CancelledError")

    def _run_sync(self, function, frame):
        call = Call(self, frame)
        try:
            positional, named = call.bind(function)
            value = function.call(*positional, **named)
            if inspect.iscoroutine(value):  # a lambda over an async function, say
                import asyncio

                value = asyncio.run_coroutine_threadsafe(value, self._event_loop()).result()
        except BaseException as error:
            call.fail(error)
        else:
            call.succeed(value)

    async def _run_async(self, function, frame):
        call = Call(self, frame)
        try:
            positional, named = call.bind(function)
            value = function.call(*positional, **named)
            value = await value if inspect.isawaitable(value) else value
        except Exception as error:
            call.fail(error)
        except BaseException as error:
            if type(error).__name__ == "CancelledError":
                call.drop()
                raise
            call.fail(error)
        else:
            call.succeed(value)

    def _send(self, **frame):
        self._wire.send(json.dumps(frame, ensure_ascii=False))


class Call:
    """One running call."""

    def __init__(self, worker, frame):
        self._worker = worker
        self._frame = frame
        self._state = None
        self._printed = worker._capture.begin()

    def bind(self, function):
        extra = {}
        if STATE in function.takes:
            self._state = extra[STATE] = InnerState(**(self._frame.get("state") or {}))
        if STREAM in function.takes:
            extra[STREAM] = self.stream
        return function.bind(self._frame["args"], extra)

    def stream(self, payload):
        """Sends a piece of progress: what user code knows as `stream_writer`."""
        text, _ = self._worker._encoder.encode(payload)
        self._worker._wire.send(f'{{"op":"progress","id":{self._frame["id"]},"payload":{text}}}')

    def succeed(self, value):
        try:
            text, notes = self._worker._encoder.encode(value)
            if len(text) > self._worker._largest_reply:
                raise Unwritable(f"the result is {len(text)} characters long, over the limit for one reply")
            state = self._state_text()
        except BaseException as error:
            self.fail(error)
            return
        printed = self._worker._capture.end(self._printed)
        reply = f'{{"op":"ended","id":{self._frame["id"]},"value":{text}'
        if state:
            reply += f',"state":{state}'
        if notes:
            reply += f',"notes":{json.dumps(notes)}'
        if printed:
            reply += f',"printed":{json.dumps(printed)}'
        self._worker._wire.send(reply + "}")

    def _state_text(self):
        if self._state is None:
            return None
        try:
            return exact_json({"state": self._state.state, "meta_state": self._state.meta_state})
        except (TypeError, ValueError) as error:
            raise Unwritable(f"the new inner state is not JSON, so the old one stays: {error}") from None

    def drop(self):
        """Ends without an answer."""
        self._worker._capture.end(self._printed)

    def fail(self, error):
        printed = self._worker._capture.end(self._printed)
        frame = {"op": "ended", "id": self._frame["id"], "printed": printed or None}
        if isinstance(error, Refused):
            frame["refused"] = str(error)
        elif isinstance(error, Unwritable):
            frame["error"] = str(error)
        else:
            text = _message(error)
            frame["error"] = f"{type(error).__name__}: {text}" if text else type(error).__name__
            frame["traceback"] = _trimmed(error)
        self._worker._send(**{key: value for key, value in frame.items() if value is not None})


def _message(error):
    try:
        return str(error)
    except Exception:
        return ""


def _trimmed(error):
    """A traceback without the worker's own frames."""
    if error is None:
        return None
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename.startswith(OWN_FILES):
        trace = trace.tb_next
    try:
        return "".join(traceback.format_exception(type(error), error, trace))
    except Exception:
        return None


def main():
    capture = Capture()
    worker = Worker(Wire(capture.engine_in, capture.engine_out), capture)
    worker.run()
    capture.close()
    sys.exit(0)
