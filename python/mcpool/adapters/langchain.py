"""LangChain: tools for `create_agent`, `bind_tools` or a `ToolNode`, and a middleware that renews them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._parts import missing_package, output_record, tool_metadata

try:
    from langchain_core.messages import ToolMessage
    from langchain_core.tools import StructuredTool
except ImportError as error:
    raise missing_package("langchain", __name__) from error

if TYPE_CHECKING:
    from langchain.agents.middleware import InterruptOnConfig

    from .._base import ManagerBase
    from .._native import Tool
    from .._output import ToolOutput
    from ._langchain_live import LiveTools

__all__ = ["PoolTool", "interrupt_on", "live_tools", "tools"]


class PoolTool(StructuredTool):
    """A tool of a manager, for `invoke` and `ainvoke`.

    A failure is a message with status "error", never raised. What the server sent is in its artifact.
    """

    def _to_args_and_kwargs(
        self, tool_input: str | dict[str, Any], tool_call_id: str | None
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        # As one dict: spread over parameters, arguments named `config` or `run_manager` would get lost.
        return (self._parse_input(tool_input, tool_call_id), tool_call_id), {}


def tools(manager: ManagerBase) -> list[PoolTool]:
    """The tools as they are now. They stay valid when a server restarts; `live_tools` follows the list.

    `metadata` of each has `server`, `tool` (its name there), `provider`, `annotations`, `requires_approval`.
    """
    return [_tool(tool) for tool in manager.get_tools()]


def live_tools(manager: ManagerBase) -> LiveTools:
    """A middleware for `create_agent`: on every turn, the model is given the tools as they are then."""
    from ._langchain_live import LiveTools

    return LiveTools(manager)


def interrupt_on(manager: ManagerBase) -> dict[str, bool | InterruptOnConfig]:
    """Which tools require approval, for `HumanInTheLoopMiddleware`, which keeps this for its life."""
    return {tool.name: tool.requires_approval for tool in manager.get_tools()}


def _tool(tool: Tool) -> PoolTool:
    async def call(arguments: dict[str, Any], tool_call_id: str | None = None) -> tuple[Any, Any]:
        return _message(tool, await tool.execute(arguments), tool_call_id)

    def call_blocking(arguments: dict[str, Any], tool_call_id: str | None = None) -> tuple[Any, Any]:
        return _message(tool, tool.execute_blocking(arguments), tool_call_id)

    return PoolTool(
        name=tool.name,
        description=tool.description,
        args_schema=tool.object_schema,
        coroutine=call,
        func=call_blocking,
        response_format="content_and_artifact",
        metadata=tool_metadata(tool),
    )


def _message(tool: Tool, output: ToolOutput, tool_call_id: str | None) -> tuple[Any, Any]:
    """Content and artifact; for a failure the whole message, because only a message has a status."""
    content, artifact = _content(output), output_record(output)
    if not output.is_error or tool_call_id is None:
        return content, artifact
    message = ToolMessage(
        content, artifact=artifact, tool_call_id=tool_call_id, name=tool.name, status="error"
    )
    return message, artifact


def _content(output: ToolOutput) -> str | list[str | dict[str, Any]]:
    shown = [
        {"type": "image", "base64": image.data, "mime_type": image.mime_type} for image in output.model_images
    ]
    return [{"type": "text", "text": output.text}, *shown] if shown else output.text
