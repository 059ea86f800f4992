"""google-genai: declarations and answers for your own loop, or functions for the SDK's own loop."""

from __future__ import annotations

import inspect
from functools import partial
from typing import TYPE_CHECKING, Any

from .. import blocking
from .._public import public_names
from ._approval import execute_unasked, execute_unasked_blocking
from ._open_arguments import OpenArguments
from ._parts import Answer, Call, missing_package, run_calls, run_calls_blocking
from ._sampling import sampling_callback
from ._schema import properties

try:
    from google.genai import types
except ImportError as _error:
    raise missing_package("google-genai", __name__) from _error

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from google.genai import Client

    from .._base import ManagerBase
    from .._native import Tool
    from .._output import ToolOutput
    from ._sampling import Sampling

__all__ = ["Function", "functions", "run", "run_blocking", "sampling", "tools"]


def __dir__() -> list[str]:
    return public_names(globals())


def tools(manager: ManagerBase) -> types.ToolListUnion:
    """The tools as they are now, for the `tools` of a config. Ask again for each request."""
    declarations = [_declaration(tool, tool.object_schema) for tool in manager.get_tools()]
    # The API refuses a tool without declarations.
    return [types.Tool(function_declarations=declarations)] if declarations else []


async def run(manager: ManagerBase, response: types.GenerateContentResponse) -> list[types.Part]:
    """Makes the calls in a response, all at once; gives the parts of the user's content that follows it.

    Images are in the parts. A failure is an answer, too.
    """
    return [_part(answer) for answer in await run_calls(manager, _calls(response))]


def run_blocking(manager: ManagerBase, response: types.GenerateContentResponse) -> list[types.Part]:
    """The same for a thread without an event loop, one call after the other."""
    return [_part(answer) for answer in run_calls_blocking(manager, _calls(response))]


def functions(manager: ManagerBase) -> types.ToolListUnion:
    """The tools as they are now, for the `tools` of a config: the SDK calls them by itself.

    Those of a `blocking.Manager` are for the synchronous client, those of a `Manager` for `client.aio`.
    What they give is text: the SDK's loop has no place for images. A failure is raised, for the SDK to tell.
    """
    is_blocking = isinstance(manager, blocking.Manager)
    return [function(tool, is_blocking) for tool in manager.get_tools()]


def sampling(
    client: Client,
    *,
    model: str,
    choose: Callable[[list[str]], str | None] | None = None,
    ignore: Collection[str] = (),
) -> Sampling:
    """A callback for `on_sampling` of a manager: servers get their messages from a client's model.

    `choose` gets the names of models that a server would like, and returns another model's name, or None for
    this one. What cannot be asked of the model is refused, with a warning in the log; `ignore` names members
    of requests that are left out instead, such as "temperature".
    """
    from ._google_genai_sampling import ask

    return sampling_callback(partial(ask, client), model, choose, ignore)


class ToolError(Exception):
    """What a failed call tells the model."""


def function(tool: Tool, is_blocking: bool) -> Function:
    arguments = OpenArguments(tool, "google-genai")
    return Function(_execute_blocking if is_blocking else _execute, tool, arguments)


class Function(partial[Any]):
    """A function to the SDK's loop, a tool with a declaration to its request.

    The SDK reads the schema of a plain function from its signature, which cannot say what a JSON Schema says.
    """

    __name__: str
    __signature__: inspect.Signature
    function_declarations: list[Any]

    def __init__(self, _call: Any, tool: Tool, arguments: OpenArguments) -> None:
        self.__name__ = tool.name
        self.__doc__ = tool.description
        self.__signature__ = _Arguments(properties(arguments.schema()))
        self.function_declarations = [_declaration(tool, arguments.schema())]

    def model_copy(self) -> types.Tool:
        """A request contains only its declaration."""
        return types.Tool()

    def __deepcopy__(self, _memo: object) -> Function:
        return self


class _Arguments(inspect.Signature):
    """Accepts arguments of these names and any type, including names that are no Python identifiers."""

    def __init__(self, names: dict[str, Any]) -> None:
        super().__init__()
        argument = inspect.Parameter("value", inspect.Parameter.KEYWORD_ONLY, annotation=object)
        self._named = dict.fromkeys(names, argument)

    @property
    def parameters(self) -> Any:
        return self._named


async def _execute(tool: Tool, open: OpenArguments, /, **arguments: Any) -> str:
    return _text(await execute_unasked(tool, open.gathered(arguments)))


def _execute_blocking(tool: Tool, open: OpenArguments, /, **arguments: Any) -> str:
    return _text(execute_unasked_blocking(tool, open.gathered(arguments)))


def _text(output: ToolOutput) -> str:
    if output.is_error:
        raise ToolError(output.text)
    return output.text


def _declaration(tool: Tool, schema: dict[str, Any]) -> types.FunctionDeclaration:
    return types.FunctionDeclaration(
        name=tool.name, description=tool.description, parameters_json_schema=schema
    )


def _calls(response: types.GenerateContentResponse) -> list[Call]:
    contents = [candidate.content for candidate in (response.candidates or [])[:1]]
    parts = [part for content in contents for part in (content and content.parts) or []]
    calls = [part.function_call for part in parts if part.function_call]
    return [Call(call.id or "", call.name or "", whole_numbers(call.args or {})) for call in calls]


def whole_numbers(value: Any) -> Any:
    """Whole numbers may come from the API as floats, which a server that wants an integer may refuse."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {name: whole_numbers(member) for name, member in value.items()}
    return [whole_numbers(element) for element in value] if isinstance(value, list) else value


def _part(answer: Answer) -> types.Part:
    images = [
        types.FunctionResponsePart.from_bytes(data=image.decode(), mime_type=image.mime_type)
        for image in answer.images
    ]
    said = types.FunctionResponse(
        id=answer.call.id or None,
        name=answer.call.name,
        response={"error" if answer.is_error else "output": answer.text},
        parts=images or None,
    )
    return types.Part(function_response=said)
