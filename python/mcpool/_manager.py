"""The asyncio manager."""

from __future__ import annotations

from sys import modules

from . import _native, _options
from ._base import ManagerBase
from ._bridge import finish, give_up, require_loop
from ._calls import begin_span
from ._events import Events
from ._signature import show_keywords
from ._status import connect_report, reload_report

TYPE_CHECKING = False  # Not from typing: importing this package stays cheap.
if TYPE_CHECKING:
    from collections.abc import Mapping
    from os import PathLike
    from types import TracebackType
    from typing import Any

    from typing_extensions import Self, Unpack

    from ._discover import Discovering
    from ._native import ToolResult
    from ._options import CallOptions, DiscoverManagerOptions
    from ._status import ConnectReport, ReloadReport


class Manager(ManagerBase):
    """Connects to many MCP servers, lists their tools, routes calls.

    One manager serves any event loop, any thread and any number of `asyncio.run()` in a row: the connections
    belong to the core, not to the loop that opened them. Managers of a process share them by server name.
    """

    @classmethod
    @show_keywords(_options.DISCOVER_MANAGER)
    def discover(
        cls, cwd: str | PathLike[str] | None = None, **options: Unpack[DiscoverManagerOptions]
    ) -> Discovering[Self]:
        """A manager for the servers that the user already has: await it, or enter it with `async with`.

        The options of `mcpool.discover` say what to find and where; `watch` repeats the discovery when one of
        the files changes. The other options are those of the class.
        """
        from ._discover import Discovering

        async def make() -> Self:
            found, future = _native.discover_manager({**options, "cwd": cwd})
            await finish(future)
            return cls._of(found.take())

        return Discovering(make)

    async def connect_all(self) -> ConnectReport:
        """Connects all enabled servers in parallel. A failing server is in the report; it does not raise."""
        return connect_report(await finish(_native.connect_all(self._native)))

    async def connect(self, server: str) -> None:
        """Connects one server unless it is connected; joins an attempt in progress."""
        await finish(_native.connect(self._native, server))

    async def wait_for(self, server: str, timeout: float | None = None) -> None:
        """Returns when the server is connected, or raises its error. Starts nothing."""
        await finish(_native.wait_for(self._native, server, timeout))

    @show_keywords(_options.CALL, _options.CALL_DOC)
    async def call_tool(
        self,
        server: str,
        tool: str,
        arguments: Mapping[str, Any] | None = None,
        **options: Unpack[CallOptions],
    ) -> ToolResult:
        """Calls a tool by its server and its raw name.

        `is_error` is a result, not an exception. Cancelling the task notifies the server.
        """
        if "opentelemetry" in modules and (span := begin_span(self._native.telemetry, server, tool)):
            return await span.follow(_native.call, (self._native, server, tool, arguments), options)
        future = _native.call(self._native, server, tool, arguments, options)
        try:
            return await future
        except BaseException:
            give_up(future)
            raise

    @show_keywords(_options.CALL)
    async def call(
        self, name: str, arguments: Mapping[str, Any] | None = None, **options: Unpack[CallOptions]
    ) -> ToolResult:
        """Calls a tool by its name in the catalog; otherwise the same as `call_tool`."""
        if "opentelemetry" in modules and (span := begin_span(self._native.telemetry, None, name)):
            return await span.follow(_native.call, (self._native, None, name, arguments), options)
        future = _native.call(self._native, None, name, arguments, options)
        try:
            return await future
        except BaseException:
            give_up(future)
            raise

    def events(self) -> Events:
        """Events from now on, as an async iterator."""
        return Events(self._native.events())

    async def reload(self, config: Mapping[str, Any] | str | None = None) -> ReloadReport:
        """Applies the difference to `config`, or reads the manager's files again and applies theirs.

        Unchanged servers keep their connections and calls; others are closed, connected or restarted.
        """
        return reload_report(await finish(_native.reload(self._native, config)))

    async def authorize(self, server: str, *, fresh: bool = False, device: bool = False) -> None:
        """Signs in to a server and connects it.

        `on_auth` is asked to open the page, and the event `auth_required` names it; this waits up to five
        minutes. Does nothing if the server is connected with a login. `fresh` forgets the login that there is
        first; `device` is for a browser on another device.
        """
        await finish(_native.authorize(self._native, server, fresh, device))

    async def complete_auth(self, redirect_url: str) -> None:
        """Finishes a sign-in with the URL that a browser was sent back to, and connects the server."""
        await finish(_native.complete_auth(self._native, redirect_url))

    async def forget_auth(self, server: str) -> None:
        """Forgets the login of a server, revokes it where possible, and disconnects the server."""
        await finish(_native.forget_auth(self._native, server))

    async def accept_drift(self, server: str, tool: str | None = None) -> list[str]:
        """Accepts tools that have changed since they were first seen.

        Accepts one tool by its raw name, or all tools of the server. Returns the names of the changed tools.
        """
        accepted: list[str] = await finish(_native.accept_drift(self._native, server, tool))
        return accepted

    async def disconnect(self, server: str) -> None:
        """Closes one server's connection, unless other managers hold it, and drops its tools. Idempotent."""
        await finish(_native.disconnect(self._native, server))

    async def disconnect_all(self) -> None:
        """Closes every connection that no other manager holds; the manager can connect again. Idempotent."""
        await finish(_native.disconnect_all(self._native))

    async def close(self) -> None:
        """Closes the manager permanently: every later verb raises ClosedError. Idempotent."""
        await finish(_native.close(self._native))

    async def __aenter__(self) -> Self:
        require_loop()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()
