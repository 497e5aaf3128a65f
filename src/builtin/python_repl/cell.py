"""Runs pieces of code in one namespace, and says what came of them."""


class Cells:
    TRACEBACK_CHARS = 8_000

    # The name of the way in which text with half characters (lone surrogates), which no UTF-8 can carry, is written.
    WHOLE = "toolyard.whole"

    def __init__(self, names):
        import codecs
        import os

        codecs.register_error(self.WHOLE, self._made_whole)
        self._halves = False
        self._names = names
        self._count = 0
        self._process = os.getpid()

    def run(self, code, most_value):
        """The value of a last expression, the exception, or the exit status."""
        answer = {"value": None}
        self._halves = False
        try:
            value = self._execute(code)
            if value is not None:
                text = repr(value).encode("utf-8", self.WHOLE)
                answer["value"] = text[:most_value].decode("utf-8", "ignore")
                answer["value_bytes"] = len(text)
        except SystemExit as exit:
            answer["exited"] = self._status(exit.code)
        except BaseException as error:
            answer["raised"] = self._described(error)
        self._end_if_forked()
        answer["halves"] = self._halves
        return answer

    def _made_whole(self, error):
        """Two halves that belong together become one character, others U+FFFD, which is noted."""
        halves = error.object[error.start: error.end]
        whole = halves.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        self._halves = self._halves or "\ufffd" in whole
        return whole.encode(), error.end

    def _whole(self, text):
        return text.encode("utf-8", self.WHOLE).decode()

    def _end_if_forked(self):
        """A child process that ran to the end of the code has nothing to say here."""
        import os
        import sys

        if os.getpid() != self._process:
            try:
                sys.stdout.flush()
            finally:
                os._exit(0)

    def _execute(self, code):
        import ast
        import linecache

        self._count += 1
        name = f"<call {self._count}>"
        linecache.cache[name] = (len(code), None, code.splitlines(keepends=True), name)
        tree = ast.parse(code, name)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, name, "exec", dont_inherit=True), self._names)
        if last is not None:
            return eval(compile(ast.Expression(last.value), name, "eval", dont_inherit=True), self._names)

    def _status(self, code):
        import sys

        if code is None:
            return 0
        if isinstance(code, int):
            return int(code) & 0xFF
        print(code, file=sys.stderr)
        return 1

    def _described(self, error):
        """The last line of a traceback, and the whole of it from the code of the call on."""
        import traceback

        trace = error.__traceback__
        while trace and not trace.tb_frame.f_code.co_filename.startswith("<call "):
            trace = trace.tb_next
        try:
            full = "".join(traceback.format_exception(type(error), error, trace))
            last = traceback.format_exception_only(type(error), error)[-1].strip()
        except BaseException:  # the error's own code failed
            full = last = type(error).__name__
        if len(full) > self.TRACEBACK_CHARS:
            half = self.TRACEBACK_CHARS // 2
            full = full[:half] + "\n[…]\n" + full[-half:]
        return {"summary": self._whole(last[:1_000]), "traceback": self._whole(full)}
