"""A callable as a tool: its schema, and how a call's JSON arguments become Python arguments."""
import functools
import inspect
import typing

from toolyard_worker import docs
from toolyard_worker.rules import converted, described, with_default
from toolyard_worker.scalars import Refused
from toolyard_worker.shapes import Inexpressible, Shapes

STATE = "inner_state"
STREAM = "stream_writer"
RESERVED = (STATE, STREAM)
SWITCHES = ("long_description", "varargs", "varkwargs")
_BY_POSITION = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


class Function:
    """One callable, ready to be called with JSON arguments.

    `excluded` are the parameters that a model does not see and cannot set, among those that were asked for.
    """

    def __init__(self, name, call, exclude=(), long_description=True, varargs=True, varkwargs=True):
        self.name = name
        self.call = call
        self.excluded = []
        self.takes = {parameter for parameter in RESERVED if parameter in inspect.signature(call).parameters}
        plain, bound = _underlying(call)
        self.is_async = inspect.iscoroutinefunction(plain) or inspect.iscoroutinefunction(call)
        doc = docs.parse(_doc_of(plain, call))
        self.description = doc.description(long_description)
        self._read_parameters(call, plain, doc, exclude, {*RESERVED, *exclude, *bound}, varargs, varkwargs)

    def _read_parameters(self, call, plain, doc, exclude, hidden, varargs, varkwargs):
        shapes = Shapes(getattr(inspect.unwrap(plain), "__globals__", {}))
        hints = shapes.hints(inspect.unwrap(plain))
        self._fields, self._defaults, self._by_position = {}, {}, []
        self._rest = self._named_rest = None
        last_positional = -1
        properties, required = {}, []
        for parameter in inspect.signature(call).parameters.values():
            name, kind = parameter.name, parameter.kind
            if kind in _BY_POSITION:
                self._by_position.append(name)
                if kind is inspect.Parameter.POSITIONAL_ONLY:
                    last_positional = len(self._by_position)
            if parameter.default is not parameter.empty:
                self._defaults[name] = parameter.default
            left_out = kind is parameter.VAR_POSITIONAL and not varargs
            left_out = left_out or kind is parameter.VAR_KEYWORD and not varkwargs
            if name in hidden or left_out:
                self.excluded.append(name)
                if name in exclude and parameter.default is parameter.empty and not left_out:
                    raise Inexpressible(f"parameter {name}: it is excluded, but has no default")
                continue
            hint = hints.get(name, parameter.annotation)
            shape = self._shape(shapes, parameter, typing.Any if hint is parameter.empty else hint)
            if shape is None:
                continue
            shape = described(shape, doc.parameters.get(name))
            properties[name] = shape.schema
            self._fields[name] = shape
            if parameter.default is parameter.empty and kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                required.append(name)
        self._required = required
        # Those before *args go by position as soon as *args has something.
        self._always_by_position = last_positional
        self._spreads = last_positional >= 0 or self._rest is not None
        self.schema = {"type": "object", "properties": properties, "additionalProperties": False}
        if required:
            self.schema["required"] = required
        if shapes.defs:
            self.schema["$defs"] = shapes.defs

    def _shape(self, shapes, parameter, hint):
        name = parameter.name
        try:
            if parameter.kind is parameter.VAR_POSITIONAL:
                self._rest = name
                return with_default(shapes.of(typing.Optional[typing.List[hint]]), None)
            if parameter.kind is parameter.VAR_KEYWORD:
                self._named_rest = name
                if getattr(typing.get_origin(hint), "_name", None) == "Unpack":
                    return shapes.of(typing.get_args(hint)[0])
                return with_default(shapes.of(typing.Optional[typing.Dict[str, hint]]), None)
            shape = shapes.of(hint)
        except Inexpressible as error:
            if parameter.default is not parameter.empty:
                self.excluded.append(name)
                return None
            raise Inexpressible(f"parameter {name}: JSON cannot carry {error}; exclude it or give it a default") from None
        return shape if parameter.default is parameter.empty else with_default(shape, parameter.default)

    def bind(self, given, extra):
        """Positional and named arguments for a call.

        `given` comes from a model and is checked and converted; `extra` comes from the worker and wins.
        Raises Refused.
        """
        values = {}
        for name, value in given.items():
            shape = self._fields.get(name)
            if shape is not None:
                values[name] = converted(shape, value, name)
            elif name not in RESERVED:
                raise Refused(f"no parameter {name}; there are: {', '.join(self._fields) or 'none'}")
        for name in self._required:
            if name not in values:
                raise Refused("required, but missing", [name])
        values.update(extra)
        named_rest = values.pop(self._named_rest, None)
        if named_rest:
            for name in named_rest:
                if name in self._fields or name in RESERVED:
                    raise Refused(f"{name} is a parameter of its own", [self._named_rest])
        positional = self._positional(values) if self._spreads else ()
        if named_rest:
            values.update(named_rest)
        return positional, values

    def _positional(self, values):
        """Takes out of `values` what must go by position."""
        rest = values.pop(self._rest, None)
        positional = []
        count = len(self._by_position) if rest else self._always_by_position
        for place, name in enumerate(self._by_position[:max(count, 0)]):
            if name in values:
                positional.append(values.pop(name))
            elif rest or any(later in values for later in self._by_position[place + 1: self._always_by_position]):
                positional.append(self._defaults[name])
            else:
                break
        return positional + list(rest or ())


def _underlying(call):
    """The function inside partials and objects, and the parameters that partials have bound."""
    bound = set()
    while isinstance(call, functools.partial):
        bound.update(call.keywords)
        call = call.func
    if not inspect.isroutine(call) and not isinstance(call, type):
        call = type(call).__call__
    return call, bound


def _doc_of(plain, call):
    """A doc text of the function; of an object, its class's; never that of `partial` itself."""
    while isinstance(call, functools.partial):
        call = call.func
    own = inspect.getdoc(plain)
    if inspect.isroutine(call):
        return own
    return own if plain.__doc__ else inspect.getdoc(type(call))
