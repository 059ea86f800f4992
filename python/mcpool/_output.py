"""The output of a call for an agent: always text for its model, and the details behind it."""

from __future__ import annotations

from ._errors import McpoolError

TYPE_CHECKING = False  # Not from typing: importing this package stays cheap.
if TYPE_CHECKING:
    from typing import Any

    from ._events import Signal
    from ._native import NativeManager, Tool, ToolResult
    from ._result import Image


class Named:
    """A tool of which only the called name is known."""

    __slots__ = ("_manager", "raw_name")

    server: str = ""
    provider: str = ""
    raw_name: str

    def __init__(self, manager: NativeManager, name: str) -> None:
        self._manager = manager
        self.raw_name = name

    def failure_for_model(
        self,
        code: str,
        message: str | None,
        server: str | None,
        suggestion: str | None,
        executed: str | None,
        by_server: bool,
    ) -> tuple[str, list[Signal]]:
        return self._manager.failure_for_model(
            self.raw_name, code, message, server, suggestion, executed, by_server
        )


class ToolOutput:
    """The outcome of a call for an agent: `text` is for the model.

    `result` is the whole result; where there is none, `error` says why.
    """

    __slots__ = ("_failure", "error", "provider", "result", "server", "tool")

    server: str
    """The server that was called."""
    tool: str
    """The server's name for the tool."""
    provider: str
    """Where the tool comes from, for people."""
    result: ToolResult | None
    error: McpoolError | None

    def __init__(self, tool: Tool | Named, result: ToolResult | None, error: McpoolError | None) -> None:
        self.server = tool.server
        self.tool = tool.raw_name
        self.provider = tool.provider
        self.result = result
        self.error = error
        self._failure: Tool | Named | tuple[str, list[Signal]] = tool

    @property
    def text(self) -> str:
        """The text for the model: the result as `for_model()` renders it, or why there is none."""
        return self._told()[0] if self.result is None else self.result.for_model()

    @property
    def is_error(self) -> bool:
        """Whether the tool reports a failure, or there is no result."""
        return self.result is None or self.result.is_error

    @property
    def content(self) -> list[dict[str, Any]]:
        """The content blocks as the server sent them."""
        return [] if self.result is None else self.result.content

    @property
    def structured(self) -> Any:
        """The structured content, or None."""
        return None if self.result is None else self.result.structured

    @property
    def model_images(self) -> list[Image]:
        """The images for the model beside the text, of types that all providers accept.

        A failure has none, since some providers refuse an image beside an error.
        """
        return [] if self.result is None else self.result.model_images

    @property
    def signals(self) -> list[Signal]:
        """What in the text looks like instructions to a model."""
        return list(self._told()[1]) if self.result is None else self.result.signals

    def _told(self) -> tuple[str, list[Signal]]:
        if not isinstance(self._failure, tuple):
            error = self.error or McpoolError()
            self._failure = self._failure.failure_for_model(
                error.code,
                error.model_message,
                error.server,
                error.suggestion,
                error.executed,
                error.by_server,
            )
        return self._failure

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy has the text of a failure, which only the tool's manager can write."""
        failure = self._told() if self.result is None else ("", [])
        return _restore, (self.server, self.tool, self.provider, self.result, self.error, failure)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<ToolOutput of {self.server}.{self.tool}{' (error)' if self.is_error else ''}>"

    def _repr_html_(self) -> str:
        from . import _html

        return _html.output(self)


def _restore(
    server: str,
    tool: str,
    provider: str,
    result: ToolResult | None,
    error: McpoolError | None,
    failure: tuple[str, list[Signal]],
) -> ToolOutput:
    output = ToolOutput.__new__(ToolOutput)
    output.server, output.tool, output.provider = server, tool, provider
    output.result, output.error, output._failure = result, error, failure
    return output
