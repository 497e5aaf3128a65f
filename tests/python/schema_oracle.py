"""Compares schemas and conversions of the worker with pydantic, on generated signatures.

Usage: schema_oracle.py WORKER_FOLDER SIGNATURES SEED. Each signature gets samples that are made to fit and samples
that are broken somewhere. For each sample three judges must agree: our schema (by the jsonschema package), our
conversion, and pydantic in JSON mode without coercion; and where they accept, the converted values must be equal.
Prints the number of signatures and samples, and ends with status 1 at a disagreement.
"""
import dataclasses
import datetime
import decimal
import enum
import importlib.util
import json
import pathlib
import random
import sys
import types
import typing
import uuid

import jsonschema
import pydantic
from annotated_types import Ge, Le, Len, MaxLen, MinLen
from typing_extensions import NotRequired, TypedDict

MODULES = ["exact", "scalars", "results", "docs", "rules", "records", "shapes", "signature"]


def load_worker(folder):
    package = sys.modules["toolyard_worker"] = types.ModuleType("toolyard_worker")
    package.__path__ = []
    for name in MODULES:
        full_name = f"toolyard_worker.{name}"
        spec = importlib.util.spec_from_file_location(full_name, folder / f"{name}.py")
        module = sys.modules[full_name] = importlib.util.module_from_spec(spec)
        setattr(package, name, module)
        spec.loader.exec_module(module)
    return package


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    """Without 0 and 1, for which pydantic takes false and true."""

    LOW = 2
    HIGH = 3


class Mixed(enum.Enum):
    TEXT = "t"
    NUMBER = 3


@dataclasses.dataclass
class Point:
    x: int
    y: float = 0.5
    label: typing.Optional[str] = None


@dataclasses.dataclass
class Line:
    start: Point
    end: Point
    colors: typing.List[Color] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Tree:
    name: str
    children: typing.List["Tree"] = dataclasses.field(default_factory=list)


class Options(TypedDict):
    size: int
    color: NotRequired[Color]


class Partial(TypedDict, total=False):
    a: int
    b: typing.List[str]


class Pair(typing.NamedTuple):
    left: int
    right: str


class Address(pydantic.BaseModel):
    street: str
    number: int = 1
    tags: typing.List[str] = []


class Person(pydantic.BaseModel):
    name: typing.Annotated[str, pydantic.Field(min_length=1)]
    home: Address
    born: typing.Optional[datetime.date] = None


LEAVES = [
    int, float, str, bool, type(None), typing.Any, datetime.date, datetime.datetime, datetime.time,
    datetime.timedelta, uuid.UUID, decimal.Decimal, pathlib.Path, bytes, Color, Level, Mixed, Point, Line, Tree,
    Options, Partial, Pair, Address, Person, list, dict, typing.Literal["a", "b"], typing.Literal[2, "x", None],
    typing.Annotated[int, Ge(1), Le(9)], typing.Annotated[str, MinLen(2), MaxLen(4)],
    typing.Annotated[str, "a text"], typing.Annotated[typing.List[int], Len(1, 3)],
    typing.Annotated[int, pydantic.Field(gt=0, description="positive")],
]
KEYS = [str, int, Color]
HASHABLE = [int, str, bool, Color, datetime.date, typing.Literal["a", "b"]]


def make_type(rng, depth=0):
    if depth >= 3 or rng.random() < 0.5:
        return rng.choice(LEAVES)
    inner = lambda: make_type(rng, depth + 1)
    kind = rng.choice(["list", "dict", "tuple", "tuples", "set", "optional", "union"])
    if kind == "list":
        return typing.List[inner()]
    if kind == "dict":
        return typing.Dict[rng.choice(KEYS), inner()]
    if kind == "tuple":
        return typing.Tuple[tuple(inner() for _ in range(rng.randint(1, 3)))]
    if kind == "tuples":
        return typing.Tuple[inner(), ...]
    if kind == "set":
        return rng.choice([typing.Set, typing.FrozenSet])[rng.choice(HASHABLE)]
    if kind == "optional":
        return typing.Optional[inner()]
    return typing.Union[inner(), inner()]


def sample(rng, hint):
    """A JSON value that fits a type."""
    leaf = {
        int: lambda: rng.choice([0, -3, 7, 10**20]),
        float: lambda: rng.choice([0.5, -2, 3.0]),
        str: lambda: rng.choice(["", "ab", "text"]),
        bool: lambda: rng.choice([True, False]),
        type(None): lambda: None,
        typing.Any: lambda: rng.choice([1, "x", None, [1], {"k": 2}]),
        datetime.date: lambda: "2024-02-29",
        datetime.datetime: lambda: rng.choice(["2024-02-29T12:30:00", "2024-02-29T12:30:00Z", "2024-02-29T12:30:00.25+02:00"]),
        datetime.time: lambda: "12:30:15",
        datetime.timedelta: lambda: rng.choice(["P1DT2H", "PT1.5S", "-P3D"]),
        uuid.UUID: lambda: "12345678-1234-5678-1234-567812345678",
        decimal.Decimal: lambda: rng.choice(["1.50", 2, 0.25]),
        pathlib.Path: lambda: "a/b",
        bytes: lambda: "bytes",
        Color: lambda: rng.choice(["red", "blue"]),
        Level: lambda: rng.choice([2, 3]),
        Mixed: lambda: rng.choice(["t", 3]),
        Point: lambda: rng.choice([{"x": 1}, {"x": 1, "y": 2, "label": None}, {"x": 2, "unknown": 1}]),
        Line: lambda: {"start": {"x": 1}, "end": {"x": 2, "y": 0.5}, "colors": ["red"]},
        Tree: lambda: {"name": "r", "children": [{"name": "c", "children": [{"name": "g"}]}]},
        Options: lambda: rng.choice([{"size": 1}, {"size": 2, "color": "blue"}]),
        Partial: lambda: rng.choice([{}, {"a": 1}, {"b": ["x"]}]),
        Pair: lambda: [1, "r"],
        Address: lambda: rng.choice([{"street": "s"}, {"street": "s", "number": 2, "tags": ["t"]}]),
        Person: lambda: {"name": "n", "home": {"street": "s"}, "born": rng.choice([None, "2000-01-01"])},
        list: lambda: rng.choice([[], [1, "x"]]),
        dict: lambda: rng.choice([{}, {"k": 1}]),
    }
    if hint in leaf:
        return leaf[hint]()
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Literal:
        return rng.choice(args)
    if hasattr(hint, "__metadata__"):
        if args[0] is int:
            return rng.randint(1, 9)
        if args[0] is str:
            return "abc"
        return [sample(rng, int) for _ in range(rng.randint(1, 3))]
    if origin is typing.Union:
        return sample(rng, rng.choice(args))
    if origin is dict:
        return {sample_key(rng, args[0]): sample(rng, args[1]) for _ in range(rng.randint(0, 2))}
    if origin is tuple and args[-1:] != (...,):
        return [sample(rng, arg) for arg in args]
    return [sample(rng, args[0]) for _ in range(rng.randint(0, 3))]


def sample_key(rng, hint):
    return str(rng.randint(-5, 5)) if hint is int else sample(rng, hint)


# Of a kind that no coercion makes fit: a boolean is never a number here, nor a number a text.
WRONG = [None, True, 5, 2.5, "nonsense", [], ["nonsense"], [None], {}, {"nonsense": 1}, [[]], {"x": "nonsense"}]


def broken(rng, value):
    """A value with one part replaced by something else."""
    if isinstance(value, list) and value and rng.random() < 0.7:
        place = rng.randrange(len(value))
        return value[:place] + [broken(rng, value[place])] + value[place + 1:]
    if isinstance(value, dict) and value and rng.random() < 0.7:
        key = rng.choice(list(value))
        if rng.random() < 0.3:
            return {name: part for name, part in value.items() if name != key}
        return {**value, key: broken(rng, value[key])}
    return rng.choice(WRONG)


def make_function(rng, number):
    """A function with a generated signature that gives its arguments back."""
    hints = {f"p{index}": make_type(rng) for index in range(rng.randint(1, 4))}
    scope = {"hints": hints}
    parts, optional = [], set()
    positional_only = rng.random() < 0.2
    for index, name in enumerate(hints):
        default = ""
        if optional or rng.random() < 0.3:
            optional.add(name)
            default = " = None"
        parts.append(f"{name}: hints[{name!r}]{default}")
        if index == 0 and positional_only:
            parts.append("/")
    if rng.random() < 0.3 and not positional_only:
        parts.insert(len(parts) - 1 if len(parts) > 1 else 0, "*")
    source = f"def function_{number}({', '.join(parts)}):\n    return dict(" + ", ".join(f"{n}={n}" for n in hints) + ")\n"
    exec(source, scope)
    return scope[f"function_{number}"], hints, optional, positional_only


def judge_pydantic(model, names, given):
    # Asked here, because `extra="forbid"` would also hold in the dataclasses that are parameters.
    if not given.keys() <= names:
        return False, None
    try:
        return True, model.validate_json(json.dumps(given), strict=True)
    except pydantic.ValidationError:
        return False, None


def judge_ours(function, refused, given):
    try:
        positional, named = function.bind(given, {})
        return True, function.call(*positional, **named)
    except refused:
        return False, None


def format_checker():
    """Asserts the formats that schemas name, which JSON Schema leaves open, as pydantic reads them."""
    checker = jsonschema.FormatChecker(formats=())
    for name, hint in {
        "date": datetime.date, "date-time": datetime.datetime, "time": datetime.time, "duration": datetime.timedelta,
        "uuid": uuid.UUID,
    }.items():
        validate = pydantic.TypeAdapter(hint).validate_json
        check = lambda value, validate=validate: not isinstance(value, str) or validate(json.dumps(value), strict=True) is not None
        checker.checks(name, raises=pydantic.ValidationError)(check)
    return checker


def main():
    folder, count, seed = pathlib.Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    worker = load_worker(folder)
    rng = random.Random(seed)
    formats = format_checker()
    samples = accepted = disagreements = 0
    for number in range(count):
        call, hints, optional, _ = make_function(rng, number)
        function = worker.signature.Function(call.__name__, call)
        jsonschema.Draft202012Validator.check_schema(function.schema)
        validator = jsonschema.Draft202012Validator(function.schema, format_checker=formats)
        fields = {name: (hint, None if name in optional else ...) for name, hint in hints.items()}
        model = pydantic.TypeAdapter(pydantic.create_model("Arguments", **fields))
        for _ in range(24):
            given = {
                name: sample(rng, hint)
                for name, hint in hints.items()
                if name not in optional or rng.random() < 0.7
            }
            if rng.random() < 0.5:
                given = broken(rng, given) if rng.random() < 0.9 else {**given, "unexpected": 1}
            if not isinstance(given, dict):
                continue
            samples += 1
            by_schema = validator.is_valid(given)
            by_pydantic, theirs = judge_pydantic(model, hints.keys(), given)
            by_us, ours = judge_ours(function, worker.scalars.Refused, given)
            accepted += by_pydantic
            same = by_schema == by_pydantic == by_us
            # Which alternative of a union takes what several accept is a matter of taste.
            if same and by_us and "Union" not in str(hints):
                same = all(getattr(theirs, name) == value for name, value in ours.items())
            if not same:
                disagreements += 1
                print(f"{hints}\n  {json.dumps(given)}\n  schema {by_schema}, pydantic {by_pydantic}, ours {by_us}: "
                      f"{theirs!r} / {ours!r}\n  {json.dumps(function.schema)}")
    print(f"{count} signatures, {samples} samples, {accepted} accepted, {disagreements} disagreements")
    sys.exit(disagreements > 0)


main()
