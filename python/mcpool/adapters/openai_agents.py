"""OpenAI Agents SDK: function tools, or a server for `Agent(mcp_servers=[…])` that lists on each turn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._parts import execute, missing_package, output_record, parse_arguments, tools_by_name

try:
    from agents import FunctionTool, ToolOutputImage, ToolOutputText
    from agents.mcp import MCPServer
    from mcp.types import CallToolResult, GetPromptResult, ListPromptsResult
    from mcp.types import Tool as McpTool
except ImportError as error:
    raise missing_package("openai-agents", __name__) from error

if TYPE_CHECKING:
    from agents.tool_context import ToolContext

    from .._base import ManagerBase
    from .._native import Tool
    from .._output import ToolOutput

__all__ = ["PoolServer", "server", "tools"]


def tools(manager: ManagerBase, *, needs_approval: bool = False) -> list[FunctionTool]:
    """The tools as they are now, for `Agent(tools=…)`. `server` follows the list itself.

    With `needs_approval`, a run is interrupted for the tools that the manager marks as requiring approval.
    """
    return [_tool(tool, needs_approval and tool.requires_approval) for tool in manager.get_tools()]


def server(manager: ManagerBase, *, name: str = "mcpool", needs_approval: bool = False) -> PoolServer:
    """All tools as one server for `Agent(mcp_servers=[…])`: each turn has them as they are then.

    With `needs_approval`, a run is interrupted for the tools that the manager marks as requiring approval.
    """
    return PoolServer(manager, name, needs_approval)


class PoolServer(MCPServer):
    """The tools of a manager under their names there. Its owner connects and closes.

    What the server sent is in `custom_data["mcpool"]` of a run's output items.
    """

    def __init__(self, manager: ManagerBase, name: str, needs_approval: bool) -> None:
        super().__init__(
            require_approval=self._requires_approval if needs_approval else None,
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
        if seen is not None:
            output = await seen.execute(arguments, meta=meta)
        else:
            output = await execute(self._manager, tool_name, arguments, meta)
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
        raise NotImplementedError(f"There is no prompt {name!r}: a manager has tools only")

    def _requires_approval(self, run_context: Any, agent: Any, tool: McpTool) -> bool:
        # An unknown tool could never be approved.
        return tool.name not in self._seen or self._seen[tool.name].requires_approval


def _tool(tool: Tool, needs_approval: bool) -> FunctionTool:
    async def invoke(context: ToolContext[Any], arguments: str) -> Any:
        return _content(await tool.execute(parse_arguments(arguments)))

    return FunctionTool(
        name=tool.name,
        description=tool.description,
        params_json_schema=tool.object_schema,
        on_invoke_tool=invoke,
        strict_json_schema=False,  # Strict mode needs a rewritten schema.
        needs_approval=needs_approval,
    )


def _content(output: ToolOutput) -> str | list[ToolOutputText | ToolOutputImage]:
    shown = [ToolOutputImage(image_url=image.url) for image in output.model_images]
    return [ToolOutputText(text=output.text), *shown] if shown else output.text
