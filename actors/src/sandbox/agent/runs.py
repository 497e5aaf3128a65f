"""Runs as the agent sees them: what they print, how they end."""

CHUNK = 1 << 16
# How long an interrupted session may take to come back before it is killed.
INTERRUPT_GRACE = 1.0


def pipe():
    return os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)


class Run:
    """One run, in a process of its own or in a session."""

    def __init__(self, header):
        self.id = header["id"]
        self.deadline = time.monotonic() + header["timeout_ms"] / 1000
        self.begun = time.monotonic()
        self.left = [None, header["max_output"], header["max_output"]]
        self.truncated = False
        self.timed_out = self.cancelled = False
        self.session = None
        self.pid = None
        self.artifacts = header["artifacts"]
        self.before = files_below(FOLDER) if self.artifacts else None
        self.oom_before = OOM.read()

    def output(self, stream, data):
        """Passes on what was printed, up to the limit; the rest is read and thrown away, so that the run goes on."""
        keep = data[:self.left[stream]]
        self.left[stream] -= len(keep)
        self.truncated = self.truncated or len(keep) < len(data)
        if keep:
            send({"op": "out", "id": self.id, "stream": stream}, keep)

    def end(self, code, signal_number, value=None, session_lost=False):
        answer = {
            "op": "done",
            "id": self.id,
            "code": code,
            "signal": signal_number,
            "value": value,
            "timed_out": self.timed_out,
            "cancelled": self.cancelled,
            "oom": OOM.read() > self.oom_before,
            "truncated": self.truncated,
            "session_lost": session_lost,
            "elapsed_us": int((time.monotonic() - self.begun) * 1e6),
        }
        if self.artifacts:
            after, complete = files_below(FOLDER)
            answer["artifacts"] = artifacts(self.before[0], after)
            answer["artifacts_complete"] = complete and self.before[1]
        send(answer)


class Outputs:
    """The two pipes that a process prints to."""

    def __init__(self, loop, take):
        self.loop, self.take = loop, take
        (out, self.out), (err, self.err) = os.pipe2(os.O_CLOEXEC), os.pipe2(os.O_CLOEXEC)
        self.streams = {out: 1, err: 2}
        for fd in (out, err):
            os.set_blocking(fd, False)
            loop.watch(fd, lambda fd=fd: self.read(fd))

    def begun(self):
        os.close(self.out)
        os.close(self.err)

    def read(self, fd):
        """Takes what is there, once. False when there is no more for now."""
        try:
            data = os.read(fd, CHUNK)
        except BlockingIOError:
            return False
        if data:
            self.take(self.streams[fd], data)
            return True
        self.loop.forget(fd)
        del self.streams[fd]
        return False

    def drain(self):
        for fd in list(self.streams):
            while self.read(fd):
                pass

    def close(self):
        for fd in list(self.streams):
            self.loop.forget(fd)
        self.streams.clear()


class Spare:
    """A process forked ahead, so that the next run need not wait for that."""

    # A pipe takes this much without waiting for its reader, who may have been stopped.
    MOST = 32 * 1024

    def __init__(self, loop):
        self.outputs = Outputs(loop, lambda *_: None)
        orders, self.to_spare = pipe()
        os.set_blocking(orders, True)
        stdin = os.open("/dev/null", os.O_RDONLY | os.O_CLOEXEC)
        try:
            self.pid = fork_spare(stdin, self.outputs.out, self.outputs.err, orders)
        except OSError:
            self.outputs.close()
            os.close(self.to_spare)
            raise
        finally:
            os.close(stdin)
            os.close(orders)
            self.outputs.begun()

    def use(self, kind, source, stdin):
        """Lets it run this. False when it is gone, or this is too much for it."""
        order = kind[:1].encode() + len(source).to_bytes(4, "big") + len(stdin).to_bytes(4, "big") + source + stdin
        try:
            return len(order) <= self.MOST and os.write(self.to_spare, order) == len(order)
        except OSError:
            return False

    def close(self):
        os.close(self.to_spare)


class Session:
    """The agent's end of a session."""

    def __init__(self, loop, name):
        self.loop, self.name = loop, name
        self.run = None
        self.answer = bytearray()
        self.orders = bytearray()
        self.killed_at = None
        self.outputs = Outputs(loop, self.printed)
        orders, self.to_session = pipe()
        self.from_session, answers = pipe()
        os.set_blocking(orders, True)
        os.set_blocking(answers, True)
        stdin = os.open("/dev/null", os.O_RDONLY | os.O_CLOEXEC)
        try:
            self.pid = fork_session(stdin, self.outputs.out, self.outputs.err, orders, answers)
        except OSError:
            self.outputs.close()
            for fd in (self.to_session, self.from_session):
                os.close(fd)
            raise
        finally:
            for fd in (stdin, orders, answers):
                os.close(fd)
            self.outputs.begun()
        loop.watch(self.from_session, self.answered)

    def printed(self, stream, data):
        # What background threads print between runs belongs to none.
        if self.run is not None:
            self.run.output(stream, data)

    def begin(self, run, source):
        self.outputs.drain()
        run.session = self
        self.run = run
        self.orders += len(source).to_bytes(4, "big") + source
        self.write_orders()

    def write_orders(self):
        try:
            del self.orders[:os.write(self.to_session, self.orders)]
        except BlockingIOError:
            pass
        except BrokenPipeError:
            self.orders.clear()
        self.loop.watch_writable(self.to_session, self.write_orders if self.orders else None)

    def answered(self):
        try:
            data = os.read(self.from_session, CHUNK)
        except BlockingIOError:
            return
        self.answer += data
        length = int.from_bytes(self.answer[:4], "big")
        if not data or length > 6 * LONGEST_VALUE + 1024 or self.run is None:
            # It has closed its end, or says what no session says.
            self.loop.unwatch(self.from_session)
            self.kill()
            return
        if len(self.answer) < 4 + length:
            return
        try:
            end = json.loads(bytes(self.answer[4:4 + length]))
            code, value = int(end["code"]), end["value"]
            if not (value is None or isinstance(value, str)):
                raise ValueError
        except (ValueError, KeyError, TypeError):
            return self.kill()
        self.answer.clear()
        self.outputs.drain()
        run, self.run = self.run, None
        self.killed_at = None
        self.loop.done(run)
        run.end(code, None, value)

    def stop_run(self):
        """Asks the code to stop; what does not is killed, with the session."""
        kill(self.pid, signal.SIGINT)
        self.killed_at = time.monotonic() + INTERRUPT_GRACE

    def kill(self):
        self.killed_at = None
        kill_trees([self.pid])

    def ended(self, status):
        """The process is gone."""
        self.outputs.drain()
        self.outputs.close()
        for fd in (self.from_session, self.to_session):
            self.loop.forget(fd)
        if self.run is not None:
            run, self.run = self.run, None
            self.loop.done(run)
            run.end(*how(status), session_lost=True)


def how(status):
    """Exit code and signal of a wait status."""
    if os.WIFSIGNALED(status):
        return None, os.WTERMSIG(status)
    return os.WEXITSTATUS(status), None
