"""LangChain: tools for `create_agent`, `bind_tools` or a `ToolNode`, and a middleware that renews them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._public import public_names
from ._approval import ask_about, refusal, refusal_without_asking
from ._approval import needs_approval as needs_approval_now
from ._parts import missing_package, output_record, tool_metadata
from ._sampling import sampling_callback

try:
    from langchain_core.messages import ToolMessage
    from langchain_core.tools import StructuredTool
except ImportError as _error:
    raise missing_package("langchain", __name__) from _error

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from langchain.agents.middleware import InterruptOnConfig
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import ToolCall

    from .._base import ManagerBase
    from .._native import Tool
    from .._output import ToolOutput
    from ._langchain_live import LiveTools
    from ._sampling import Sampling

__all__ = ["PoolTool", "interrupt_on", "live_tools", "sampling", "tools"]


def __dir__() -> list[str]:
    return public_names(globals())


class PoolTool(StructuredTool):
    """A tool of a manager, for `invoke` and `ainvoke`.

    A failure is a message with status "error", never raised. What the server sent is in its artifact.
    """

    def _to_args_and_kwargs(
        self, tool_input: str | dict[str, Any], tool_call_id: str | None
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        # As one dict: spread over parameters, arguments named `config` or `run_manager` would get lost.
        return (self._parse_input(tool_input, tool_call_id), tool_call_id), {}


def tools(manager: ManagerBase, *, needs_approval: bool = False) -> list[PoolTool]:
    """The tools as they are now. They stay valid when a server restarts; `live_tools` follows the list.

    `metadata` of each has `server`, `tool` (its name there), `provider`, `annotations`, `requires_approval`.
    With `needs_approval`, a tool that the manager marks as requiring approval interrupts the graph before it
    is called; resume with `{"type": "approve"}` or `{"type": "reject"}`. Outside of a graph it is refused. In
    a node that makes several calls, such as a plain `ToolNode`, the answer has to name its call with the
    question's `tool_call_id`, and one call of a turn is asked about: the others are refused. It holds for all
    tools of the manager from then on.
    """
    ask_about(manager, needs_approval)
    return [_tool(tool) for tool in manager.get_tools()]


def live_tools(manager: ManagerBase, *, needs_approval: bool = False) -> LiveTools:
    """A middleware for `create_agent`: on every turn, the model is given the tools as they are then.

    `needs_approval` is that of `tools`; it holds for tools that come later, too.
    """
    from ._langchain_live import LiveTools

    return LiveTools(manager, needs_approval)


def sampling(
    model: BaseChatModel,
    *,
    choose: Callable[[list[str]], BaseChatModel | None] | None = None,
    ignore: Collection[str] = (),
) -> Sampling:
    """A callback for `on_sampling` of a manager: servers get their messages from a chat model.

    `choose` gets the names of models that a server would like, and returns another model, or None for this
    one. What cannot be asked of the model is refused, with a warning in the log; `ignore` names members of
    requests that are left out instead, such as "temperature".
    """
    from ._langchain_sampling import ask

    return sampling_callback(ask, model, choose, ignore)


def interrupt_on(manager: ManagerBase) -> dict[str, bool | InterruptOnConfig]:
    """Which tools require approval, for `HumanInTheLoopMiddleware`, which keeps this for its life.

    It asks about no tool that comes later; `needs_approval` of the tools does.
    """
    return {tool.name: tool.requires_approval for tool in manager.get_tools()}


def _tool(tool: Tool) -> PoolTool:
    async def call(arguments: dict[str, Any], tool_call_id: str | None = None) -> tuple[Any, Any]:
        refused = _refusal(tool, arguments, tool_call_id)
        return _message(tool, refused or await tool.execute(arguments), tool_call_id)

    def call_blocking(arguments: dict[str, Any], tool_call_id: str | None = None) -> tuple[Any, Any]:
        refused = _refusal(tool, arguments, tool_call_id)
        return _message(tool, refused or tool.execute_blocking(arguments), tool_call_id)

    return PoolTool(
        name=tool.name,
        description=tool.description,
        args_schema=tool.object_schema,
        coroutine=call,
        func=call_blocking,
        response_format="content_and_artifact",
        metadata=tool_metadata(tool),
    )


def _refusal(tool: Tool, arguments: dict[str, Any], tool_call_id: str | None) -> ToolOutput | None:
    """The output if the call needs approval and does not get it."""
    if not needs_approval_now(tool):
        return None
    try:
        from ._langchain_question import ask
    except ImportError:  # Without langgraph there is no graph.
        return refusal_without_asking(tool)
    answer = ask(tool.name, arguments, tool_call_id)
    if answer is None:
        return refusal_without_asking(tool)
    return None if answer.is_approved else refusal(tool, answer.reason)


def _message(tool: Tool, output: ToolOutput, tool_call_id: str | None) -> tuple[Any, Any]:
    """Content and artifact; for a failure the whole message, because only a message has a status."""
    if output.is_error and tool_call_id is not None:
        return _tool_message(tool.name, output, tool_call_id), output_record(output)
    return _content(output), output_record(output)


def message_of(call: ToolCall, output: ToolOutput) -> ToolMessage:
    """The answer to a call that was made outside of a tool."""
    return _tool_message(call["name"], output, call["id"] or "")


def _tool_message(name: str, output: ToolOutput, tool_call_id: str) -> ToolMessage:
    return ToolMessage(
        _content(output),
        artifact=output_record(output),
        tool_call_id=tool_call_id,
        name=name,
        status="error" if output.is_error else "success",
    )


def _content(output: ToolOutput) -> str | list[str | dict[str, Any]]:
    shown = [
        {"type": "image", "base64": image.data, "mime_type": image.mime_type} for image in output.model_images
    ]
    return [{"type": "text", "text": output.text}, *shown] if shown else output.text
