"""What the adapters share: reading a `ToolOutput` and a model's call. Knows no framework."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, NamedTuple

from .._errors import McpoolError
from .._manager import Manager
from .._native import parse_arguments
from .._output import Named, ToolOutput
from ..blocking import Manager as BlockingManager
from ._approval import execute_unasked, execute_unasked_blocking

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from .._base import ManagerBase
    from .._native import Tool
    from .._result import Image


class Call(NamedTuple):
    """A call that a model asks for."""

    id: str
    name: str
    arguments: Any


class Answer(NamedTuple):
    """The answer to a model's call."""

    call: Call
    text: str
    is_error: bool
    images: list[Image]


def missing_package(package: str, module: str) -> ImportError:
    """The error of an adapter whose framework is missing or too old."""
    extra = module.rpartition(".")[2].replace("_", "-")
    return ImportError(
        f"{module} needs {package}, which is not installed, or too old. Run: pip install 'mcpool[{extra}]'",
        name=package,
    )


def output_record(output: ToolOutput) -> dict[str, Any]:
    """The whole output as plain data, for the part of a framework's record that the model does not see.

    Frameworks serialise it, so it contains no objects of this package.
    """
    error = output.error
    why = None if error is None else {"code": error.code, "message": error.message, "hint": error.hint}
    return {
        "server": output.server,
        "tool": output.tool,
        "is_error": output.is_error,
        "content": output.content,
        "structured": output.structured,
        "signals": [{"kind": signal.kind, "excerpt": signal.excerpt} for signal in output.signals],
        "error": why,
    }


def field(thing: Any, name: str) -> Any:
    """A field of an SDK's object or dict."""
    return thing.get(name) if isinstance(thing, dict) else getattr(thing, name, None)


def tool_metadata(tool: Tool) -> dict[str, Any]:
    """Metadata of a tool, for a framework's hooks and filters."""
    return {
        "server": tool.server,
        "tool": tool.raw_name,
        "provider": tool.provider,
        "annotations": tool.annotations,
        "requires_approval": tool.requires_approval,
    }


def tools_by_name(manager: ManagerBase) -> dict[str, Tool]:
    """The tools as they are now, by name."""
    return {tool.name: tool for tool in manager.get_tools()}


async def execute(
    manager: ManagerBase, name: str, arguments: Any, meta: Mapping[str, Any] | None = None
) -> ToolOutput:
    """Calls a tool by the name that a model gave, where nobody can be asked about it.

    A name without a tool gives an output with an error. Once approval is asked for, a name that is not in the
    list is refused, because it may be the former name of a tool.
    """
    tool = tools_by_name(manager).get(name)
    if tool is not None:
        return await execute_unasked(tool, arguments, meta)
    native = manager._native
    try:
        native.check_framework_approval(name)
        called = Manager._of(native).call(name, _read(arguments), meta=meta)
        return ToolOutput(Named(native, name), await called, None)
    except McpoolError as error:
        return ToolOutput(Named(native, name), None, error)


def _read(arguments: Any) -> Any:
    """The arguments of a call by name; a tool reads what a model wrote by itself."""
    return parse_arguments(arguments) if isinstance(arguments, str) else arguments


def execute_blocking(manager: ManagerBase, name: str, arguments: Any) -> ToolOutput:
    """The same for a thread without an event loop."""
    tool = tools_by_name(manager).get(name)
    if tool is not None:
        return execute_unasked_blocking(tool, arguments)
    native = manager._native
    try:
        native.check_framework_approval(name)
        called = BlockingManager._of(native).call(name, _read(arguments))
        return ToolOutput(Named(native, name), called, None)
    except McpoolError as error:
        return ToolOutput(Named(native, name), None, error)


async def run_calls(manager: ManagerBase, calls: Iterable[Call]) -> list[Answer]:
    """Runs all calls at once; the answers are in the order of the calls."""

    async def answer(call: Call) -> Answer:
        return _answer(call, await execute(manager, call.name, call.arguments))

    return list(await asyncio.gather(*map(answer, calls)))


def run_calls_blocking(manager: ManagerBase, calls: Sequence[Call]) -> list[Answer]:
    """Runs the calls one after the other on this thread, so that Ctrl-C reaches each."""
    return [_answer(call, execute_blocking(manager, call.name, call.arguments)) for call in calls]


def _answer(call: Call, output: ToolOutput) -> Answer:
    return Answer(call, output.text, output.is_error, output.model_images)
