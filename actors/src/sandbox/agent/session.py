"""A session: an interpreter that stays, in a process of its own."""

LONGEST_VALUE = 64 * 1024
ONLY_AST = 0x400


class Interpreter:
    """Runs pieces of code one after another in one namespace, in the session's process."""

    def __init__(self, orders, answers):
        self.orders, self.answers = orders, answers
        self.main = become_python()
        self.cell = 0
        self.running = False
        signal.signal(signal.SIGINT, self.interrupt)

    def interrupt(self, *_):
        # One that comes late must not hit what follows.
        if self.running:
            raise KeyboardInterrupt

    def serve(self):
        while True:
            length = read_exactly(self.orders, 4)
            source = read_exactly(self.orders, int.from_bytes(length, "big"))
            answer = json.dumps(self.run(source)).encode()
            os.write(self.answers, len(answer).to_bytes(4, "big") + answer)

    def run(self, source):
        self.cell += 1
        name = "<cell %d>" % self.cell
        code, value = 0, None
        try:
            try:
                self.running = True
                value = self.evaluate(source, name)
            finally:
                self.running = False
        except SystemExit as end:
            code = exit_code(end)
        except BaseException as error:
            report(error, name, source)
            code = 1
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except (OSError, ValueError):
                pass
        return {"code": code, "value": value}

    def evaluate(self, source, name):
        """Runs the code; the text of the last line's value, when that is an expression with one."""
        import _ast

        tree = compile(source, name, "exec", ONLY_AST, dont_inherit=True)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], _ast.Expr) else None
        exec(compile(tree, name, "exec", dont_inherit=True), self.main.__dict__)
        if last is None:
            return None
        value = eval(compile(_ast.Expression(last.value), name, "eval", dont_inherit=True), self.main.__dict__)
        return None if value is None else shown(repr(value)[:LONGEST_VALUE])


def fork_session(stdin, stdout, stderr, orders, answers):
    def work():
        become_run()
        Interpreter(3, 4).serve()

    return fork(work, stdin, stdout, stderr, (orders, answers))
