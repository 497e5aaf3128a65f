"""Shapes of type annotations: the JSON Schema of a type, and the conversion of JSON to it."""
import collections
import collections.abc as abc
import dataclasses
import enum
import json
import sys
import types
import typing

from toolyard_worker import records
from toolyard_worker.rules import constrained, converted, described
from toolyard_worker.scalars import ANY, INTEGER, NULL, NUMBER, SCALARS, Refused, Shape, refuse

_UNION_ORIGINS = {typing.Union, getattr(types, "UnionType", typing.Union)}
_TRANSPARENT = {"Required", "NotRequired", "ReadOnly", "Final", "ClassVar"}
_SEQUENCES = {
    list: list, tuple: tuple, set: set, frozenset: frozenset, collections.deque: collections.deque,
    abc.Sequence: list, abc.MutableSequence: list, abc.Collection: list, abc.Iterable: list,
    abc.Set: set, abc.MutableSet: set,
}
_MAPPINGS = {
    dict: dict, collections.OrderedDict: collections.OrderedDict, abc.Mapping: dict, abc.MutableMapping: dict,
}


class Inexpressible(Exception):
    """JSON cannot carry a value of this type."""


class Shapes:
    """Makes shapes. Recursive types become `$ref`s to `defs`, all others are written out where they are used."""

    def __init__(self, namespace):
        self.defs = {}
        self._namespace = namespace
        self._open = {}
        self._type_variables = {}

    def of(self, hint):
        """The shape of an annotation.

        Raises Inexpressible when values of the type cannot come from JSON.
        """
        try:
            scalar = SCALARS.get(hint)
        except TypeError:  # annotations need not be hashable
            scalar = None
        if scalar is not None:
            return scalar
        if hint is None:
            return NULL
        if hint is typing.Any:
            return ANY
        if isinstance(hint, (str, typing.ForwardRef)):
            return self.of(self._evaluated(hint))
        if isinstance(hint, typing.TypeVar):
            return self._type_variable(hint)
        if hasattr(hint, "__supertype__"):
            return self.of(hint.__supertype__)
        if type(hint).__name__ == "TypeAliasType":
            return self._named(hint, hint.__name__, lambda: self.of(hint.__value__))
        return self._compound(hint)

    def _compound(self, hint):
        origin = typing.get_origin(hint)
        if hasattr(hint, "__metadata__"):
            return self._annotated(hint)
        if getattr(origin, "_name", None) in _TRANSPARENT:
            return self.of(typing.get_args(hint)[0])
        if origin in _UNION_ORIGINS:
            return self._union(typing.get_args(hint))
        if origin is typing.Literal or getattr(origin, "_name", None) == "Literal":
            return self._choice(typing.get_args(hint), lambda value: value)
        kind = origin or hint
        if not isinstance(kind, type):
            raise Inexpressible(hint)
        if _is_pydantic(kind):
            return self._pydantic(hint)
        if issubclass(kind, enum.Enum):
            return self._enum(kind)
        if dataclasses.is_dataclass(kind):
            return self._class(hint, kind, records.of_dataclass)
        if issubclass(kind, dict) and hasattr(kind, "__required_keys__"):
            return self._class(hint, kind, records.of_typed_dict)
        if issubclass(kind, tuple) and hasattr(kind, "_fields"):
            return self._class(hint, kind, records.of_named_tuple)
        if kind is tuple and typing.get_args(hint)[-1:] != (...,) and hint not in (tuple, typing.Tuple):
            return self._fixed_tuple(typing.get_args(hint))
        if kind in _SEQUENCES:
            return self._sequence(typing.get_args(hint), _SEQUENCES[kind])
        if kind in _MAPPINGS:
            return self._mapping(typing.get_args(hint), _MAPPINGS[kind])
        raise Inexpressible(hint)

    def _evaluated(self, hint):
        text = hint if isinstance(hint, str) else hint.__forward_arg__
        try:
            return eval(text, self._namespace)  # what Python itself does with an annotation that is text
        except Exception:
            return typing.Any

    def _type_variable(self, variable):
        if variable in self._type_variables:
            return self.of(self._type_variables[variable])
        if variable.__constraints__:
            return self._union(variable.__constraints__)
        return self.of(variable.__bound__) if variable.__bound__ is not None else ANY

    def _named(self, key, name, make):
        """A shape that may contain itself."""
        if key in self._open:
            entry = self._open[key]
            entry["used"] = True
            return Shape({"$ref": f"#/$defs/{entry['name']}"}, lambda value: entry["shape"].convert(value))
        entry = self._open[key] = {"name": self._free_name(name), "used": False}
        try:
            entry["shape"] = shape = make()
        finally:
            del self._open[key]
        if not entry["used"]:
            return shape
        self.defs[entry["name"]] = shape.schema
        return Shape({"$ref": f"#/$defs/{entry['name']}"}, shape.convert, shape.known)

    def _free_name(self, name):
        taken = set(self.defs) | {entry["name"] for entry in self._open.values()}
        candidates = [name, *(f"{name}_{number}" for number in range(2, len(taken) + 3))]
        return next(candidate for candidate in candidates if candidate not in taken)

    def _class(self, hint, kind, make):
        outer = self._type_variables
        self._type_variables = {**outer, **dict(zip(getattr(kind, "__parameters__", ()), typing.get_args(hint)))}
        try:
            return self._named(hint, kind.__name__, lambda: make(self, kind))
        finally:
            self._type_variables = outer

    def _annotated(self, hint):
        if any(type(extra).__module__.partition(".")[0] == "pydantic" for extra in hint.__metadata__):
            return self._pydantic(hint)
        shape = self.of(hint.__origin__)
        for extra in hint.__metadata__:
            if isinstance(extra, str):
                shape = described(shape, extra)
            else:
                text = getattr(extra, "description", None) or getattr(extra, "documentation", None)
                shape = described(constrained(shape, extra), text)
        return shape

    def _union(self, hints):
        shapes = [self.of(hint) for hint in hints]
        shapes.sort(key=lambda shape: shape is ANY)  # what takes anything is tried last
        schemas = []
        for shape in shapes:
            nested = shape.schema["anyOf"] if set(shape.schema) == {"anyOf"} else [shape.schema]
            schemas.extend(schema for schema in nested if schema not in schemas)
        # An integer stays one where both integer and number would take it.
        by_type = {kind: shape for kind, shape in ((int, INTEGER), (float, NUMBER)) if shape in shapes}

        def convert(value):
            if type(value) in by_type:
                return value
            ranked = shapes
            if type(value) is dict:
                ranked = sorted(shapes, key=lambda shape: len(value.keys() - shape.known) if shape.known else 0)
            reasons = []
            for shape in ranked:
                try:
                    return shape.convert(value)
                except Refused as refused:
                    reasons.append(str(refused))
            raise Refused("fits none of the alternatives: " + "; ".join(dict.fromkeys(reasons)))

        if {} in schemas:
            return Shape({}, convert)
        return Shape({"anyOf": schemas} if len(schemas) > 1 else schemas[0], convert)

    def _choice(self, values, result):
        def plain(value):
            return value.value if isinstance(value, enum.Enum) else value

        pairs = [(plain(value), result(value)) for value in values]
        allowed = [value for value, _ in pairs]
        schema = {"enum": allowed}
        kinds = {type(value) for value in allowed}
        if kinds == {str}:
            schema["type"] = "string"
        elif kinds == {int}:
            schema["type"] = "integer"

        def convert(value):
            for accepted, meant in pairs:
                if accepted == value and isinstance(accepted, bool) == isinstance(value, bool):
                    return meant
            raise Refused(f"expected one of {json.dumps(allowed, ensure_ascii=False)}")

        return Shape(schema, convert)

    def _enum(self, kind):
        members = list(kind)
        try:
            json.dumps([member.value for member in members])
        except (TypeError, ValueError):
            by_name = kind.__members__
            return self._choice(list(by_name), by_name.__getitem__)
        if issubclass(kind, enum.Flag):
            return Shape(INTEGER.schema, lambda value: kind(INTEGER.convert(value)))
        by_value = {json.dumps(member.value): member for member in members}
        values = [member.value for member in members]
        return self._choice(values, lambda value: by_value[json.dumps(value)])

    def _fixed_tuple(self, hints):
        items = [self.of(hint) for hint in hints if hint != ()]
        return records.positions(items, len(items), tuple)

    def _sequence(self, hints, build):
        item = self.of(hints[0]) if hints else ANY

        def convert(value):
            if type(value) is not list:
                raise refuse("an array", value)
            try:
                return build([converted(item, element, place) for place, element in enumerate(value)])
            except TypeError:  # what a set holds must be hashable
                raise Refused("the items cannot be told apart") from None

        return Shape({"type": "array", "items": item.schema} if item.schema else {"type": "array"}, convert)

    def _mapping(self, hints, build):
        key, item = (self.of(hint) for hint in hints) if len(hints) == 2 else (SCALARS[str], ANY)
        read_key, key_schema = _key_reader(key)
        schema = {"type": "object"}
        if item.schema:
            schema["additionalProperties"] = item.schema
        if key_schema:
            schema["propertyNames"] = key_schema

        def convert(value):
            if type(value) is not dict:
                raise refuse("an object", value)
            return build((read_key(name), converted(item, element, name)) for name, element in value.items())

        return Shape(schema, convert)

    def hints(self, kind):
        """The annotations of a class or function, evaluated as far as they can be."""
        try:
            return typing.get_type_hints(kind, localns=self._namespace, include_extras=True)
        except Exception:
            owners = kind.__mro__ if isinstance(kind, type) else (kind,)
            hints = {}
            for owner in reversed(owners):
                namespace = vars(sys.modules.get(owner.__module__, sys))
                for name, hint in getattr(owner, "__annotations__", {}).items():
                    scope = Shapes({**namespace, **self._namespace})
                    hints[name] = scope._evaluated(hint) if isinstance(hint, str) else hint
            return hints

    def _pydantic(self, hint):
        adapter = sys.modules["pydantic"].TypeAdapter(hint)
        schema = without_titles(adapter.json_schema(mode="validation"))
        definitions = schema.pop("$defs", {})
        if any(self.defs.get(name, definition) != definition for name, definition in definitions.items()):
            # Another model has a name of this one's parts: written out beside each other they need new names.
            suffix = f"_{len(self.defs) + 1}"
            schema = without_titles(
                adapter.json_schema(mode="validation", ref_template="#/$defs/{model}" + suffix)
            )
            definitions = {name + suffix: definition for name, definition in schema.pop("$defs").items()}
        self.defs.update(definitions)

        def convert(value):
            try:
                # Strict, as the schema is; and as JSON, where text may be a date all the same.
                return adapter.validate_json(json.dumps(value), strict=True)
            except ValueError as error:
                errors = getattr(error, "errors", lambda: [])()
                if not errors:
                    raise Refused(str(error)) from None
                raise Refused(errors[0]["msg"], errors[0]["loc"]) from None

        return Shape(schema, convert, set(schema.get("properties", ())) or None)


def _key_reader(key):
    """How the text of an object's key becomes a key of the mapping, and the schema of such keys."""
    if key is INTEGER:
        return _parsed_key(int, "an integer"), {"pattern": "^-?[0-9]+$"}
    if key is NUMBER:
        return _parsed_key(float, "a number"), {"pattern": r"^-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?$"}
    plain = key.schema in ({}, {"type": "string"})
    return (lambda name: converted(key, name, name)), (None if plain else key.schema)


def _parsed_key(parse, expected):
    def read(name):
        try:
            return parse(name)
        except ValueError:
            raise Refused(f"the key is not {expected}", [name]) from None

    return read


def _is_pydantic(kind):
    return "pydantic" in sys.modules and hasattr(kind, "__get_pydantic_core_schema__")


def without_titles(schema):
    """A schema without the titles that pydantic makes up; a property called title stays."""
    if isinstance(schema, list):
        return [without_titles(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    result = {}
    for key, value in schema.items():
        if key in ("properties", "patternProperties", "$defs"):
            result[key] = {name: without_titles(part) for name, part in value.items()}
        elif key in ("default", "const", "enum", "examples"):
            result[key] = value
        elif key != "title":
            result[key] = without_titles(value)
    return result
