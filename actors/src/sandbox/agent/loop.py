"""The agent: takes the host's orders, starts runs and tells of them, until the host goes away."""

# A host that started us says so at once.
FIRST_WORD = 60.0
# How many processes are forked ahead: agents make a few calls in a row, and then think.
SPARES = 4
# How long nothing must have happened before one is: forking is not to hold up what comes next.
IDLE = 0.003
# What this process ends with when a run has changed it.
CHANGED = 70
CHANGED_BECAUSE = "an earlier run has changed the limits of this container, which ends now"


class Agent:
    def __init__(self):
        self.poll = select.epoll()
        self.handlers = {}
        self.writers = {}
        self.input = bytearray()
        self.runs = {}
        self.roots = {}
        self.sessions = {}
        self.spares = []
        self.wants_spare = True
        self.end_of_life = time.monotonic() + FIRST_WORD
        self.operations = {"put": put, "get": get, "list": listing}
        os.set_blocking(0, False)
        self.watch(0, self.read_orders)
        wake, woken = pipe()
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        signal.set_wakeup_fd(woken, warn_on_full_buffer=False)
        self.wake = wake
        self.watch(wake, self.child_ended)

    def watch(self, fd, handler):
        self.handlers[fd] = handler
        self.poll.register(fd, select.EPOLLIN)

    def watch_writable(self, fd, handler):
        if handler is None:
            if self.writers.pop(fd, None) is not None:
                self.poll.unregister(fd)
        elif fd not in self.writers:
            self.writers[fd] = handler
            self.poll.register(fd, select.EPOLLOUT)

    def unwatch(self, fd):
        if self.handlers.pop(fd, None) is not None or self.writers.pop(fd, None) is not None:
            self.poll.unregister(fd)

    def forget(self, fd):
        """Stops watching, and closes."""
        self.unwatch(fd)
        os.close(fd)

    def serve(self):
        while True:
            idle = self.wants_spare and not self.runs
            events = self.poll.poll(min(IDLE, self.pause()) if idle else self.pause())
            if idle and not events:
                self.make_spare()
            for fd, _ in events:
                handler = self.handlers.get(fd) or self.writers.get(fd)
                if handler is not None:
                    handler()
            self.look_at_clock()

    def make_spare(self):
        try:
            spare = Spare(self)
            self.roots[spare.pid] = spare
            self.spares.append(spare)
            self.wants_spare = len(self.spares) < SPARES
        except OSError:
            # Then runs begin as they can.
            self.wants_spare = False

    def pause(self):
        times = [run.deadline for run in self.runs.values() if not run.timed_out and not run.cancelled]
        times += [session.killed_at for session in self.sessions.values() if session.killed_at is not None]
        return max(0.0, min([*times, self.end_of_life]) - time.monotonic())

    def look_at_clock(self):
        now = time.monotonic()
        if now >= self.end_of_life:
            os._exit(0)
        for run in list(self.runs.values()):
            if now >= run.deadline and not run.timed_out and not run.cancelled:
                run.timed_out = True
                self.stop(run)
        for session in list(self.sessions.values()):
            if session.killed_at is not None and now >= session.killed_at:
                session.kill()

    def read_orders(self):
        try:
            data = os.read(0, 1 << 20)
        except BlockingIOError:
            return
        if not data:
            # The host is gone, and with the first process of a container all of it ends.
            os._exit(0)
        self.input += data
        while True:
            frame = split(self.input)
            if frame is None:
                return
            self.obey(*frame)

    def obey(self, header, body):
        operation = header["op"]
        if operation == "run":
            self.begin(header, body)
        elif operation == "cancel":
            run = self.runs.get(header["id"])
            if run is not None and not run.timed_out and not run.cancelled:
                run.cancelled = True
                self.stop(run)
        elif operation == "hello":
            self.end_of_life = time.monotonic() + header["life_ms"] / 1000
        elif operation == "close_session":
            self.close_session(header)
        elif operation == "reset":
            self.reset(header)
        elif operation == "ping":
            send({"op": "done", "id": header["id"]})
        else:
            self.answer(header, body)

    def answer(self, header, body):
        try:
            said, data = self.operations[header["op"]](header, body)
        except (OSError, ValueError) as error:
            said, data = {"error": shown(getattr(error, "strerror", None) or str(error))}, b""
        send({"op": "done", "id": header["id"], **said}, data)

    def begin(self, header, body):
        if CONDITION.has_changed():
            # Nothing that begins here would be what its caller may expect.
            send({"op": "done", "id": header["id"], "error": CHANGED_BECAUSE})
            os._exit(CHANGED)
        run = Run(header)
        source, stdin = body[:header["code_len"]], body[header["code_len"]:]
        try:
            name = header.get("session")
            if name is not None:
                self.begin_in_session(run, name, source)
            else:
                self.begin_alone(run, header["kind"], source, stdin)
        except OSError as error:
            # No process, no memory, no descriptor was to be had.
            send({"op": "done", "id": run.id, "error": shown(error.strerror or str(error))})
            return
        self.runs[run.id] = run

    def begin_alone(self, run, kind, source, stdin):
        spare = self.spares[-1] if self.spares else None
        if spare is not None and spare.use(kind, source, stdin):
            self.spares.pop()
            spare.close()
            run.pid, run.outputs = spare.pid, spare.outputs
            run.outputs.take = run.output
        else:
            self.fork_run(run, kind, source, stdin)
        self.roots[run.pid] = run

    def fork_run(self, run, kind, source, stdin):
        outputs = Outputs(self, run.output)
        given = memory_file(stdin) if stdin else os.open("/dev/null", os.O_RDONLY | os.O_CLOEXEC)
        try:
            run.pid = fork_run(kind, source, given, outputs.out, outputs.err)
        except OSError:
            outputs.close()
            raise
        finally:
            os.close(given)
            outputs.begun()
        run.outputs = outputs

    def begin_in_session(self, run, name, source):
        # One that has just been killed is none any more.
        self.child_ended()
        session = self.sessions.get(name)
        if session is None:
            session = self.sessions[name] = Session(self, name)
            self.roots[session.pid] = session
        if session.run is not None:
            raise OSError("the session is at work")
        session.begin(run, source)

    def stop(self, run):
        if run.session is not None:
            run.session.stop_run()
        else:
            kill_trees([run.pid])

    def done(self, run):
        del self.runs[run.id]
        self.wants_spare = len(self.spares) < SPARES

    def child_ended(self):
        try:
            os.read(self.wake, 512)
        except BlockingIOError:
            pass
        ended = []
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                break
            if pid == 0:
                break
            root = self.roots.pop(pid, None)
            if root is not None:
                ended.append((root, status))
        # What the ended ones have left goes before they are reported: then their pipes have an end, too.
        sweep(set(self.roots))
        for root, status in ended:
            if isinstance(root, Spare):
                root.close()
                root.outputs.close()
                self.spares.remove(root)
                self.wants_spare = True
            elif isinstance(root, Session):
                self.sessions = {name: other for name, other in self.sessions.items() if other is not root}
                root.ended(status)
            else:
                root.outputs.drain()
                root.outputs.close()
                self.done(root)
                root.end(*how(status))

    def close_session(self, header):
        session = self.sessions.pop(header["session"], None)
        if session is not None:
            session.kill()
        send({"op": "done", "id": header["id"]})

    def reset(self, header):
        """Forgets all that was, by becoming a new process."""
        kill(-1, signal.SIGKILL)
        try:
            while True:
                os.waitpid(-1, 0)
        except ChildProcessError:
            pass
        try:
            if CONDITION.has_changed():
                raise OSError(CHANGED_BECAUSE)
            forget()
        except OSError as error:
            send({"op": "done", "id": header["id"], "error": shown(str(error))})
            return
        send({"op": "done", "id": header["id"]})
        with open("/proc/self/cmdline", "rb") as line:
            command = line.read().split(b"\0")[:-1]
        os.execv(sys.executable, command)


OOM = OomCounter()
CONDITION = Condition()
AGENT = Agent()
send({"op": "ready", "python": "%d.%d.%d" % sys.version_info[:3]})
hide_from_runs()
get_warm()
AGENT.serve()
