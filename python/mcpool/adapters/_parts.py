"""What the adapters share: reading a `ToolOutput` and a model's call. Knows no framework."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any, NamedTuple

from .._errors import McpoolError
from .._manager import Manager
from .._output import Named, ToolOutput
from ..blocking import Manager as BlockingManager

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from .._base import ManagerBase
    from .._native import Tool
    from .._result import Image


class Call(NamedTuple):
    """What a model wants to be called."""

    id: str
    name: str
    arguments: Any


class Answer(NamedTuple):
    """What a model is told about its call."""

    call: Call
    text: str
    is_error: bool
    images: list[Image]


def missing(package: str, module: str) -> ImportError:
    """For an adapter whose framework is not there, or not as it should be."""
    extra = module.rpartition(".")[2].replace("_", "-")
    return ImportError(
        f"{module} needs {package}, which is not installed, or too old. Run: pip install 'mcpool[{extra}]'",
        name=package,
    )


def record(output: ToolOutput) -> dict[str, Any]:
    """The whole output as plain data, for where a framework keeps what the model is not shown.

    Frameworks save such things, so no object of ours may be in it.
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


def parsed(arguments: object) -> Any:
    """Arguments that came as JSON text. Text that is no JSON is passed on: the call then tells the model."""
    if not isinstance(arguments, str):
        return arguments
    try:
        return json.loads(arguments) if arguments.strip() else None
    except (ValueError, RecursionError):
        return arguments


def field(thing: Any, name: str) -> Any:
    """A field of what an SDK gave, be it an object or a dict."""
    return thing.get(name) if isinstance(thing, dict) else getattr(thing, name, None)


def about(tool: Tool) -> dict[str, Any]:
    """What a framework may keep beside a tool, for hooks and filters of its own."""
    return {
        "server": tool.server,
        "tool": tool.raw_name,
        "provider": tool.provider,
        "annotations": tool.annotations,
        "requires_approval": tool.requires_approval,
    }


def handles(manager: ManagerBase) -> dict[str, Tool]:
    """The tools as they are now, by name."""
    return {tool.name: tool for tool in manager.get_tools()}


async def execute(
    manager: ManagerBase, name: str, arguments: Any, meta: Mapping[str, Any] | None = None
) -> ToolOutput:
    """Calls what a model named: a tool, one that had the name before, or none, of which the core tells it."""
    tool = handles(manager).get(name)
    if tool is not None:
        return await tool.execute(arguments, meta=meta)
    native = manager._native
    try:
        return ToolOutput(
            Named(native, name), await Manager._of(native).call(name, arguments, meta=meta), None
        )
    except McpoolError as error:
        return ToolOutput(Named(native, name), None, error)


def execute_blocking(manager: ManagerBase, name: str, arguments: Any) -> ToolOutput:
    """The same for a thread without an event loop."""
    tool = handles(manager).get(name)
    if tool is not None:
        return tool.execute_blocking(arguments)
    native = manager._native
    try:
        return ToolOutput(Named(native, name), BlockingManager._of(native).call(name, arguments), None)
    except McpoolError as error:
        return ToolOutput(Named(native, name), None, error)


async def answers(manager: ManagerBase, calls: Iterable[Call]) -> list[Answer]:
    """Calls all at once; the answers are in the order of the calls."""

    async def answer(call: Call) -> Answer:
        return _answer(call, await execute(manager, call.name, call.arguments))

    return list(await asyncio.gather(*map(answer, calls)))


def answers_blocking(manager: ManagerBase, calls: Sequence[Call]) -> list[Answer]:
    """Calls one after the other, in the thread that asks, so that Ctrl-C reaches each."""
    return [_answer(call, execute_blocking(manager, call.name, call.arguments)) for call in calls]


def _answer(call: Call, output: ToolOutput) -> Answer:
    return Answer(call, output.text, output.is_error, output.model_images)
