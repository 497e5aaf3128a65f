"""What is added to a shape: descriptions, defaults, and the constraints of `Annotated`."""
import re

from toolyard_worker.results import plain_default
from toolyard_worker.scalars import Refused, Shape

# Constraint attributes, as annotated-types and pydantic name them: keyword, and the check.
_NUMBER_RULES = {
    "ge": ("minimum", lambda v, bound: v >= bound),
    "gt": ("exclusiveMinimum", lambda v, bound: v > bound),
    "le": ("maximum", lambda v, bound: v <= bound),
    "lt": ("exclusiveMaximum", lambda v, bound: v < bound),
    "multiple_of": ("multipleOf", lambda v, step: v % step == 0),
}
_SIZE_KEYWORD = {"string": "Length", "array": "Items", "object": "Properties"}


def converted(shape, value, key):
    """Converts a part of a value; a refusal names where the part is."""
    try:
        return shape.convert(value)
    except Refused as refused:
        raise refused.under(key) from None


def described(shape, text):
    return Shape({**shape.schema, "description": text}, shape.convert, shape.known) if text else shape


def with_default(shape, default):
    """Shows a default that JSON can carry; the others are known to Python alone."""
    try:
        return Shape({**shape.schema, "default": plain_default(default)}, shape.convert, shape.known)
    except (TypeError, ValueError):
        return shape


def constrained(shape, rules):
    keywords, checks = {}, []
    for name, (keyword, holds) in _NUMBER_RULES.items():
        bound = getattr(rules, name, None)
        if bound is not None:
            if isinstance(bound, (int, float)):
                keywords[keyword] = bound
            checks.append((holds, bound, f"{keyword} {bound}"))
    size = _SIZE_KEYWORD.get(shape.schema.get("type"))
    for name, least in (("min_length", True), ("max_length", False)):
        bound = getattr(rules, name, None)
        if size and bound is not None:
            keywords[("min" if least else "max") + size] = bound
            holds = (lambda v, n: len(v) >= n) if least else (lambda v, n: len(v) <= n)
            checks.append((holds, bound, f"{'at least' if least else 'at most'} {bound} long"))
    pattern = getattr(rules, "pattern", None)
    if isinstance(pattern, str):
        keywords["pattern"] = pattern
        checks.append((lambda v, p: re.search(p, v), pattern, f"pattern {pattern}"))
    if not checks:
        return shape

    def convert(value):
        result = shape.convert(value)
        for holds, bound, text in checks:
            try:
                kept = holds(result, bound)
            except TypeError:  # the rule is for another alternative of a union
                continue
            if not kept:
                raise Refused(f"expected {text}")
        return result

    return Shape({**shape.schema, **keywords}, convert, shape.known)
