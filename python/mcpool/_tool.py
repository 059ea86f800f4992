"""The list returned by `get_tools`, and calling a tool for an agent."""

from __future__ import annotations

from sys import modules

from . import _options
from ._bridge import give_up
from ._calls import begin_span
from ._errors import McpoolError
from ._native import Tool, block_call_for, call_for, similar_name
from ._output import ToolOutput
from ._signature import show_keywords

TYPE_CHECKING = False  # Not from typing: importing this package stays cheap.
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, SupportsIndex, overload

    from typing_extensions import Unpack

    from ._options import CallOptions


class ToolList(list[Tool]):
    """A list of tools that also takes a name: `tools["mcp_time_convert_time"]`, `"mcp_time_now" in tools`.

    A notebook shows it, and any part of it, as a table that can be searched.
    """

    __slots__ = ()

    if TYPE_CHECKING:

        @overload
        def __getitem__(self, at: SupportsIndex | str, /) -> Tool: ...
        @overload
        def __getitem__(self, at: slice, /) -> ToolList: ...

    def __getitem__(self, at: SupportsIndex | slice | str, /) -> Tool | ToolList:
        if isinstance(at, str):
            return self._named(at)
        found = list.__getitem__(self, at)
        return ToolList(found) if isinstance(found, list) else found

    def __contains__(self, item: object, /) -> bool:
        """Whether the tool, or a tool of this name, is in the list."""
        if isinstance(item, str):
            return any(tool.name == item for tool in self)
        return list.__contains__(self, item)

    def _named(self, name: str) -> Tool:
        for tool in self:
            if tool.name == name:
                return tool
        similar = similar_name(name, [tool.name for tool in self])
        raise ToolKeyError(name, f'; did you mean "{similar}"?' if similar else "")

    def _repr_html_(self) -> str:
        from . import _html

        return _html.tool_list(self)


class ToolKeyError(KeyError):
    """No tool of the list has this name."""

    def __str__(self) -> str:
        name, suggestion = self.args
        return f'There is no tool "{name}"{suggestion}'


@show_keywords(_options.CALL, _options.CALL_DOC)
async def execute(
    self: Tool, arguments: Mapping[str, Any] | str | None = None, **options: Unpack[CallOptions]
) -> ToolOutput:
    """Calls the tool for an agent: a failure is in the output's text; only cancellation is raised.

    The arguments may be JSON text, as models write it.
    """
    future = None
    try:
        if "opentelemetry" in modules and (span := begin_span(self._telemetry)):
            result = await span.follow(call_for, (self, arguments), options)
            return ToolOutput(self, result, None)
        future = call_for(self, arguments, options)
        return ToolOutput(self, await future, None)
    except McpoolError as error:
        return ToolOutput(self, None, error)
    except BaseException:
        if future is not None:
            give_up(future)
        raise


@show_keywords(_options.CALL, _options.CALL_DOC)
def execute_blocking(
    self: Tool, arguments: Mapping[str, Any] | str | None = None, **options: Unpack[CallOptions]
) -> ToolOutput:
    """The same for a thread without an event loop; blocks, and Ctrl-C works meanwhile."""
    try:
        if "opentelemetry" in modules and (span := begin_span(self._telemetry)):
            return ToolOutput(self, span.run(block_call_for, (self, arguments), options), None)
        return ToolOutput(self, block_call_for(self, arguments, options), None)
    except McpoolError as error:
        return ToolOutput(self, None, error)


def _give(function: Callable[..., object]) -> None:
    """Makes the function a method of every tool, of any manager."""
    function.__qualname__ = f"Tool.{function.__name__}"
    setattr(Tool, function.__name__, function)


_give(execute)
_give(execute_blocking)
