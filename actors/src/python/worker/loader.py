"""A Python file as tools."""
import ast
import fnmatch
import functools
import importlib.util
import inspect
import os
import sys
import traceback

from toolyard_worker import beside
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
    What the file imports, and names that begin with `_`, must be named in full by a pattern; by `__all__` it may be too.
    `options` are those of `Function`.
    """
    module = _import(path)
    owner, patterns = _owner(path, module, patterns)
    wanted = [pattern for pattern in patterns if not pattern.startswith("!")]
    unwanted = [pattern[1:] for pattern in patterns if pattern.startswith("!")]
    loaded = Loaded()
    for name, call, is_own in _methods(owner, module) if owner is not module else _functions(module, path):
        # A class is chosen already; then a pattern that matches is enough for what it has from elsewhere.
        is_own = is_own or (owner is not module and bool(wanted))
        named = name in wanted
        if not named and (name.startswith("_") or not is_own):
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
    beside.add(os.path.dirname(path))
    name = os.path.splitext(os.path.basename(path))[0]
    # Under a name of the library it would be taken for that.
    if beside.has_library(name):
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


def _functions(module, path):
    """Module-level functions in the order of the file, each with whether it is the file's own or is named by it."""
    public = getattr(module, "__all__", None)
    with open(path, "rb") as file:
        bound = _bound_by(ast.parse(file.read()).body, {})
    for name, value in list(vars(module).items()):
        if public is not None and name not in public:
            continue
        is_partial = isinstance(value, functools.partial)
        own_object = type(value).__module__ == module.__name__ and callable(value)
        if inspect.isfunction(value) or inspect.ismethod(value) or is_partial or own_object:
            # A partial is made by a call; a function, whatever its decorators made of it, by its `def`.
            is_made = bound.get(name) is (ast.Call if is_partial else ast.FunctionDef)
            yield name, value, public is not None or is_made or _is_defined_in(module, path, value)


def _is_defined_in(module, path, call):
    """Whether a callable was defined in the file, and not only given another name there."""
    while isinstance(call, functools.partial):
        call = call.func
    plain = inspect.unwrap(call) if inspect.isroutine(call) else call
    code = getattr(plain, "__code__", None)
    if code is not None:
        return code.co_filename == path
    return getattr(plain, "__module__", None) == module.__name__


def _bound_by(statements, bound):
    """The names that a module's statements bind, each with what bound it last."""
    for node in statements:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            bound[node.name] = ast.FunctionDef
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            bound.update((target.id, type(node.value)) for target in targets if isinstance(target, ast.Name))
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            bound.update((alias.asname or alias.name, type(node)) for alias in node.names)
        elif not isinstance(node, ast.ClassDef):
            inner = ast.iter_child_nodes(node)
            _bound_by([child for child in inner if isinstance(child, (ast.stmt, ast.excepthandler))], bound)
    return bound


def _methods(instance, module):
    """Public methods in the order of the class, each with whether a class of the file has it."""
    names = {}
    for kind in reversed(type(instance).__mro__[:-1]):
        names.update((name, kind.__module__ == module.__name__) for name in vars(kind))
    for name, is_own in names.items():
        static = inspect.getattr_static(instance, name)
        if isinstance(static, (staticmethod, classmethod)) or inspect.isfunction(static):
            yield name, getattr(instance, name), is_own
