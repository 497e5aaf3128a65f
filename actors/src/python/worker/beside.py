"""Modules beside the tool file: for the file and its neighbours alone, and only when the library has none of that name.

The file's folder is on no path, because libraries try to import what is not there on most machines; whoever put a
module of such a name beside the file would be let in. A file whose libraries must find modules there (settings named by
a variable, say) appends the folder to `sys.path` itself.
"""
import importlib.machinery
import os
import site
import sys
import sysconfig

# They import for whoever calls them.
_GO_BETWEENS = ("importlib", "_frozen_importlib", "pkgutil", "pickle", "_pickle", "runpy")


class Beside:
    """Finds the modules in a folder for code that lies there."""

    def __init__(self, folder):
        self._folder = folder
        self._inside = os.path.join(folder, "")

    def find_spec(self, name, path=None, target=None):
        if path is not None or not self._is_asked_by_neighbour(sys._getframe(1)):
            return None
        return importlib.machinery.PathFinder.find_spec(name, [self._folder], target)

    def _is_asked_by_neighbour(self, frame):
        while frame is not None and str(frame.f_globals.get("__name__")).partition(".")[0] in _GO_BETWEENS:
            frame = frame.f_back
        if frame is None:
            return False
        asking = frame.f_globals.get("__file__") or frame.f_code.co_filename
        if not isinstance(asking, str) or not asking.startswith(self._inside):
            return False
        # A virtual environment may lie in the folder; what is installed there is no neighbour.
        return not any(asking.startswith(folder + os.sep) and len(folder) > len(self._folder) for folder in sys.path)


def add(folder):
    """Lets the files of a folder import one another."""
    sys.meta_path.append(Beside(folder))


def has_library(name):
    """Whether a module of this name is there without the file's folder."""
    if name in sys.modules:
        return True
    try:
        return importlib.machinery.PathFinder.find_spec(name) is not None or name in sys.builtin_module_names
    except (ImportError, ValueError):
        return False


def code_places():
    """Where this process takes code from, besides the file's folder."""
    modules = [entry for entry in sys.path if entry.startswith("/")]
    libraries = [sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")]
    if sys.prefix != sys.base_prefix:  # a virtual environment: its programs and its configuration too
        libraries.append(sys.prefix)
    libraries += getattr(site, "getsitepackages", list)()
    if site.ENABLE_USER_SITE:
        libraries.append(site.getusersitepackages())
    # Links beside the file may have led elsewhere.
    known = tuple(os.path.join(folder, "") for folder in (*modules, *libraries))
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if isinstance(file, str) and file.startswith("/") and not file.startswith(known):
            modules.append(os.path.dirname(os.path.realpath(file)))
    return {"module_folders": modules, "library_folders": libraries}
