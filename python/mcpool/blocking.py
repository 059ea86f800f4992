"""The same manager for plain scripts: every verb waits. Ctrl-C works while it does."""

from __future__ import annotations

from . import _native
from ._base import ManagerBase
from ._types import connect_report, event, reload_report

TYPE_CHECKING = False  # Not from typing: importing this package stays cheap.
if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType
    from typing import Any

    from ._native import NativeEvents, ToolResult
    from ._types import ConnectReport, Event, ReloadReport, Retry

__all__ = ["Events", "Manager"]


class Manager(ManagerBase):
    """Connects to many MCP servers, lists their tools, routes calls; for code without an event loop."""

    def connect_all(self) -> ConnectReport:
        """Connects all enabled servers at once; one server's failure is in the report, not raised."""
        return connect_report(_native.block_connect_all(self._native))

    def connect(self, server: str) -> None:
        """Connects one server unless it is connected; joins an attempt that is under way."""
        _native.block_connect(self._native, server)

    def wait_for(self, server: str, timeout: float | None = None) -> None:
        """Returns when the server is connected, or raises its error. Starts nothing."""
        _native.block_wait_for(self._native, server, timeout)

    def call_tool(
        self,
        server: str,
        tool: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,
        max_total_timeout: float | None = None,
        retry: Retry | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> ToolResult:
        """Calls a tool by its server and the server's own name for it.

        `timeout` is how many seconds may pass without an answer, `max_total_timeout` how many in all; `retry`
        overrides the manager's. A tool that fails by its own word is a result with `is_error`.
        """
        return _native.block_call(
            self._native, server, tool, arguments, timeout, max_total_timeout, retry, meta
        )

    def call(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,
        max_total_timeout: float | None = None,
        retry: Retry | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> ToolResult:
        """Calls a tool by its name in the catalog; otherwise as `call_tool`."""
        return _native.block_call(
            self._native, None, name, arguments, timeout, max_total_timeout, retry, meta
        )

    def events(self, *, timeout: float | None = None) -> Events:
        """What happens from now on; the iteration ends when nothing came for `timeout` seconds."""
        return Events(self._native.events(), timeout)

    def reload(self, config: Mapping[str, Any] | str | None = None) -> ReloadReport:
        """Applies the difference to `config`, or to the config file as it is now.

        Servers that are the same keep their connections and calls; others are closed, connected or restarted.
        """
        return reload_report(_native.block_reload(self._native, config))

    def disconnect(self, server: str) -> None:
        """Closes one server's connection, unless other managers hold it, and drops its tools. Idempotent."""
        _native.block_disconnect(self._native, server)

    def disconnect_all(self) -> None:
        """Closes every connection that nobody else holds; the manager can connect again. Idempotent."""
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
