"""Writes the names of a session down, and reads them back. Also the rule about which modules may be imported."""


def save(names, most_bytes):
    """What of a namespace another process can have: values as one pickle, modules by name, and what is neither, with
    the reason."""
    import base64
    import io
    import pickle
    import types

    class TooLarge(Exception):
        pass

    class Bounded(io.RawIOBase):
        size = 0

        def writable(self):
            return True

        def write(self, data):
            self.size += len(memoryview(data).cast("B"))
            if self.size > most_bytes:
                raise TooLarge
            return self.put(data)

    class Counted(Bounded):
        def put(self, data):
            return None

    class Kept(Bounded):
        def __init__(self):
            self.parts = []

        def put(self, data):
            self.parts.append(bytes(data))

    class Pickler(pickle.Pickler):
        def reducer_override(self, value):
            # These are pickled as a name to look up, which another process does not have.
            if isinstance(value, (types.FunctionType, type)) and value.__module__ == "__main__":
                raise pickle.PicklingError(f"{value.__name__} is defined in this session")
            return NotImplemented

    def pickled(value, sink):
        Pickler(sink, protocol=4).dump(value)
        return sink

    values, imports, not_kept = {}, {}, {}
    for name, value in list(names.items()):
        if name.startswith("__"):
            continue
        if isinstance(value, types.ModuleType):
            imports[name] = value.__name__
            continue
        try:
            pickled(value, Counted())
            values[name] = value
        except TooLarge:
            not_kept[name] = f"it has more than {most_bytes} bytes"
        except BaseException as error:
            not_kept[name] = (str(error) or type(error).__name__)[:200]
    whole = Kept()
    try:
        pickled(values, whole)
    except BaseException as error:
        reason = f"together they have more than {most_bytes} bytes" if isinstance(error, TooLarge) else str(error)[:200]
        not_kept.update(dict.fromkeys(values, reason))
        whole = pickled({}, Kept())
    return {"pickle": base64.b64encode(b"".join(whole.parts)).decode(), "imports": imports, "not_kept": not_kept}


def load(names, snapshot):
    """Reads what `save` gave; names what could not be read, with the reason."""
    import base64
    import importlib
    import pickle

    problems = {}
    for name, module in snapshot["imports"].items():
        try:
            names[name] = importlib.import_module(module)
        except BaseException as error:
            problems[name] = str(error)[:200]
    try:
        names.update(pickle.loads(base64.b64decode(snapshot["pickle"])))
    except BaseException as error:
        problems["the values"] = (str(error) or type(error).__name__)[:200]
    return {"problems": problems}


def allow_modules(names, allowed):
    """Lets code of this namespace import these modules alone. It keeps honest code honest and stops nobody else."""
    import builtins
    import types

    ours, imports = types.ModuleType("builtins"), builtins.__import__
    ours.__dict__.update(builtins.__dict__)

    def import_allowed(name, globals=None, locals=None, fromlist=(), level=0):
        root = name.partition(".")[0]
        if level == 0 and root not in allowed:
            raise ImportError(f"module {root!r} may not be imported; there is: {', '.join(sorted(allowed)) or 'none'}")
        return imports(name, globals, locals, fromlist, level)

    ours.__import__ = import_allowed
    names["__builtins__"] = ours
