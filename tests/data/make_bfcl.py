"""Writes call documents made from the data files of the PyPI package bfcl-eval (Apache-2.0) to standard output.

    pip install --no-deps bfcl-eval==2026.3.23
    python make_bfcl.py > bfcl_parallel.jsonl

One line per document: {"id", "tools", "calls"}, tools and calls in the shape of OpenAI's chat API. The calls are the
reference answers of the package's parallel tasks; every second task of each file is taken.
"""
import ast
import importlib.util
import json
import pathlib
import sys

ANSWERED_BY_VALUES = ["parallel", "parallel_multiple", "live_parallel", "live_parallel_multiple"]
ANSWERED_BY_CODE = ["exec_parallel", "exec_parallel_multiple"]
JSON_TYPES = {"dict": "object", "float": "number", "tuple": "array"}
KEPT = ["type", "description", "enum", "required", "items", "properties"]


def main():
    root = pathlib.Path(importlib.util.find_spec("bfcl_eval").submodule_search_locations[0]) / "data"
    unused = root / "unused_datasets"
    tasks = [(root, root, name, calls_of_values) for name in ANSWERED_BY_VALUES]
    tasks += [(unused / "question", unused, name, calls_of_code) for name in ANSWERED_BY_CODE]
    for questions, answers, name, read_calls in tasks:
        file = f"BFCL_v4_{name}.json"
        answer = {row["id"]: row["ground_truth"] for row in rows(answers / "possible_answer" / file)}
        documents = [document(row, read_calls, answer[row["id"]]) for row in rows(questions / file)]
        for doc in [doc for doc in documents if doc][::2]:
            sys.stdout.write(json.dumps(doc, ensure_ascii=False) + "\n")


def rows(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def document(row, read_calls, answer):
    try:
        calls = read_calls(answer)
    except ValueError:  # an answer that is an expression, not values
        return None
    tools = [
        {"type": "function", "function": {"name": f["name"], "description": f["description"], "parameters": schema(f["parameters"])}}
        for f in row["function"]
    ]
    calls = [
        {"id": f"call_{n}", "type": "function", "function": {"name": name, "arguments": json.dumps(args, ensure_ascii=False)}}
        for n, (name, args) in enumerate(calls)
    ]
    return {"id": row["id"], "tools": tools, "calls": calls}


def schema(node):
    """The package's own dialect as JSON Schema."""
    out = {key: value for key, value in node.items() if key in KEPT}
    if out.get("type") in JSON_TYPES:
        out["type"] = JSON_TYPES[out["type"]]
    if out.get("type") == "any":
        del out["type"]
    if "items" in out:
        out["items"] = schema(out["items"])
    if "properties" in out:
        out["properties"] = {name: schema(prop) for name, prop in out["properties"].items()}
    return out


def calls_of_values(answer):
    """Each parameter lists the values that count as right; an empty text stands for "may be left out"."""
    return [(name, first_of_each(params)) for call in answer for name, params in call.items()]


def first_of_each(params):
    chosen = {name: [value for value in values if value != ""] for name, values in params.items()}
    return {name: nested(values[0]) for name, values in chosen.items() if values}


def nested(value):
    if isinstance(value, dict):
        return first_of_each(value)
    if isinstance(value, list):
        return [nested(item) for item in value]
    return value


def calls_of_code(answer):
    """Each call is a line of Python with keyword arguments."""
    calls = []
    for line in answer:
        call = ast.parse(line, mode="eval").body
        calls.append((ast.unparse(call.func), {kw.arg: ast.literal_eval(kw.value) for kw in call.keywords}))
    return calls


main()
