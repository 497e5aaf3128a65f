"""Shapes of single values: what JSON is accepted for them, and how it is converted."""
import base64
import datetime
import decimal
import ipaddress
import pathlib
import re
import uuid

JSON_NAMES = {
    type(None): "null", bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object",
}


class Refused(Exception):
    """A value does not fit; `path` leads to it."""

    def __init__(self, reason, path=()):
        super().__init__(reason)
        self.reason = reason
        self.path = list(path)

    def under(self, key):
        self.path.insert(0, key)
        return self

    def __str__(self):
        place = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in self.path).lstrip(".")
        return f"{place}: {self.reason}" if place else self.reason


def refuse(expected, value):
    return Refused(f"expected {expected}, got {JSON_NAMES.get(type(value), type(value).__name__)}")


class Shape:
    """A JSON Schema and the conversion that goes with it.

    `convert` refuses whatever the schema refuses, because a worker can be used without an engine before it, and
    also what a schema cannot say (a date with a month 13).
    """

    __slots__ = ("schema", "convert", "known")

    def __init__(self, schema, convert, known=None):
        self.schema = schema
        self.convert = convert
        self.known = known  # field names, for shapes that are objects


def _any(value):
    return value


def _integer(value):
    if type(value) is int:
        return value
    # As JSON Schema has it, 1.0 is an integer.
    if type(value) is float and value.is_integer():
        return int(value)
    raise refuse("an integer", value)


def _number(value):
    # An integer stays one, and so exact: Python takes it wherever it takes a float.
    if type(value) not in (int, float):
        raise refuse("a number", value)
    return value


def _exactly(kind, expected):
    def convert(value):
        if type(value) is not kind:
            raise refuse(expected, value)
        return value

    return convert


_DECIMAL = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"


def _decimal(value):
    if type(value) not in (int, float, str):
        raise refuse("a number or a number as text", value)
    if not re.match(_DECIMAL, str(value)):
        raise Refused("the text is not a number")
    return decimal.Decimal(str(value))


def _text(expected, parse):
    def convert(value):
        if type(value) is not str:
            raise refuse(f"{expected} as text", value)
        try:
            return parse(value)
        except (ValueError, OverflowError, re.error):
            raise Refused(f"the text is not {expected}") from None

    return convert


def _utc(text):
    """Python before 3.11 does not read the Z of a time in UTC."""
    return re.sub(r"[Zz]$", "+00:00", text)


_DURATION = re.compile(
    r"([+-])?P(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?", re.ASCII
)


def _duration(text):
    match = _DURATION.fullmatch(text)
    if not match or not any(match.groups()[1:]):
        raise ValueError(text)
    sign, *parts = match.groups()
    weeks, days, hours, minutes, seconds = (float(part or 0) for part in parts)
    length = datetime.timedelta(weeks=weeks, days=days, hours=hours, minutes=minutes, seconds=seconds)
    return -length if sign == "-" else length


def duration_text(length):
    """A timedelta in ISO 8601."""
    if length < datetime.timedelta(0):
        return "-" + duration_text(-length)
    hours, rest = divmod(length.seconds, 3600)
    minutes, seconds = divmod(rest, 60)
    fraction = f".{length.microseconds:06}".rstrip("0").rstrip(".")
    return f"P{length.days}DT{hours}H{minutes}M{seconds}{fraction}S"


def bytes_text(data):
    """Bytes as text: UTF-8 where it is, else base64."""
    try:
        return data.decode("utf-8"), None
    except UnicodeDecodeError:
        return base64.b64encode(data).decode("ascii"), "bytes that are not UTF-8 are given as base64"


def _formatted(name, expected, parse):
    return Shape({"type": "string", "format": name}, _text(expected, parse))


ANY = Shape({}, _any)
NULL = Shape({"type": "null"}, _exactly(type(None), "null"))
INTEGER = Shape({"type": "integer"}, _integer)
NUMBER = Shape({"type": "number"}, _number)
STRING = Shape({"type": "string"}, _exactly(str, "a string"))
BOOLEAN = Shape({"type": "boolean"}, _exactly(bool, "a boolean"))

SCALARS = {
    object: ANY,
    type(None): NULL,
    int: INTEGER,
    float: NUMBER,
    str: STRING,
    bool: BOOLEAN,
    bytes: Shape({"type": "string", "format": "binary"}, _text("text", lambda text: text.encode("utf-8"))),
    bytearray: Shape(
        {"type": "string", "format": "binary"}, _text("text", lambda text: bytearray(text.encode("utf-8")))
    ),
    decimal.Decimal: Shape({"anyOf": [{"type": "number"}, {"type": "string", "pattern": _DECIMAL}]}, _decimal),
    datetime.datetime: _formatted("date-time", "a date and time", lambda t: datetime.datetime.fromisoformat(_utc(t))),
    datetime.date: _formatted("date", "a date", datetime.date.fromisoformat),
    datetime.time: _formatted("time", "a time", lambda t: datetime.time.fromisoformat(_utc(t))),
    datetime.timedelta: _formatted("duration", "an ISO 8601 duration", _duration),
    uuid.UUID: _formatted("uuid", "a UUID", uuid.UUID),
    pathlib.Path: _formatted("path", "a path", pathlib.Path),
    pathlib.PurePath: _formatted("path", "a path", pathlib.PurePath),
    re.Pattern: _formatted("regex", "a regular expression", re.compile),
    ipaddress.IPv4Address: _formatted("ipv4", "an IPv4 address", ipaddress.IPv4Address),
    ipaddress.IPv6Address: _formatted("ipv6", "an IPv6 address", ipaddress.IPv6Address),
}
