"""Runs lists of trivial calls by one of several Python packages; prints CPU nanoseconds per call, a line for each list.

    python python_peers.py PEER LIST.json...

The same rules as in `rust/src/main.rs`: a call in memory (id, name, arguments as text) becomes a text. The tools
are async functions: some packages give plain ones to threads, which costs them more. The calls of a list run at once,
as each package does it.
"""
import asyncio
import json
import sys
import time

TOOLS = 8
ENOUGH = 0.2  # seconds of CPU time; a list is repeated until it took them


def functions():
    def make(i):
        async def add(a: float, b: float) -> float:
            """Adds two numbers."""
            return a + b

        add.__name__ = add.__qualname__ = f"tool_{i}"
        return add

    return [make(i) for i in range(TOOLS)]


def evofabric():
    from evofabric.core.tool import ToolManager
    from evofabric.core.typing import Function, ToolCall

    manager = ToolManager(tools=functions())

    async def run(items):
        calls = [ToolCall(id=i["id"], type="function", function=Function(**i["function"])) for i in items]
        return [result.content for result in await manager.call_tools(calls)]

    return run


def langgraph():
    from langchain_core.messages import AIMessage
    from langchain_core.tools import StructuredTool
    from langgraph.graph import END, START, MessagesState, StateGraph
    from langgraph.prebuilt import ToolNode

    tools = [StructuredTool.from_function(coroutine=f, name=f.__name__) for f in functions()]
    graph = StateGraph(MessagesState).add_node("tools", ToolNode(tools))
    graph = graph.add_edge(START, "tools").add_edge("tools", END).compile()

    def call(item):
        function = item["function"]
        return {"id": item["id"], "name": function["name"], "args": json.loads(function["arguments"])}

    async def run(items):
        message = AIMessage(content="", tool_calls=[call(item) for item in items])
        state = await graph.ainvoke({"messages": [message]})
        return [answer.content for answer in state["messages"][1:]]

    return run


def openai_agents():
    from agents import function_tool
    from agents.tool_context import ToolContext

    tools = {f.__name__: function_tool(f) for f in functions()}

    def call(item):
        name, arguments = item["function"]["name"], item["function"]["arguments"]
        context = ToolContext(None, tool_name=name, tool_call_id=item["id"], tool_arguments=arguments)
        return tools[name].on_invoke_tool(context, arguments)

    async def run(items):
        return [str(answer) for answer in await asyncio.gather(*map(call, items))]

    return run


def autogen_core():
    from autogen_core.tools import FunctionTool, StaticWorkbench

    bench = StaticWorkbench([FunctionTool(f, "Adds two numbers.", name=f.__name__) for f in functions()])

    def call(item):
        function = item["function"]
        return bench.call_tool(function["name"], json.loads(function["arguments"]), call_id=item["id"])

    async def run(items):
        return [answer.to_text() for answer in await asyncio.gather(*map(call, items))]

    return run


PEERS = {
    "evofabric": evofabric,
    "langgraph": langgraph,
    "openai-agents": openai_agents,
    "autogen-core": autogen_core,
}


async def measure(run, text):
    """Checks the answers, then repeats the list until that took enough time."""
    items = json.loads(text)
    sums = [sum(json.loads(item["function"]["arguments"]).values()) for item in items]
    answers = await run(items)
    assert list(map(float, answers)) == sums, answers
    repeats = 1
    while True:
        before = time.process_time()
        for _ in range(repeats):
            await run(items)
        took = time.process_time() - before
        if took >= ENOUGH:
            return took / repeats / len(items)
        repeats *= 2


async def main(peer, *paths):
    run = PEERS[peer]()
    for path in paths:
        with open(path, encoding="utf-8") as file:
            print(f"{await measure(run, file.read()) * 1e9:.1f}")


asyncio.run(main(*sys.argv[1:]))
