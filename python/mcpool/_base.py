"""What both managers are: how they are made, and the verbs that never wait."""

from __future__ import annotations

from os import fspath

from ._native import NativeManager
from ._types import server_status

TYPE_CHECKING = False  # Not from typing: importing this package stays cheap.
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from os import PathLike
    from typing import Any, Literal, TypeAlias

    from typing_extensions import Self

    from ._native import Pool, Tool
    from ._types import Retry, ServerStatus

    Naming: TypeAlias = str | Callable[[str, str], str]
    """`plain`, `letters`, `double`, `raw`, or a function of server and raw tool name."""
    CacheDir: TypeAlias = str | PathLike[str] | Literal[False]


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
        pool: Pool | None = None,
    ) -> None:
        """`config` is `{"mcpServers": {name: definition, …}}`, as a mapping or as JSON text.

        `connect_concurrency`: how many servers connect at the same time.
        `gate_ms`: how long connect_all waits before the cache stands in for servers that are late.
        `pending_without_cache`: whether connect_all waits for late servers of which the cache knows nothing.
        `restart_wait_ms`: how long a call waits for a server that is being restarted.
        `retry`: "safe" sends calls of read-only and idempotent tools again when their connection was lost.
        `cache_dir`: where tool lists are kept between runs; False for nowhere.
        `pool`: whose connections are shared; without it, the process's.
        """
        options = {
            "connect_concurrency": connect_concurrency,
            "gate_ms": gate_ms,
            "pending_without_cache": pending_without_cache,
            "restart_wait_ms": restart_wait_ms,
            "retry": retry,
            "cache_dir": _plain(cache_dir),
        }
        self._native = NativeManager(config, naming, options, pool)

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
        pool: Pool | None = None,
    ) -> Self:
        """A manager for the servers of a JSON file; `watch` applies every change of the file as it is made.

        The other options are those of the class.
        """
        options = {
            "watch": watch,
            "connect_concurrency": connect_concurrency,
            "gate_ms": gate_ms,
            "pending_without_cache": pending_without_cache,
            "restart_wait_ms": restart_wait_ms,
            "retry": retry,
            "cache_dir": _plain(cache_dir),
        }
        return cls._of(NativeManager.open(path, naming, options, pool))

    def child(self) -> Self:
        """A manager for a sub-agent: the same servers, on the same connections."""
        return self._of(self._native.child())

    @classmethod
    def _of(cls, native: NativeManager) -> Self:
        manager = cls.__new__(cls)
        manager._native = native
        return manager

    def get_tools(self) -> list[Tool]:
        """The tools of all servers that are up, or will be, sorted by name."""
        return self._native.get_tools()

    def status(self) -> list[ServerStatus]:
        """Every server's status, in the order of the config. Starts nothing."""
        return [server_status(fields) for fields in self._native.status()]

    @property
    def warnings(self) -> list[str]:
        """What was odd in the config."""
        return self._native.warnings()


def _plain(cache_dir: CacheDir | None) -> str | bool | None:
    return cache_dir if cache_dir is None or isinstance(cache_dir, bool) else fspath(cache_dir)
