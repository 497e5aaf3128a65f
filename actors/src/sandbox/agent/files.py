"""Files for the host. Whatever stands at a path may have been put there to trap us, so nothing here waits."""

import stat

FOLDER = os.getcwd()
MOST_LISTED = 4000
PASSED_OVER = ("__pycache__",)


def walk(top, visit):
    """Visits what is below a folder, without following links. False when there is too much."""
    folders, seen = [top], 0
    while folders:
        try:
            entries = list(os.scandir(folders.pop()))
        except OSError:
            continue
        for entry in entries:
            seen += 1
            if seen > MOST_LISTED:
                return False
            try:
                state = entry.stat(follow_symlinks=False)
            except OSError:
                continue
            if stat.S_ISDIR(state.st_mode):
                if entry.name not in PASSED_OVER:
                    folders.append(entry.path)
            visit(entry.path, state)
    return True


def files_below(top):
    """Regular files with what changes when they do, and whether these are all."""
    found = {}

    def visit(path, state):
        if stat.S_ISREG(state.st_mode):
            found[path] = (state.st_size, state.st_ctime_ns, state.st_ino, state.st_mtime_ns)

    return found, walk(top, visit)


def artifacts(before, after):
    changed = [(path, state) for path, state in after.items() if before.get(path) != state]
    return [[shown(os.path.relpath(path, FOLDER)), state[0]] for path, state in sorted(changed)]


def open_regular(path, flags):
    fd = os.open(os.path.join(FOLDER, path), flags | os.O_NONBLOCK | os.O_CLOEXEC, 0o644)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise OSError("not a regular file")
    return fd


def put(header, body):
    path = header["path"]
    os.makedirs(os.path.dirname(os.path.join(FOLDER, path)), exist_ok=True)
    fd = open_regular(path, os.O_WRONLY | os.O_CREAT | (os.O_APPEND if header["append"] else os.O_TRUNC))
    try:
        if header.get("executable"):
            os.fchmod(fd, 0o755)
        rest = memoryview(body)
        while rest:
            rest = rest[os.write(fd, rest):]
    finally:
        os.close(fd)
    return {}, b""


def get(header, _):
    fd = open_regular(header["path"], os.O_RDONLY)
    try:
        return {"size": os.fstat(fd).st_size}, os.pread(fd, header["length"], header["offset"])
    finally:
        os.close(fd)


def listing(header, _):
    found = []
    top = os.path.join(FOLDER, header["path"])
    if not stat.S_ISDIR(os.stat(top).st_mode):
        raise OSError("not a folder")

    def visit(path, state):
        found.append([shown(os.path.relpath(path, top)), state.st_size, stat.S_IFMT(state.st_mode)])

    complete = walk(top, visit)
    return {"entries": found, "complete": complete}, b""


def remove_below(top):
    """Empties a folder that no process uses any more."""
    for folder, folders, files in os.walk(top, topdown=False):
        for name in files:
            os.unlink(os.path.join(folder, name))
        for name in folders:
            path = os.path.join(folder, name)
            (os.unlink if os.path.islink(path) else os.rmdir)(path)


def writable_places():
    """The folders in which a run can leave something. Raises when one of them is not ours alone to empty."""
    places = []
    with open("/proc/mounts") as mounts:
        for line in mounts:
            _, path, kind = line.split()[:3]
            path = path.encode().decode("unicode_escape")
            if os.access(path, os.W_OK) and stat.S_ISDIR(os.stat(path).st_mode):
                if kind not in ("tmpfs", "mqueue"):
                    raise OSError(path + " is writable, and does not end with the container")
                places.append(path)
    return places


def forget():
    """Removes all traces of the runs so far. Raises when some cannot be removed."""
    for place in writable_places():
        remove_below(place)
    for kind in ("shm", "sem", "msg"):
        with open("/proc/sysvipc/" + kind) as objects:
            if len(objects.readlines()) > 1:
                raise OSError("System V objects are left")
