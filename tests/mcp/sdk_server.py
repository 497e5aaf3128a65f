"""An MCP server on the Python SDK, of either generation, or on FastMCP where that is installed.

    sdk_server.py [PORT [streamable-http | sse]]

It has the tools that the file EXTRA names, one a line, beside its own.
"""

import asyncio
import os
import sys

FIRST = False
FAST = False
try:
    from fastmcp import Context, FastMCP as Server
    from fastmcp.utilities.types import Image

    FAST = True
except ImportError:
    try:
        from mcp.server import MCPServer as Server
        from mcp.server.mcpserver import Context, Image
    except ImportError:
        from mcp.server.fastmcp import Context, FastMCP as Server, Image

        FIRST = True

PORT = int(sys.argv[1]) if len(sys.argv) > 1 else None
TRANSPORT = sys.argv[2] if len(sys.argv) > 2 else "streamable-http"
server = Server("sdk", **({"port": PORT} if FIRST and PORT else {}))


@server.tool()
def add(a: int, b: int = 1) -> int:
    "Adds."
    return a + b


@server.tool()
def pid() -> int:
    return os.getpid()


def note_down(text: str) -> None:
    file = os.open(os.environ["NOTES"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(file, f"{text}\n".encode())
    os.close(file)


@server.tool()
def note(text: str) -> str:
    "Writes the text down, and gives it back."
    note_down(text)
    return text


@server.tool()
async def slow(text: str) -> str:
    "Writes the text down, and gives it back after a moment."
    note_down(text)
    await asyncio.sleep(0.05)
    return text


@server.tool()
async def hold(text: str, file: str) -> str:
    "Writes the text down, and gives it back as soon as there is a file."
    note_down(text)
    while not os.path.exists(file):
        await asyncio.sleep(0.01)
    return text


@server.tool()
def big() -> str:
    return "x" * 500_000


@server.tool()
def picture() -> Image:
    return Image(data=b"\x89PNG", format="png")


@server.tool()
def square(n: int) -> int:
    return n * n


@server.tool(**({"output_schema": None} if FAST else {"structured_output": False}))
def empty() -> list:
    return []


@server.tool()
def fail() -> str:
    raise ValueError("boom")


@server.tool()
def crash() -> str:
    os._exit(3)


@server.tool()
async def grow(ctx: Context) -> str:
    def grown() -> str:
        return "grown"

    server.add_tool(grown)
    if FIRST:
        await ctx.session.send_tool_list_changed()
    else:
        await ctx.notify_tools_changed()
    return "done"


@server.resource("res://hello")
def hello() -> str:
    return "hello"


@server.prompt()
def ask(topic: str) -> str:
    return f"Tell me about {topic}"


def extra(name: str) -> None:
    def added() -> str:
        return name

    server.tool(name=name)(added)


if os.path.exists(os.environ.get("EXTRA", "")):
    with open(os.environ["EXTRA"]) as names:
        for line in names.read().split():
            extra(line)

QUIET = {"show_banner": False} if FAST else {}
if PORT:
    server.run(transport=TRANSPORT, **({} if FIRST else {"port": PORT}), **QUIET)
else:
    server.run(**QUIET)
