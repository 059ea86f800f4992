"""CrewAI: tools for agents, and a toolbox that keeps those of an agent current."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from .._public import public_names
from ._approval import execute_unasked, execute_unasked_blocking
from ._open_arguments import OpenArguments
from ._parts import missing_package
from ._schema import inlined, optional_as_null, without_nulls

try:
    from crewai.tools import BaseTool
    from crewai.tools.tool_failure import ToolFailure, ToolFailureReason
    from crewai.utilities.agent_utils import get_tool_names, parse_tools, render_text_description_and_args
    from pydantic import BaseModel, ConfigDict, PrivateAttr
except ImportError as _error:
    raise missing_package("crewai", __name__) from _error

if TYPE_CHECKING:
    from crewai import Agent
    from crewai.agents.agent_executor import AgentExecutor
    from crewai.hooks import LLMCallHookContext

    from .._base import ManagerBase
    from .._native import Tool
    from .._output import ToolOutput

__all__ = ["Answer", "PoolTool", "Toolbox", "tools"]


def __dir__() -> list[str]:
    return public_names(globals())


def tools(manager: ManagerBase) -> list[PoolTool]:
    """The tools as they are now. They stay valid when a server restarts; `Toolbox` follows the list."""
    return Toolbox(manager).tools()


class Answer(str):
    """The text of a result for the model; `output` is all of it, for a hook's `raw_tool_result`."""

    output: ToolOutput


class PoolTool(BaseTool):
    """A tool of a manager. A result that is an error is a `ToolFailure`, to which CrewAI has policies."""

    _tool: Any = PrivateAttr()
    _box: Any = PrivateAttr()
    _arguments: Any = PrivateAttr()
    _schema: Any = PrivateAttr()

    def __init__(self, tool: Tool, box: Toolbox | None = None) -> None:
        arguments = OpenArguments(tool, "CrewAI")
        schema = arguments.schema()
        super().__init__(
            name=tool.name,
            description=tool.description,
            args_schema=arguments_model(tool.name, schema),
            # Results must not be cached: the same call may give another one now.
            cache_function=never,
        )
        self._tool = tool
        self._box = box
        self._arguments = arguments
        self._schema = inlined(schema, schema)

    def _run(self, /, **arguments: Any) -> Answer | ToolFailure:
        return answer(execute_unasked_blocking(self._tool, self._given(arguments)))

    async def _arun(self, /, **arguments: Any) -> Answer | ToolFailure:
        return answer(await execute_unasked(self._tool, self._given(arguments)))

    def _given(self, arguments: dict[str, Any]) -> Any:
        return self._arguments.gathered(without_nulls(arguments, self._schema))


class Toolbox:
    """A manager's tools; as a hook before the calls of a model, it brings what changed into a running agent.

    It concerns itself with agents that have tools of this box, and with models that call functions natively.
    """

    def __init__(self, manager: ManagerBase) -> None:
        self._manager = manager

    def tools(self) -> list[PoolTool]:
        """The tools as they are now."""
        return [PoolTool(tool, self) for tool in self._manager.get_tools()]

    def refresh(self, agent: Agent) -> None:
        """Gives an idle agent the current tools."""
        agent.tools = [*self._others(agent.tools or []), *self.tools()]

    def __call__(self, context: LLMCallHookContext) -> None:
        """What CrewAI calls before each call of a model."""
        executor = context.executor
        held = getattr(executor, "original_tools", None) or []
        mine = {tool.name: tool._tool.fingerprint for tool in held if self._owns(tool)}
        if mine and mine != {tool.name: tool.fingerprint for tool in self._manager.get_tools()}:
            self._exchange(executor)

    def _exchange(self, executor: AgentExecutor) -> None:
        current = self.tools()
        executor.original_tools = [*self._others(executor.original_tools), *current]
        # Only new tools are parsed, because parsing resets the count of a tool's uses.
        kept = [tool for tool in executor.tools if not self._owns(tool._original_tool)]
        executor.tools = [*kept, *parse_tools(current)]
        executor.tools_names = get_tool_names(executor.tools)
        executor.tools_description = render_text_description_and_args(executor.tools)
        # The list that this call of the model was given already
        shown = executor._openai_tools
        executor._setup_native_tools()
        shown[:] = executor._openai_tools

    def _others(self, tools: list[BaseTool]) -> list[BaseTool]:
        return [tool for tool in tools if not self._owns(tool)]

    def _owns(self, tool: BaseTool | None) -> bool:
        return isinstance(tool, PoolTool) and tool._box is self


class Arguments(BaseModel):
    """Accepts any arguments; the server validates them."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="allow")


def arguments_model(name: str, schema: dict[str, Any]) -> type[Arguments]:
    """A model class with this schema; it adds and drops no arguments."""

    def model_json_schema(*_args: Any, **_options: Any) -> dict[str, Any]:
        # CrewAI makes every argument required, and changes the schema it gets: each call returns a new one.
        shown: dict[str, Any] = optional_as_null(inlined(schema, schema))
        return shown

    return type(name, (Arguments,), {"model_json_schema": staticmethod(model_json_schema)})


def answer(output: ToolOutput) -> Answer | ToolFailure:
    if output.is_error:
        error = output.error
        return ToolFailure(
            message=output.text,
            reason=ToolFailureReason.MCP_ERROR,
            code=error and error.code,
            retryable=bool(error and error.retryable),
            details={"server": output.server, "tool": output.tool},
        )
    answer = Answer(output.text)
    answer.output = output
    return answer


def never(_arguments: object = None, _result: object = None) -> bool:
    return False
