"""A Python file as tools."""
import fnmatch
import functools
import importlib.util
import inspect
import os
import sys
import sysconfig
import traceback

from toolyard_worker.results import exact_json
from toolyard_worker.shapes import Inexpressible
from toolyard_worker.signature import STATE, SWITCHES, Function


class NotLoaded(Exception):
    """The file gives no tools; the text names file, line and exception."""


class Loaded:
    """The functions of a file by name, and what was wrong with those that are missing."""

    def __init__(self):
        self.functions = {}
        self.problems = []


def load(path, patterns, parallel_safe, options):
    """Imports a file and makes its functions tools.

    `patterns` are shell wildcards on the function's name: each that begins with `!` must not match, each other one
    must. A first pattern that is the name of a class of the file stands for the public methods of one instance.
    `options` are those of `Function`.
    """
    module = _import(path)
    owner, patterns = _owner(path, module, patterns)
    wanted = [pattern for pattern in patterns if not pattern.startswith("!")]
    unwanted = [pattern[1:] for pattern in patterns if pattern.startswith("!")]
    loaded = Loaded()
    for name, call in _methods(owner) if owner is not module else _functions(module):
        named = name in wanted
        if not named and _is_private(name, call):
            continue
        if not all(fnmatch.fnmatchcase(name, pattern) for pattern in wanted):
            continue
        if any(fnmatch.fnmatchcase(name, pattern) for pattern in unwanted):
            continue
        try:
            loaded.functions[name] = _function(name, call, parallel_safe, options)
        except Inexpressible as error:
            loaded.problems.append(f"{name} is left out: {error}")
        except Exception as error:
            loaded.problems.append(f"{name} is left out: {type(error).__name__}: {error}")
    return loaded


def _function(name, call, parallel_safe, options):
    said = {switch: bool(getattr(call, switch)) for switch in SWITCHES if hasattr(call, switch)}
    exclude = (*options["exclude"], *texts(call, "excluded_parameters"))
    function = Function(name, call, **{**options, **said, "exclude": exclude})
    function.initial_state = _initial_state(function)
    # Who writes `async def` says that calls may interleave where they await.
    declared = getattr(call, "parallel_safe", name in parallel_safe or function.is_async)
    # Calls that follow one another through a state may not overlap, whatever the function says.
    function.parallel_safe = bool(declared) and STATE not in function.takes
    return function


def _initial_state(function):
    """What a function finds in its state at the first time, as JSON text; None when it does not say."""
    if not any(hasattr(function.call, part) for part in ("initial_state", "initial_meta_state")):
        return None
    if STATE not in function.takes:
        raise Inexpressible(f"it has an initial state, but no parameter {STATE} to find it in")
    state = getattr(function.call, "initial_state", None)
    meta_state = getattr(function.call, "initial_meta_state", None)
    try:
        return exact_json({"state": state, "meta_state": meta_state})
    except (TypeError, ValueError) as error:
        raise Inexpressible(f"its initial state is not JSON: {error}") from None


def texts(call, name):
    """An attribute of a function that is a text or some texts."""
    value = getattr(call, name, ())
    return [value] if isinstance(value, str) else [str(text) for text in value]


def _import(path):
    sys.path[:] = [os.path.dirname(path), *(entry for entry in sys.path if entry)]
    name = os.path.splitext(os.path.basename(path))[0]
    if name in sys.modules:
        name = "toolyard_file_" + name
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None:
        raise NotLoaded(f"{path}: not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException as error:
        raise NotLoaded(_import_error(path, error)) from error
    return module


def _import_error(path, error):
    line = None
    if isinstance(error, SyntaxError) and error.filename == path:
        line = error.lineno
    for frame in traceback.extract_tb(error.__traceback__):
        if frame.filename == path:
            line = frame.lineno
    place = f"{path}:{line}" if line else path
    text = error.msg if isinstance(error, SyntaxError) else str(error)
    return f"{place}: {type(error).__name__}: {text}" if text else f"{place}: {type(error).__name__}"


def _owner(path, module, patterns):
    """What the tools belong to: the module, or an instance of one of its classes."""
    first = patterns[0] if patterns else ""
    kind = getattr(module, first, None) if first.isidentifier() else None
    if not isinstance(kind, type):
        return module, patterns
    try:
        return kind(), patterns[1:]
    except BaseException as error:
        raise NotLoaded(f"{path}: {first}() could not be made: {type(error).__name__}: {error}") from error


def _functions(module):
    """Module-level functions in the order of the file, imported ones too."""
    public = getattr(module, "__all__", None)
    for name, value in list(vars(module).items()):
        if public is not None and name not in public:
            continue
        own_object = type(value).__module__ == module.__name__ and callable(value)
        if inspect.isfunction(value) or inspect.ismethod(value) or isinstance(value, functools.partial) or own_object:
            yield name, value


def _methods(instance):
    """Public methods in the order of the class, inherited ones too."""
    names = {name: None for kind in reversed(type(instance).__mro__[:-1]) for name in vars(kind)}
    for name in names:
        static = inspect.getattr_static(instance, name)
        if isinstance(static, (staticmethod, classmethod)) or inspect.isfunction(static):
            yield name, getattr(instance, name)


_STANDARD_LIBRARY = os.path.realpath(sysconfig.get_path("stdlib")) + os.sep


def _is_private(name, call):
    """Whether a function is a tool only when a pattern names it: helpers, and what a file imports from the standard
    library for itself."""
    if name.startswith("_"):
        return True
    code = getattr(inspect.unwrap(call) if inspect.isfunction(call) else call, "__code__", None)
    origin = os.path.realpath(code.co_filename) if code else ""
    return origin.startswith(_STANDARD_LIBRARY) and "site-packages" not in origin
