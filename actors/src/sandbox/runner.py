import inspect
import json
import sys

given = json.load(sys.stdin)
names = {"__name__": "tool"}
exec(compile(given["source"], "<tool>", "exec"), names)
result = names[given["function"]](**given["arguments"])
if inspect.isawaitable(result):
    import asyncio

    async def wait():
        return await result

    result = asyncio.run(wait())
sys.stdout.write(given["mark"] + json.dumps(result, allow_nan=False))
