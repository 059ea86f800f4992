"""OpenAI SDK: tools and results for your own loops over chat completions or responses.

Everything is plain dicts, so nothing here imports the SDK.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from .._public import public_names
from ._parts import Answer, Call, field, run_calls, run_calls_blocking
from ._sampling import sampling_callback

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from openai import AsyncOpenAI, OpenAI
    from openai.types.chat import ChatCompletionFunctionToolParam, ChatCompletionToolMessageParam
    from openai.types.responses import FunctionToolParam
    from openai.types.responses.response_input_param import FunctionCallOutput

    from .._base import ManagerBase
    from ._sampling import Sampling

__all__ = [
    "chat_tools",
    "response_tools",
    "run_chat",
    "run_chat_blocking",
    "run_response",
    "run_response_blocking",
    "sampling",
]


def __dir__() -> list[str]:
    return public_names(globals())


def chat_tools(manager: ManagerBase) -> list[ChatCompletionFunctionToolParam]:
    """The tools as they are now, for `chat.completions.create(tools=…)`. Ask again for each request."""
    return [
        {
            "type": "function",
            "function": {
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.object_schema,
            },
        }
        for tool in manager.get_tools()
    ]


async def run_chat(manager: ManagerBase, message: Any) -> list[ChatCompletionToolMessageParam]:
    """Makes the calls in a message of the assistant, or in a list of calls, all at once.

    Gives the messages that follow it. They take text only: an image is named there, not shown.
    """
    return [_chat_message(answer) for answer in await run_calls(manager, _chat_calls(message))]


def run_chat_blocking(manager: ManagerBase, message: Any) -> list[ChatCompletionToolMessageParam]:
    """The same for a thread without an event loop, one call after the other."""
    return [_chat_message(answer) for answer in run_calls_blocking(manager, _chat_calls(message))]


def response_tools(manager: ManagerBase) -> list[FunctionToolParam]:
    """The tools as they are now, for `responses.create(tools=…)`. Ask again for each request."""
    return [
        {
            "type": "function",
            "name": tool.name,
            "description": tool.description,
            "parameters": tool.object_schema,
            "strict": False,  # Strict mode needs a rewritten schema.
        }
        for tool in manager.get_tools()
    ]


async def run_response(manager: ManagerBase, response: Any) -> list[FunctionCallOutput]:
    """Makes the calls in a response, or in a list of output items, all at once; gives the next input."""
    return [_call_output(answer) for answer in await run_calls(manager, _response_calls(response))]


def run_response_blocking(manager: ManagerBase, response: Any) -> list[FunctionCallOutput]:
    """The same for a thread without an event loop, one call after the other."""
    return [_call_output(answer) for answer in run_calls_blocking(manager, _response_calls(response))]


def sampling(
    client: OpenAI | AsyncOpenAI,
    *,
    model: str,
    choose: Callable[[list[str]], str | None] | None = None,
    ignore: Collection[str] = (),
) -> Sampling:
    """A callback for `on_sampling` of a manager: servers get their messages from a client's chat completions.

    `choose` gets the names of models that a server would like, and returns another model's name, or None for
    this one. With `mcpool.blocking`, use the sync client. What cannot be asked of the model is refused, with
    a warning in the log; `ignore` names members of requests that are left out instead, such as "temperature".
    """
    from ._openai_sampling import ask

    return sampling_callback(partial(ask, client), model, choose, ignore)


def _chat_calls(message: Any) -> list[Call]:
    calls = message if isinstance(message, list) else field(message, "tool_calls") or []
    wanted = ((call, field(call, "function")) for call in calls if field(call, "type") == "function")
    return [
        Call(field(call, "id"), field(function, "name"), field(function, "arguments"))
        for call, function in wanted
    ]


def _response_calls(response: Any) -> list[Call]:
    items = response if isinstance(response, list) else field(response, "output") or []
    wanted = (item for item in items if field(item, "type") == "function_call")
    return [Call(field(item, "call_id"), field(item, "name"), field(item, "arguments")) for item in wanted]


def _chat_message(answer: Answer) -> ChatCompletionToolMessageParam:
    return {"role": "tool", "tool_call_id": answer.call.id, "content": answer.text}


def _call_output(answer: Answer) -> FunctionCallOutput:
    output: Any = answer.text
    if answer.images:
        shown = [{"type": "input_image", "image_url": image.url} for image in answer.images]
        output = [{"type": "input_text", "text": answer.text}, *shown]
    return {"type": "function_call_output", "call_id": answer.call.id, "output": output}
