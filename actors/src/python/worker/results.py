"""What a function returns, as JSON.

JSON values stay as they are. By rule: a dataclass, a named tuple's sequence, a pydantic model and a mapping become
objects or arrays; an enum member its value; date, time and datetime ISO 8601 text; timedelta an ISO 8601 duration;
Decimal, UUID, paths and addresses text; bytes UTF-8 text or else base64; sets sorted arrays; numpy scalars and
arrays plain numbers and arrays. Anything else is given by `str()`, with a note. NaN and infinities follow the
policy, since JSON has none: `null` (the default), `text`, or `fail`.
"""
import collections.abc as abc
import dataclasses
import datetime
import decimal
import enum
import ipaddress
import json
import math
import pathlib
import uuid

from toolyard_worker.exact import whole_characters, with_long_integers
from toolyard_worker.scalars import bytes_text, duration_text

_AS_TEXT = (
    decimal.Decimal, uuid.UUID, pathlib.PurePath, ipaddress.IPv4Address, ipaddress.IPv6Address,
    ipaddress.IPv4Network, ipaddress.IPv6Network,
)
MAX_DEPTH = 100


class Unwritable(Exception):
    """The value cannot be a result; the text says why."""


class Encoder:
    """Writes results under one policy for NaN and infinities."""

    def __init__(self, nan="null"):
        self._nan = nan

    def encode(self, value):
        """JSON text, and notes on what was lost."""
        text, notes = with_long_integers(self._encode, value)
        text, note = whole_characters(text)
        return text, [*notes, note] if note else notes

    def _encode(self, value):
        kind = type(value)
        if kind is str:
            return json.encoder.encode_basestring(value), ()
        if kind is int or kind is float and math.isfinite(value):
            return repr(value), ()
        notes = []
        fast = json.JSONEncoder(
            allow_nan=False, ensure_ascii=False, separators=(",", ":"), default=lambda part: _plain_part(part, notes)
        )
        try:
            return fast.encode(value), notes
        except (TypeError, ValueError, RecursionError):
            notes.clear()
        plain = self._plain(value, notes, set(), 0)
        return json.dumps(plain, allow_nan=False, ensure_ascii=False, separators=(",", ":")), notes

    def _plain(self, value, notes, above, depth):
        """The slow way: for NaN, cycles and keys that are no text."""
        if value is None or isinstance(value, (bool, int, str)) and not isinstance(value, enum.Enum):
            return value
        if isinstance(value, float) and not isinstance(value, enum.Enum):
            return float(value) if math.isfinite(value) else self._not_finite(value, notes)
        if id(value) in above:
            _note(notes, "a value that contains itself is cut off")
            return None
        if depth > MAX_DEPTH:
            raise Unwritable(f"the result is nested more than {MAX_DEPTH} levels deep")
        above.add(id(value))
        try:
            if isinstance(value, abc.Mapping):
                return {
                    self._key(key, notes): self._plain(part, notes, above, depth + 1) for key, part in value.items()
                }
            if isinstance(value, (list, tuple)):
                return [self._plain(part, notes, above, depth + 1) for part in value]
            return self._plain(_plain_part(value, notes), notes, above, depth + 1)
        finally:
            above.discard(id(value))

    def _key(self, key, notes):
        if isinstance(key, str) and not isinstance(key, enum.Enum):
            return str(key)
        plain = self._plain(key, notes, set(), 0)
        return plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False)

    def _not_finite(self, value, notes):
        if self._nan == "fail":
            raise Unwritable(f"the result holds {value}, which JSON cannot carry")
        if self._nan == "text":
            return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        _note(notes, f"{value} is given as null")
        return None


def plain_default(value):
    """A default value for a schema.

    Raises TypeError or ValueError when JSON cannot carry it.
    """
    def part_of(part):
        if isinstance(part, (enum.Enum, abc.Set, datetime.date, datetime.time, datetime.timedelta, *_AS_TEXT)):
            return _plain_part(part, [])
        if dataclasses.is_dataclass(part) and not isinstance(part, type) or hasattr(part, "model_dump"):
            return _plain_part(part, [])
        raise TypeError(type(part))

    if isinstance(value, enum.Enum):
        value = value.value
    return json.loads(json.dumps(value, allow_nan=False, default=part_of))


def exact_json(value):
    """JSON text of a value that must come back as it is.

    Raises TypeError or ValueError when it would not.
    """
    _require_text_keys(value)
    text = with_long_integers(
        lambda: json.dumps(value, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    )
    text.encode("utf-8")  # half characters would come back as others
    return text


def _require_text_keys(value):
    """The encoder would quietly make texts of other keys."""
    if isinstance(value, dict):
        for key, part in value.items():
            if type(key) is not str:
                raise TypeError(f"keys must be text, not {type(key).__name__}")
            _require_text_keys(part)
    elif isinstance(value, (list, tuple)):
        for part in value:
            _require_text_keys(part)


def _plain_part(value, notes):
    """One level of a value that the JSON encoder does not know."""
    if isinstance(value, enum.Enum):
        return value.value
    if hasattr(value, "model_dump") and not isinstance(value, type):
        return value.model_dump(mode="json")
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, datetime.timedelta):
        return duration_text(value)
    if isinstance(value, _AS_TEXT):
        return str(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        text, note = bytes_text(bytes(value))
        _note(notes, note)
        return text
    if isinstance(value, abc.Mapping):
        return dict(value)
    if isinstance(value, (abc.Set, abc.ValuesView)):
        return _sorted(value)
    if isinstance(value, (abc.Sequence, abc.MappingView)):
        return list(value)
    if type(value).__module__.partition(".")[0] == "numpy" and hasattr(value, "tolist"):
        plain = value.tolist()
        if type(plain) is not type(value):
            return plain
    _note(notes, f"{type(value).__name__} is given as text")
    return str(value)


def _sorted(values):
    """In an order that does not change from run to run."""
    try:
        return sorted(values)
    except TypeError:
        return sorted(values, key=lambda value: (type(value).__name__, str(value)))


def _note(notes, text):
    if text and text not in notes:
        notes.append(text)
