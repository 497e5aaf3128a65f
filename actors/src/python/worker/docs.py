"""Docstrings in Google, NumPy and reST style."""
import inspect
import re

_GOOGLE_SECTION = re.compile(
    r"^(Args|Arguments|Parameters|Params|Keyword Args|Keyword Arguments|Other Parameters|Returns?|Yields?|Raises"
    r"|Examples?|Notes?|Attributes|Todo|Warnings?|Warns|See Also|References)\s*:\s*$"
)
_PARAMETER_SECTIONS = {
    "args", "arguments", "parameters", "params", "keyword args", "keyword arguments", "other parameters",
}
_GOOGLE_ENTRY = re.compile(r"^(\*{0,2}\w+)\s*(?:\(.*?\))?\s*:\s?(.*)$")
_NUMPY_ENTRY = re.compile(r"^(\*{0,2}\w+(?:\s*,\s*\*{0,2}\w+)*)\s*(?::.*)?$")
_REST_FIELD = re.compile(r"^:(\w+)([^:]*):\s?(.*)$")
_REST_PARAMETER = {"param", "parameter", "arg", "argument", "key", "keyword"}


class Doc:
    """A parsed docstring: the first paragraph, the rest of the prose, and a text per parameter."""

    def __init__(self, short="", long="", parameters=None):
        self.short = short
        self.long = long
        self.parameters = parameters or {}

    def description(self, include_long=True):
        parts = [self.short, self.long if include_long else ""]
        return "\n\n".join(part for part in parts if part)


def parse(text):
    """Parses a docstring; a style need not be named."""
    if not text:
        return Doc()
    lines = inspect.cleandoc(text).split("\n")
    parameters = {}
    prose = []
    index = 0
    while index < len(lines):
        line = lines[index]
        underlined = index + 1 < len(lines) and re.match(r"^-{3,}\s*$", lines[index + 1])
        if underlined and line.strip():
            index = _numpy_section(lines, index, parameters)
        elif _GOOGLE_SECTION.match(line):
            index = _google_section(lines, index, parameters)
        elif _REST_FIELD.match(line):
            index = _rest_field(lines, index, parameters)
        else:
            prose.append(line)
            index += 1
    short, _, long = "\n".join(prose).strip().partition("\n\n")
    return Doc(_joined(short.split("\n")), long.strip(), parameters)


def _joined(lines):
    return " ".join(line.strip() for line in lines if line.strip())


def _indent(line):
    return len(line) - len(line.lstrip())


def _keep(parameters, names, lines):
    text = _joined(lines)
    for name in names.split(","):
        if text:
            parameters[name.strip().lstrip("*")] = text


def _google_section(lines, index, parameters):
    wanted = lines[index].strip().rstrip(": ").lower() in _PARAMETER_SECTIONS
    index += 1
    entry_indent = None
    name, text = None, []
    while index < len(lines) and (not lines[index].strip() or _indent(lines[index]) > 0):
        line = lines[index]
        index += 1
        if not wanted or not line.strip():
            continue
        entry_indent = _indent(line) if entry_indent is None else entry_indent
        entry = _GOOGLE_ENTRY.match(line.strip()) if _indent(line) <= entry_indent else None
        if entry:
            if name:
                _keep(parameters, name, text)
            name, text = entry.group(1), [entry.group(2)]
        else:
            text.append(line)
    if name:
        _keep(parameters, name, text)
    return index


def _numpy_section(lines, index, parameters):
    wanted = lines[index].strip().lower() in _PARAMETER_SECTIONS
    index += 2
    name, text = None, []
    while index < len(lines):
        line = lines[index]
        if index + 1 < len(lines) and line.strip() and re.match(r"^-{3,}\s*$", lines[index + 1]):
            break
        index += 1
        if not wanted or not line.strip():
            continue
        entry = _NUMPY_ENTRY.match(line) if _indent(line) == 0 else None
        if entry:
            if name:
                _keep(parameters, name, text)
            name, text = entry.group(1), []
        else:
            text.append(line)
    if name:
        _keep(parameters, name, text)
    return index


def _rest_field(lines, index, parameters):
    kind, names, first = _REST_FIELD.match(lines[index]).groups()
    text = [first]
    index += 1
    while index < len(lines) and lines[index].strip() and _indent(lines[index]) > 0:
        text.append(lines[index])
        index += 1
    if kind in _REST_PARAMETER and names.strip():
        _keep(parameters, names.split()[-1], text)
    return index
