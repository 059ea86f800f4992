"""OpenAI Agents SDK: function tools, or a server for `Agent(mcp_servers=[…])` that lists on each turn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._public import public_names
from ._approval import ask_about, execute_unasked, is_asked
from ._approval import needs_approval as needs_approval_now
from ._parts import execute, missing_package, output_record, tools_by_name
from ._sampling import sampling_callback

try:
    from agents import FunctionTool, ToolOutputImage, ToolOutputText
    from agents.mcp import MCPServer
    from mcp.types import CallToolResult, GetPromptResult, ListPromptsResult
    from mcp.types import Tool as McpTool
except ImportError as _error:
    raise missing_package("openai-agents", __name__) from _error

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from agents import Tool as AgentTool
    from agents.models.interface import Model
    from agents.tool_context import ToolContext

    from .._base import ManagerBase
    from .._native import Tool
    from .._output import ToolOutput
    from ._sampling import Sampling

__all__ = ["PoolServer", "sampling", "server", "tools"]


def __dir__() -> list[str]:
    return public_names(globals())


def tools(manager: ManagerBase, *, needs_approval: bool = False) -> list[AgentTool]:
    """The tools as they are now, for `Agent(tools=…)`. `server` follows the list itself.

    With `needs_approval`, a run is interrupted for the tools that the manager marks as requiring approval. It
    holds for all tools of the manager from then on; those that were handed over before are refused.
    """
    ask_about(manager, needs_approval)
    return [_tool(manager, tool) for tool in manager.get_tools()]


def server(manager: ManagerBase, *, name: str = "mcpool", needs_approval: bool = False) -> PoolServer:
    """All tools as one server for `Agent(mcp_servers=[…])`: each turn has them as they are then.

    With `needs_approval`, a run is interrupted for the tools that the manager marks as requiring approval. It
    holds for all tools of the manager from then on; a server that was made before refuses their calls.
    """
    return PoolServer(manager, name, needs_approval)


def sampling(
    model: Model | str,
    *,
    choose: Callable[[list[str]], Model | str | None] | None = None,
    ignore: Collection[str] = (),
) -> Sampling:
    """A callback for `on_sampling` of a manager: servers get their messages from a model, or one by name.

    `choose` gets the names of models that a server would like, and returns another model, or None for this
    one. What cannot be asked of the model is refused, with a warning in the log; `ignore` names members of
    requests that are left out instead, such as "temperature".
    """
    from ._openai_agents_sampling import ask

    return sampling_callback(ask, model, choose, ignore)


class PoolServer(MCPServer):
    """The tools of a manager under their names there. Its owner connects and closes.

    What the server sent is in `custom_data["mcpool"]` of a run's output items.
    """

    def __init__(self, manager: ManagerBase, name: str, needs_approval: bool) -> None:
        ask_about(manager, needs_approval)
        # The SDK asks about arguments that are no JSON, too, if there is a function to decide.
        self._asks = is_asked(manager)
        super().__init__(
            require_approval=self._requires_approval if self._asks else None,
            custom_data_extractor=lambda context: context.result_meta,
        )
        self._manager = manager
        self._name = name
        # A tool that is gone is still found: the model gets the error of its call.
        self._seen: dict[str, Tool] = {}

    @property
    def name(self) -> str:
        return self._name

    async def connect(self) -> None:
        pass

    async def cleanup(self) -> None:
        pass

    async def list_tools(self, run_context: Any = None, agent: Any = None) -> list[McpTool]:
        current = tools_by_name(self._manager)
        self._seen.update(current)
        return [
            McpTool.model_validate(
                {"name": name, "description": tool.description, "inputSchema": tool.object_schema}
            )
            for name, tool in current.items()
        ]

    async def call_tool(
        self, tool_name: str, arguments: dict[str, Any] | None, meta: dict[str, Any] | None = None
    ) -> CallToolResult:
        seen = self._seen.get(tool_name)
        if seen is None:
            output = await execute(self._manager, tool_name, arguments, meta)
        elif self._asks:  # The SDK has asked about the call.
            output = await seen.execute(arguments, meta=meta)
        else:
            output = await execute_unasked(seen, arguments, meta)
        shown = [
            {"type": "image", "data": image.data, "mimeType": image.mime_type}
            for image in output.model_images
        ]
        return CallToolResult.model_validate(
            {
                "content": [{"type": "text", "text": output.text}, *shown],
                "structuredContent": output.structured if isinstance(output.structured, dict) else None,
                "isError": output.is_error,
                "_meta": {"mcpool": output_record(output)},
            }
        )

    async def list_prompts(self) -> ListPromptsResult:
        return ListPromptsResult(prompts=[])

    async def get_prompt(self, name: str, arguments: dict[str, Any] | None = None) -> GetPromptResult:
        raise NotImplementedError(f"There is no prompt {name!r}: Manager.get_prompt asks a server for one")

    def _requires_approval(self, run_context: Any, agent: Any, tool: McpTool) -> bool:
        seen = self._seen.get(tool.name)
        return seen is None or needs_approval_now(seen)


def _tool(manager: ManagerBase, tool: Tool) -> FunctionTool:
    asks = is_asked(manager)

    async def invoke(context: ToolContext[Any], arguments: str) -> Any:
        return _content(await (tool.execute(arguments) if asks else execute_unasked(tool, arguments)))

    async def ask(_context: Any, _arguments: Any, _call_id: str) -> bool:
        return needs_approval_now(tool)

    return FunctionTool(
        name=tool.name,
        description=tool.description,
        params_json_schema=tool.object_schema,
        on_invoke_tool=invoke,
        strict_json_schema=False,  # Strict mode needs a rewritten schema.
        needs_approval=ask if asks else False,
    )


def _content(output: ToolOutput) -> str | list[ToolOutputText | ToolOutputImage]:
    shown = [ToolOutputImage(image_url=image.url) for image in output.model_images]
    return [ToolOutputText(text=output.text), *shown] if shown else output.text
