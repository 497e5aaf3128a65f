"""The API classes of the PyPI package bfcl-eval as a tools file: a task's objects, with their methods as functions.

BFCL_TASK names a JSON file with the task's `classes` and `initial_config`. Run as a program, with the number of tasks
to leave out between two, it prints documents for the test: each with the calls of a task by turn, the results that the
package's own classes give when the calls run one after another here, and the state they end in.
"""
import ast
import copy
import importlib
import importlib.util
import inspect
import json
import os
import pathlib
import sys

_SOURCES = "bfcl_eval.eval_checker.multi_turn_eval.func_source_code"
_MODULES = {
    "GorillaFileSystem": "gorilla_file_system",
    "MathAPI": "math_api",
    "MessageAPI": "message_api",
    "TicketAPI": "ticket_api",
    "TradingBot": "trading_bot",
    "TravelAPI": "travel_booking",
    "TwitterAPI": "posting_api",
    "VehicleControlAPI": "vehicle_control",
}


def _objects(task):
    objects = []
    for name in task["classes"]:
        made = getattr(importlib.import_module(f"{_SOURCES}.{_MODULES[name]}"), name)()
        if hasattr(made, "_load_scenario"):
            made._load_scenario(copy.deepcopy(task["initial_config"].get(name, {})))
        objects.append(made)
    return objects


def _methods(objects):
    return {
        name: method
        for made in objects
        for name, method in inspect.getmembers(made, inspect.ismethod)
        if not name.startswith("_")
    }


def _plain(value, above=()):
    """A value as JSON: objects as their variables, without random generators, clock times and parents."""
    if id(value) in above:
        return "above"
    above = (*above, id(value))
    if isinstance(value, dict):
        return {str(key): _plain(part, above) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(part, above) for part in value]
    if isinstance(value, (set, frozenset)):
        return sorted(map(str, value))
    if hasattr(value, "__dict__"):
        kept = {key: part for key, part in vars(value).items() if "random" not in key and "modified" not in key}
        return _plain(kept, above)
    return value if isinstance(value, (str, int, float, type(None))) else str(value)


def _state(objects):
    return {type(made).__name__: _plain(made) for made in objects}


def _rows(name):
    data = pathlib.Path(importlib.util.find_spec("bfcl_eval").submodule_search_locations[0]) / "data"
    with open(data / name, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def _call(source, methods):
    """A call that is written in Python, as name and named arguments; None when it is more than that."""
    node = ast.parse(source, mode="eval").body
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or node.func.id not in methods:
        return None
    try:
        given = [ast.literal_eval(arg) for arg in node.args]
        named = {keyword.arg: ast.literal_eval(keyword.value) for keyword in node.keywords}
        bound = inspect.signature(methods[node.func.id]).bind(*given, **named)
    except (ValueError, TypeError):
        return None
    return {"name": node.func.id, "arguments": dict(bound.arguments)}


def _result(methods, call):
    """As JSON at once: a later call may change what this one gave."""
    return json.loads(json.dumps(methods[call["name"]](**copy.deepcopy(call["arguments"]))))


def _document(task):
    objects = _objects(task)
    methods = _methods(objects)
    turns = [[_call(source, methods) for source in turn] for turn in task["ground_truth"]]
    if any(call is None for turn in turns for call in turn):
        return None
    try:
        expected = [[_result(methods, call) for call in turn] for turn in turns]
    except Exception:  # a call that its own class does not take
        return None
    return {**task, "turns": turns, "expected": expected, "state": json.dumps(_state(objects), sort_keys=True)}


def _main():
    answers = {row["id"]: row["ground_truth"] for row in _rows("possible_answer/BFCL_v4_multi_turn_base.json")}
    tasks = [
        {
            "id": row["id"],
            "classes": row["involved_classes"],
            "initial_config": row["initial_config"],
            "ground_truth": answers[row["id"]],
        }
        for row in _rows("BFCL_v4_multi_turn_base.json")
    ]
    for task in tasks[:: int(sys.argv[1]) + 1]:
        document = _document(task)
        if document:
            print(json.dumps(document))


if "BFCL_TASK" in os.environ:
    with open(os.environ["BFCL_TASK"], encoding="utf-8") as _file:
        _task_objects = _objects(json.load(_file))
    globals().update(_methods(_task_objects))
    __all__ = [*_methods(_task_objects), "task_state"]

    def task_state() -> str:
        """The state of the task's objects."""
        return json.dumps(_state(_task_objects), sort_keys=True)


if __name__ == "__main__":
    _main()
