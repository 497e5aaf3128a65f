"""What a session in a container is told to do. Answers are texts that any way back leaves as they are."""


class Remote:
    def __init__(self, names, allowed_modules):
        self._names, self._cells = names, Cells(names)
        if allowed_modules is not None:
            allow_modules(names, allowed_modules)

    def run(self, code, most_value):
        return self._packed(self._cells.run(code, most_value))

    def save(self, most_bytes, path):
        with open(path, "wb") as file:
            file.write(self._written(save(self._names, most_bytes)))

    def load(self, path):
        import json

        with open(path, "rb") as file:
            return self._packed(load(self._names, json.loads(file.read())))

    def _packed(self, answer):
        import base64

        return base64.b64encode(self._written(answer)).decode()

    def _written(self, answer):
        import json

        return json.dumps(answer, ensure_ascii=False).encode("utf-8", "replace")
