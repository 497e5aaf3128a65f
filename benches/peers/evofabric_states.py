"""What saving and loading the states of 10,000 tools costs in EvoFabric's own process, for comparison with the bench
`state`, which saves and loads as many rows.

    target/peers/evofabric/bin/python benches/peers/evofabric_states.py

Prints milliseconds of processor time for a save and a load, the median of seven.
"""
import asyncio
import os
import statistics
import tempfile
import time
import types

from evofabric.core.tool import ToolManager
from evofabric.core.typing import ToolInnerState

STATES = 10_000


def remember(inner_state: ToolInnerState):
    inner_state.state["calls"] += 1


async def main():
    tools = []
    for number in range(STATES):
        name = f"agent_{number}"
        tool = types.FunctionType(remember.__code__, remember.__globals__, name)
        tool.__annotations__ = remember.__annotations__
        tools.append((tool, ToolInnerState(state={"calls": number})))
    manager = ToolManager(tools=tools)
    saves, loads = [], []
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "states.json")
        for _ in range(7):
            begin = time.process_time()
            await manager.save_state(path)
            middle = time.process_time()
            await manager.load_state(path)
            saves.append(middle - begin)
            loads.append(time.process_time() - middle)
    state = (await manager.dump_state(f"agent_{STATES - 1}"))
    assert str(STATES - 1) in str(state), state
    print(f"evofabric, {STATES} states: save {statistics.median(saves) * 1e3:.0f} ms, load {statistics.median(loads) * 1e3:.0f} ms")


asyncio.run(main())
