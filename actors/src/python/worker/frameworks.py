"""Tool objects of agent frameworks, told by their classes' names: no framework is imported here."""
import inspect

from toolyard_worker import docs
from toolyard_worker.shapes import Inexpressible
from toolyard_worker.signature import Function


def tool_of(value):
    """The `Foreign` of a framework's tool object; None for everything else."""
    if isinstance(value, type):
        return None
    for kind in type(value).__mro__:
        make = _KINDS.get(f"{kind.__module__}.{kind.__qualname__}")
        if make is not None:
            return make(value)
    return None


def is_tool(value):
    return tool_of(value) is not None


class Foreign:
    """A framework's tool: its name, and how a function is made of it."""

    def __init__(self, tool):
        self.tool = tool
        self.name = tool.name

    def function(self, options):
        """What `Function` is for a plain function.

        Raises Inexpressible when the tool cannot be called without its framework's agent.
        """
        raise NotImplementedError


class LangChain(Foreign):
    def function(self, options):
        tool = self.tool
        call = getattr(tool, "func", None) or getattr(tool, "coroutine", None) or tool._run
        # What the framework would fill in is not among a tool's arguments.
        shown = set(_properties(tool.tool_call_schema))
        filled_in = [name for name in inspect.signature(call).parameters if name not in shown]
        if getattr(tool, "response_format", "content") == "content_and_artifact":
            call = _first_of(call)
        options = {**options, "exclude": (*options["exclude"], *filled_in)}
        return _described(Function(self.name, call, **options), tool, options)


class PydanticAi(Foreign):
    def function(self, options):
        tool = self.tool
        if tool.takes_ctx:
            raise Inexpressible("its first parameter is a run context of its framework, and there is none here")
        if getattr(tool, "requires_approval", False):
            raise Inexpressible(_APPROVAL)
        return _described(Function(self.name, tool.function, **options), tool, options)


class OpenAiAgents(Foreign):
    def function(self, options):
        if getattr(self.tool, "needs_approval", False):
            raise Inexpressible(_APPROVAL)
        for name in options["exclude"]:
            if name in _properties(self.tool.params_json_schema):
                raise Inexpressible(f"parameter {name}: it is excluded, but its framework has fixed the schema")
        return Invoked(self.tool, options)


class Invoked:
    """A tool that its framework calls, by the schema that the framework made."""

    def __init__(self, tool, options):
        self.name = tool.name
        self.description = docs.parse(tool.description).description(options["long_description"])
        self.schema = tool.params_json_schema
        self.excluded = []
        self.takes = set()
        self.is_async = True
        self.interleaves = False  # the framework awaits sync functions too
        self._tool = tool
        if getattr(tool, "_use_default_failure_error_function", False):
            # Else an exception would come back as the text of a result that looks fine.
            tool._use_default_failure_error_function = False
            tool._failure_error_function = None

    def bind(self, given, extra):
        return (), {"given": given}

    async def call(self, given):
        import json

        from agents.tool_context import ToolContext

        text = json.dumps(given, ensure_ascii=False)
        context = ToolContext(context=None, tool_name=self.name, tool_call_id="", tool_arguments=text)
        return await self._tool.on_invoke_tool(context, text)


_APPROVAL = "its framework would ask for approval, which it cannot here: leave that out, and let a permission rule ask"


def _properties(schema):
    """The names in a schema, or in that of a pydantic model."""
    if isinstance(schema, type):
        schema = schema.model_json_schema() if hasattr(schema, "model_json_schema") else schema.schema()
    return schema.get("properties", {})


def _first_of(call):
    """The content alone of a pair of content and artifact."""
    import functools

    if inspect.iscoroutinefunction(call):
        @functools.wraps(call)
        async def first(*positional, **named):
            return (await call(*positional, **named))[0]
    else:
        @functools.wraps(call)
        def first(*positional, **named):
            return call(*positional, **named)[0]
    return first


def _described(function, tool, options):
    """The framework's description wins over the function's own."""
    if tool.description:
        function.description = docs.parse(tool.description).description(options["long_description"])
    return function


_KINDS = {
    "langchain_core.tools.base.BaseTool": LangChain,
    "agents.tool.FunctionTool": OpenAiAgents,
    "pydantic_ai.tools.Tool": PydanticAi,
}
