"""Docstrings in Google, NumPy, reST and Epydoc style.

What describes parameters goes to the parameters. What comes back and what is raised is left out: a model learns it from
the result. All other sections, such as notes and warnings, stay in the description.
"""
import inspect
import re

_PARAMETER_SECTIONS = {
    "args", "arguments", "parameters", "params", "keyword args", "keyword arguments", "other parameters",
}
_LEFT_OUT_SECTIONS = {"return", "returns", "yield", "yields", "raise", "raises", "receives", "attributes"}
_GOOGLE_SECTION = re.compile(r"^(\w+(?: \w+)?)\s*:\s*$")
_GOOGLE_ENTRY = re.compile(r"^(\*{0,2}\w+)\s*(?:\(.*?\))?\s*:\s?(.*)$")
_NUMPY_ENTRY = re.compile(r"^(\*{0,2}\w+(?:\s*,\s*\*{0,2}\w+)*)\s*(?::.*)?$")
_UNDERLINE = re.compile(r"^-{3,}\s*$")
_FIELD = re.compile(r"^[:@](\w+)([^:]*):(?:\s+|$)(.*)$")  # reST begins with a colon, Epydoc with an at sign
_PARAMETER_FIELDS = {"param", "parameter", "arg", "argument", "key", "keyword", "kwarg", "kwparam"}
_LEFT_OUT_FIELDS = {
    "type", "return", "returns", "rtype", "raise", "raises", "except", "exception", "yield", "yields", "ytype",
    "var", "ivar", "cvar", "vartype",
}


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
        google, field = _GOOGLE_SECTION.match(line), _FIELD.match(line)
        if _is_underlined(lines, index) and _is_taken_out(line):
            index = _numpy_section(lines, index, parameters)
        elif google and _is_taken_out(google.group(1)):
            index = _google_section(lines, index, parameters)
        elif field and field.group(1) in _PARAMETER_FIELDS | _LEFT_OUT_FIELDS:
            index = _field(lines, index, parameters)
        else:
            prose.append(line)
            index += 1
    text = re.sub(r"\n{3,}", "\n\n", "\n".join(line.rstrip() for line in prose)).strip()
    short, _, long = text.partition("\n\n")
    return Doc(_joined(short.split("\n")), long.strip(), parameters)


def _is_taken_out(title):
    return title.strip().lower() in _PARAMETER_SECTIONS | _LEFT_OUT_SECTIONS


def _is_underlined(lines, index):
    return bool(lines[index].strip()) and index + 1 < len(lines) and bool(_UNDERLINE.match(lines[index + 1]))


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
        if _is_underlined(lines, index):
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


def _field(lines, index, parameters):
    kind, names, first = _FIELD.match(lines[index]).groups()
    text = [first]
    index += 1
    while index < len(lines) and lines[index].strip() and _indent(lines[index]) > 0:
        text.append(lines[index])
        index += 1
    if kind in _PARAMETER_FIELDS and names.strip():
        _keep(parameters, names.split()[-1], text)
    return index
