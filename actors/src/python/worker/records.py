"""Shapes of classes with named parts, and of arrays with fixed places."""
import dataclasses
import typing

from toolyard_worker.rules import converted, described, with_default
from toolyard_worker.scalars import Refused, Shape, refuse


def _object(fields, required, build):
    """An object with known fields; unknown ones are passed over, as pydantic does."""
    properties = {name: shape.schema for name, shape in fields.items()}
    schema = {"type": "object", "properties": properties}
    if required:
        schema["required"] = required

    def convert(value):
        if type(value) is not dict:
            raise refuse("an object", value)
        for name in required:
            if name not in value:
                raise Refused("required, but missing", [name])
        given = {}
        for name, shape in fields.items():
            if name in value:
                given[name] = converted(shape, value[name], name)
        return build(given)

    return Shape(schema, convert, set(fields))


def of_dataclass(shapes, kind):
    hints = shapes.hints(kind)
    fields, required = {}, []
    for field in dataclasses.fields(kind):
        if not field.init:
            continue
        text = field.metadata.get("description")
        shape = described(shapes.of(hints.get(field.name, typing.Any)), text)
        if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            required.append(field.name)
        fields[field.name] = with_default(shape, field.default)

    def build(given):
        try:
            return kind(**given)
        except (TypeError, ValueError) as error:
            raise Refused(f"{kind.__name__} refused it: {error}") from None

    return _object(fields, required, build)


def of_typed_dict(shapes, kind):
    hints = shapes.hints(kind)
    fields = {name: shapes.of(hint) for name, hint in hints.items()}
    return _object(fields, [name for name in hints if name in kind.__required_keys__], dict)


def of_named_tuple(shapes, kind):
    hints = shapes.hints(kind)
    items = [shapes.of(hints.get(name, typing.Any)) for name in kind._fields]
    least = len(items) - len(kind._field_defaults)
    return positions(items, least, lambda values: kind(*values))


def positions(items, least, build):
    schema = {"type": "array", "minItems": least, "maxItems": len(items)}
    if items:
        schema["prefixItems"] = [shape.schema for shape in items]

    def convert(value):
        if type(value) is not list:
            raise refuse("an array", value)
        if not least <= len(value) <= len(items):
            raise Refused(f"expected {len(items)} items, got {len(value)}")
        return build([converted(shape, item, place) for place, (shape, item) in enumerate(zip(items, value))])

    return Shape(schema, convert)
