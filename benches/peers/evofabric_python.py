"""What a call of a Python function costs in EvoFabric's own process, for comparison with the bench `python`.

    python3 -m venv venv && venv/bin/pip install 'evofabric==0.1.4' 'mcp<2'
    venv/bin/python benches/peers/evofabric_python.py

Prints microseconds of wall and of processor time per call, the best of several rounds, for lists of 1 and 100 calls.
"""
import asyncio
import time

from evofabric.core.tool import ToolManager
from evofabric.core.typing import Function, ToolCall

ROUNDS = 30
CALLS_A_ROUND = 1000


def add(a: float, b: float):
    return a + b


async def measure(manager, calls):
    best_wall = best_cpu = float("inf")
    for _ in range(ROUNDS):
        lists = CALLS_A_ROUND // len(calls)
        wall, cpu = time.perf_counter(), time.process_time()
        for _ in range(lists):
            results = await manager.call_tools(calls)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        assert all(result.success for result in results)
        best_wall = min(best_wall, wall / lists / len(calls))
        best_cpu = min(best_cpu, cpu / lists / len(calls))
    return best_wall * 1e6, best_cpu * 1e6


async def main():
    manager = ToolManager(tools=[add])
    for count in (1, 100):
        call = ToolCall(id="1", function=Function(name="add", arguments='{"a":1.5,"b":2}'), type="function")
        wall, cpu = await measure(manager, [call] * count)
        print(f"evofabric call_tools, lists of {count}: {wall:.1f} us wall, {cpu:.1f} us cpu per call")


asyncio.run(main())
