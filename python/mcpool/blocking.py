"""The same manager for plain scripts: every verb waits. Ctrl-C works while it does."""

from __future__ import annotations

from . import _native
from ._native import NativeManager
from ._types import connect_report, event, server_status

TYPE_CHECKING = False  # Not from typing: importing this package stays cheap.
if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType
    from typing import Any

    from ._manager import Naming
    from ._native import NativeEvents, Tool, ToolResult
    from ._types import ConnectReport, Event, ServerStatus

__all__ = ["Events", "Manager"]


class Manager:
    """Connects to many MCP servers, lists their tools, routes calls; for code without an event loop."""

    def __init__(
        self,
        config: Mapping[str, Any] | str,
        *,
        naming: Naming = "plain",
        connect_concurrency: int | None = None,
    ) -> None:
        """`config` is `{"mcpServers": {name: definition, …}}`, as a mapping or as JSON text."""
        self._native = NativeManager(config, naming, connect_concurrency)

    def connect_all(self) -> ConnectReport:
        """Connects all enabled servers at once; one server's failure is in the report, not raised."""
        return connect_report(_native.block_connect_all(self._native))

    def connect(self, server: str) -> None:
        """Connects one server unless it is connected; joins an attempt that is under way."""
        _native.block_connect(self._native, server)

    def wait_for(self, server: str, timeout: float | None = None) -> None:
        """Returns when the server is connected, or raises its error. Starts nothing."""
        _native.block_wait_for(self._native, server, timeout)

    def get_tools(self) -> list[Tool]:
        """The tools of all connected servers, sorted by name."""
        return self._native.get_tools()

    def call_tool(
        self,
        server: str,
        tool: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> ToolResult:
        """Calls a tool by its server and the server's own name for it; `timeout` is in seconds."""
        return _native.block_call(self._native, server, tool, arguments, timeout, meta)

    def call(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> ToolResult:
        """Calls a tool by its name in the catalog; otherwise as `call_tool`."""
        return _native.block_call(self._native, None, name, arguments, timeout, meta)

    def status(self) -> list[ServerStatus]:
        """Every server's status, in the order of the config. Starts nothing."""
        return [server_status(fields) for fields in self._native.status()]

    def events(self, *, timeout: float | None = None) -> Events:
        """What happens from now on; the iteration ends when nothing came for `timeout` seconds."""
        return Events(self._native.events(), timeout)

    @property
    def warnings(self) -> list[str]:
        """What was odd in the config."""
        return self._native.warnings()

    def disconnect(self, server: str) -> None:
        """Closes one server's connection and drops its tools. Idempotent."""
        _native.block_disconnect(self._native, server)

    def disconnect_all(self) -> None:
        """Closes every connection; the manager can connect again. Idempotent."""
        _native.block_disconnect_all(self._native)

    def close(self) -> None:
        """Closes for good: every later verb raises ClosedError. Idempotent."""
        _native.block_close(self._native)

    def __enter__(self) -> Manager:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


class Events:
    """A stream of events from the moment it was asked for; ends with the manager, or after its timeout."""

    def __init__(self, native: NativeEvents, timeout: float | None) -> None:
        self._native = native
        self._timeout = timeout

    def __iter__(self) -> Events:
        return self

    def __next__(self) -> Event:
        fields = _native.block_next_event(self._native, self._timeout)
        if fields is None:
            raise StopIteration
        return event(fields)

    @property
    def lost(self) -> int:
        """How many events this reader was too slow for."""
        return self._native.lost()
