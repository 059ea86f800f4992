"""What both managers are: how they are made, and the verbs that never wait."""

from __future__ import annotations

from os import fspath

from ._host_env import plain_host_env
from ._native import NativeManager
from ._tools import ToolList
from ._types import server_status

TYPE_CHECKING = False  # Not from typing: importing this package stays cheap.
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from os import PathLike
    from typing import Any, Literal, TypeAlias

    from typing_extensions import Self

    from ._host_env import HostEnv
    from ._native import Pool
    from ._questions import OnApproval
    from ._records import Discovery
    from ._telemetry import CallSpan
    from ._trust import Trust
    from ._types import Retry, ServerStatus
    from .widget import StatusWidget

    Naming: TypeAlias = str | Callable[[str, str], str]
    """`plain`, `letters`, `double`, `raw`, or a function of server and raw tool name."""
    CacheDir: TypeAlias = str | PathLike[str] | Literal[False]


_begin: Callable[..., CallSpan | None] | None = None


def begin_span(facts: Callable[..., dict[str, Any] | None], *which: str | None) -> CallSpan | None:
    """The span of a call that begins now; for callers who have seen that OpenTelemetry is there."""
    global _begin
    if _begin is None:
        from ._telemetry import begin

        _begin = begin
    return _begin(facts, *which)


class ManagerBase:
    """One agent session's view: its servers, its names, its options."""

    def __init__(
        self,
        config: Mapping[str, Any] | str,
        *,
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
    ) -> None:
        """`config` is `{"mcpServers": {name: definition, …}}`, as a mapping or as JSON text.

        `connect_concurrency`: how many servers connect at the same time; by default 64 remote ones, and
        as many programs as the machine can start.
        `gate_ms`: how long connect_all waits before the cache stands in for servers that are late.
        `pending_without_cache`: whether connect_all waits for late servers of which the cache knows nothing.
        `restart_wait_ms`: how long a call waits for a server that is being restarted.
        `retry`: "safe" sends calls of read-only and idempotent tools again when their connection was lost.
        `cache_dir`: where tool lists are kept between runs; False for nowhere.
        `trust`: who decides what a project's definitions may do: "stored" (what `mcpool.trust` was told),
        "strict" (the same about every server, whatever its transport), "all", "none", or a function, which is
        asked about what the store does not know.
        `bare_env_names`: a header or variable whose value is the name of a set variable gets its value.
        `enabled_tools`, `disabled_tools`: globs over raw and catalog names; what is disabled wins.
        `drift`: what becomes of a tool that is no longer as it was when it was first seen.
        `approval`: which tools need a person's word: all, those that are not read-only, none.
        `on_approval`: a function that is asked about each call of such a tool, and gives True, False, or an
        awaitable of one. Without it, such calls are sent all the same.
        `approval_timeout_ms`: how long an answer about a call is waited for.
        `wrap`: whether results for a model are marked as untrusted output of their tool.
        `spill`: "file" keeps the whole of a result that is cut in a file that only the user can read.
        `call_events`: whether the begin and the end of each call is an event.
        `telemetry`: False makes no spans and metrics of calls, also where OpenTelemetry has a provider;
        "error_messages" adds the messages of errors to spans, which have only their codes otherwise.
        `host_env`: environment, home and platform in place of the process's own.
        `pool`: whose connections are shared; without it, the process's.
        """
        options = manager_options(
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
        self._native = NativeManager(config, naming, options, pool, trust)

    @classmethod
    def from_file(
        cls,
        path: str | PathLike[str],
        *,
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
    ) -> Self:
        """A manager for the servers of a JSON, JSONC, YAML or TOML file.

        `watch` applies every change of the file as it is made. The other options are those of the class.
        """
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
        return cls._of(NativeManager.open(path, naming, options, pool, trust))

    def child(self) -> Self:
        """A manager for a sub-agent: the same servers, on the same connections."""
        return self._of(self._native.child())

    @classmethod
    def _of(cls, native: NativeManager) -> Self:
        manager = cls.__new__(cls)
        manager._native = native
        return manager

    def get_tools(self) -> ToolList:
        """The tools of all servers that are up, or will be, sorted by name.

        Where a server has just announced that its tools changed, this waits for them, a second at most.
        """
        return ToolList(self._native.get_tools())

    def search_tools(self, query: str, k: int = 5) -> ToolList:
        """At most `k` tools that serve the need in `query`, best first; for agents with very many tools.

        Names, descriptions and parameters are searched. A query that shares no word with any tool gives [].
        """
        return ToolList(self._native.search_tools(query, k))

    def status(self) -> list[ServerStatus]:
        """Every server's status, in the order of the config. Starts nothing."""
        return [server_status(fields) for fields in self._native.status()]

    @property
    def warnings(self) -> list[str]:
        """What was odd in the config."""
        return self._native.warnings()

    @property
    def discovery(self) -> Discovery | None:
        """What discovery found; None for a manager that was not made by it."""
        from ._records import read_discovery

        found = self._native.discovery()
        return None if found is None else read_discovery(found)

    def widget(self) -> StatusWidget:
        """The status table for a notebook, kept up to date until it or the manager is closed.

        Needs `mcpool[notebook]`. While it lives, the same one is given again.
        """
        from .widget import widget_of

        return widget_of(self)

    def _repr_html_(self) -> str:
        from . import _html

        return _html.status(self.status())


def manager_options(
    *, cache_dir: CacheDir | None, host_env: HostEnv | None, **others: object
) -> dict[str, Any]:
    """The options with nothing in them but what JSON knows."""
    where = cache_dir if cache_dir is None or isinstance(cache_dir, bool) else fspath(cache_dir)
    return {**others, "cache_dir": where, "host_env": plain_host_env(host_env)}
