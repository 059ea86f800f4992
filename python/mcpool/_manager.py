"""The asyncio manager."""

from __future__ import annotations

from collections import deque
from sys import modules

from . import _native
from ._base import ManagerBase, begin_span, manager_options
from ._discover import Discovering, discover_request
from ._loop import finish, give_up
from ._types import connect_report, event, reload_report

TYPE_CHECKING = False  # Not from typing: importing this package stays cheap.
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from os import PathLike
    from types import TracebackType
    from typing import Any, Literal

    from typing_extensions import Self

    from ._base import CacheDir, Naming
    from ._host_env import HostEnv
    from ._native import NativeEvents, Pool, ToolResult
    from ._questions import OnApproval
    from ._trust import Trust
    from ._types import ConnectReport, Event, Progress, ReloadReport, Retry


class Manager(ManagerBase):
    """Connects to many MCP servers, lists their tools, routes calls.

    One manager serves any event loop, any thread and any number of `asyncio.run()` in a row: the connections
    belong to the core, not to the loop that opened them. Managers of a process share them by server name.
    """

    @classmethod
    def discover(
        cls,
        cwd: str | PathLike[str] | None = None,
        *,
        project_config: bool = True,
        disabled_servers: Sequence[str] = (),
        enabled_servers: Sequence[str] = (),
        exclude: Sequence[str] = (),
        native: Sequence[str] = (),
        mcp_remote: Literal["offer", "use"] = "offer",
        providers: Sequence[str] = (),
        watch: bool = False,
        naming: Naming = "plain",
        connect_concurrency: int | None = None,
        gate_ms: int | None = None,
        pending_without_cache: Literal["wait", "skip"] | None = None,
        restart_wait_ms: int | None = None,
        retry: Retry | None = None,
        cache_dir: CacheDir | None = None,
        trust: Trust | None = None,
        bare_env_names: bool | None = None,
        enabled_tools: Sequence[str] | None = None,
        disabled_tools: Sequence[str] | None = None,
        drift: Literal["allow", "warn", "block"] | None = None,
        approval: Literal["always", "annotations", "never"] | None = None,
        on_approval: OnApproval | None = None,
        approval_timeout_ms: int | None = None,
        wrap: bool | None = None,
        spill: Literal["none", "file"] | None = None,
        call_events: bool | None = None,
        telemetry: bool | Literal["error_messages"] | None = None,
        host_env: HostEnv | None = None,
        pool: Pool | None = None,
    ) -> Discovering[Self]:
        """A manager for the servers that the user already has: await it, or enter it with `async with`.

        What is looked for, and where, is said as to `mcpool.discover`; `watch` looks again when one of the
        files changes. The other options are those of the class.
        """
        request = discover_request(
            cwd,
            project_config,
            disabled_servers,
            enabled_servers,
            exclude,
            native,
            mcp_remote,
            providers,
            host_env,
        )
        options = manager_options(
            watch=watch,
            connect_concurrency=connect_concurrency,
            gate_ms=gate_ms,
            pending_without_cache=pending_without_cache,
            restart_wait_ms=restart_wait_ms,
            retry=retry,
            cache_dir=cache_dir,
            bare_env_names=bare_env_names,
            enabled_tools=enabled_tools,
            disabled_tools=disabled_tools,
            drift=drift,
            approval=approval,
            on_approval=on_approval,
            approval_timeout_ms=approval_timeout_ms,
            wrap=wrap,
            spill=spill,
            call_events=call_events,
            telemetry=telemetry,
            host_env=host_env,
        )

        async def make() -> Self:
            found, future = _native.discover_manager(request, naming, options, pool, trust)
            await finish(future)
            return cls._of(found.take())

        return Discovering(make)

    async def connect_all(self) -> ConnectReport:
        """Connects all enabled servers at once; one server's failure is in the report, not raised."""
        return connect_report(await finish(_native.connect_all(self._native)))

    async def connect(self, server: str) -> None:
        """Connects one server unless it is connected; joins an attempt that is under way."""
        await finish(_native.connect(self._native, server))

    async def wait_for(self, server: str, timeout: float | None = None) -> None:
        """Returns when the server is connected, or raises its error. Starts nothing."""
        await finish(_native.wait_for(self._native, server, timeout))

    async def call_tool(
        self,
        server: str,
        tool: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,
        max_total_timeout: float | None = None,
        retry: Retry | None = None,
        on_progress: Callable[[Progress], object] | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> ToolResult:
        """Calls a tool by its server and the server's own name for it.

        `timeout` is how many seconds may pass without an answer or progress, `max_total_timeout` how many in
        all; `retry` overrides the manager's. A tool that fails by its own word is a result with `is_error`.
        Cancelling the task tells the server.
        """
        if "opentelemetry" in modules and (span := begin_span(self._native.telemetry, server, tool)):
            return await span.follow(
                _native.call,
                (self._native, server, tool, arguments, timeout, max_total_timeout, retry, on_progress),
                meta,
            )
        future = _native.call(
            self._native, server, tool, arguments, timeout, max_total_timeout, retry, on_progress, meta
        )
        try:
            return await future
        except BaseException:
            give_up(future)
            raise

    async def call(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,
        max_total_timeout: float | None = None,
        retry: Retry | None = None,
        on_progress: Callable[[Progress], object] | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> ToolResult:
        """Calls a tool by its name in the catalog; otherwise as `call_tool`."""
        if "opentelemetry" in modules and (span := begin_span(self._native.telemetry, None, name)):
            return await span.follow(
                _native.call,
                (self._native, None, name, arguments, timeout, max_total_timeout, retry, on_progress),
                meta,
            )
        future = _native.call(
            self._native, None, name, arguments, timeout, max_total_timeout, retry, on_progress, meta
        )
        try:
            return await future
        except BaseException:
            give_up(future)
            raise

    def events(self) -> Events:
        """What happens from now on, as an async iterator."""
        return Events(self._native.events())

    async def reload(self, config: Mapping[str, Any] | str | None = None) -> ReloadReport:
        """Applies the difference to `config`, or to the files that the manager was made from as they are now.

        Servers that are the same keep their connections and calls; others are closed, connected or restarted.
        """
        return reload_report(await finish(_native.reload(self._native, config)))

    async def accept_drift(self, server: str, tool: str | None = None) -> list[str]:
        """Takes tools that are not as they were when they were first seen for what they are now.

        One tool, by its server's name for it, or all of the server's. Gives the names of those that changed.
        """
        accepted: list[str] = await finish(_native.accept_drift(self._native, server, tool))
        return accepted

    async def disconnect(self, server: str) -> None:
        """Closes one server's connection, unless other managers hold it, and drops its tools. Idempotent."""
        await finish(_native.disconnect(self._native, server))

    async def disconnect_all(self) -> None:
        """Closes every connection that nobody else holds; the manager can connect again. Idempotent."""
        await finish(_native.disconnect_all(self._native))

    async def close(self) -> None:
        """Closes for good: every later verb raises ClosedError. Idempotent."""
        await finish(_native.close(self._native))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()


class Events:
    """A stream of events from the moment it was asked for; ends with the manager."""

    def __init__(self, native: NativeEvents) -> None:
        self._native = native
        self._taken: deque[dict[str, Any]] = deque()

    def __aiter__(self) -> Events:
        return self

    async def __anext__(self) -> Event:
        while not self._taken:
            # One wake-up for many events; waiting for it also lets the loop's other tasks have their turn.
            if not await finish(_native.events_ready(self._native)):
                raise StopAsyncIteration
            self._taken.extend(self._native.take())
        return event(self._taken.popleft())

    @property
    def lost(self) -> int:
        """How many events this reader was too slow for."""
        return self._native.lost()
