"""Anthropic SDK: tool definitions and results for your own loop, or tools for the SDK's tool runner.

Definitions and results are plain dicts, so only the tools for the runner import the SDK.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from .._public import public_names
from ._parts import Answer, Call, field, missing_package, run_calls, run_calls_blocking
from ._sampling import sampling_callback

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from anthropic import Anthropic, AsyncAnthropic
    from anthropic.types import ToolParam, ToolResultBlockParam

    from .._base import ManagerBase
    from .._result import Image
    from ._anthropic_runner import RunnerTools
    from ._sampling import Sampling

__all__ = ["run", "run_blocking", "runner_tools", "sampling", "tools"]


def __dir__() -> list[str]:
    return public_names(globals())


def tools(manager: ManagerBase) -> list[ToolParam]:
    """The tools as they are now, for `messages.create(tools=…)`. Ask again for each request."""
    return [
        {"name": tool.name, "description": tool.description, "input_schema": tool.object_schema}
        for tool in manager.get_tools()
    ]


async def run(manager: ManagerBase, message: Any) -> list[ToolResultBlockParam]:
    """Makes the calls in a message, or in a list of blocks, all at once.

    Their results are the content of the next user message. A failure is a result with `is_error`.
    """
    return [_result(answer) for answer in await run_calls(manager, _calls(message))]


def run_blocking(manager: ManagerBase, message: Any) -> list[ToolResultBlockParam]:
    """The same for a thread without an event loop, one call after the other."""
    return [_result(answer) for answer in run_calls_blocking(manager, _calls(message))]


def runner_tools(manager: ManagerBase) -> RunnerTools:
    """The tools as they are now, for `beta.messages.tool_runner(tools=…)`.

    For an async client if the manager is the asyncio one, for a sync client if it is the blocking one.
    `refresh(runner)` of the list brings a runner up to date.
    """
    try:
        from ._anthropic_runner import RunnerTools
    except ImportError as error:
        raise missing_package("anthropic", __name__) from error
    return RunnerTools(manager)


def sampling(
    client: Anthropic | AsyncAnthropic,
    *,
    model: str,
    choose: Callable[[list[str]], str | None] | None = None,
    ignore: Collection[str] = (),
) -> Sampling:
    """A callback for `on_sampling` of a manager: servers get their messages from a client's model.

    `choose` gets the names of models that a server would like, and returns another model's name, or None for
    this one. With `mcpool.blocking`, use the sync client. What cannot be asked of the model is refused, with
    a warning in the log; `ignore` names members of requests that are left out instead, such as "temperature".
    """
    from ._anthropic_sampling import ask

    return sampling_callback(partial(ask, client), model, choose, ignore)


def content(text: str, images: list[Image]) -> list[Any]:
    """The blocks of a result."""
    shown = [
        {
            "type": "image",
            "source": {"type": "base64", "media_type": image.mime_type, "data": image.data},
        }
        for image in images
    ]
    return [{"type": "text", "text": text}, *shown]


def _calls(message: Any) -> list[Call]:
    blocks = message if isinstance(message, list) else field(message, "content")
    if not isinstance(blocks, list):  # One block alone; a message of a user may also be a text.
        blocks = [message] if field(message, "type") == "tool_use" else []
    wanted = (block for block in blocks if field(block, "type") == "tool_use")
    return [Call(field(block, "id"), field(block, "name"), field(block, "input")) for block in wanted]


def _result(answer: Answer) -> ToolResultBlockParam:
    result: ToolResultBlockParam = {
        "type": "tool_result",
        "tool_use_id": answer.call.id,
        "content": content(answer.text, answer.images),
    }
    if answer.is_error:
        result["is_error"] = True
    return result
