"""What both managers are: how they are made, and the verbs that never wait."""

from __future__ import annotations

from os import fspath

from ._native import NativeManager
from ._surroundings import plain_surroundings
from ._types import server_status

TYPE_CHECKING = False  # Not from typing: importing this package stays cheap.
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from os import PathLike
    from typing import Any, Literal, TypeAlias

    from typing_extensions import Self

    from ._native import Pool, Tool
    from ._records import Discovery
    from ._server import Surroundings
    from ._trust import Trust
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
        trust: Trust | None = None,
        bare_env_names: bool | None = None,
        surroundings: Surroundings | None = None,
        pool: Pool | None = None,
    ) -> None:
        """`config` is `{"mcpServers": {name: definition, …}}`, as a mapping or as JSON text.

        `connect_concurrency`: how many servers connect at the same time.
        `gate_ms`: how long connect_all waits before the cache stands in for servers that are late.
        `pending_without_cache`: whether connect_all waits for late servers of which the cache knows nothing.
        `restart_wait_ms`: how long a call waits for a server that is being restarted.
        `retry`: "safe" sends calls of read-only and idempotent tools again when their connection was lost.
        `cache_dir`: where tool lists are kept between runs; False for nowhere.
        `trust`: who decides whether a project's definition may start a program: "stored" (what `mcpool.trust`
        was told), "all", "none", or a function, which is asked about what the store does not know.
        `bare_env_names`: a header or variable whose value is the name of a set variable gets its value.
        `surroundings`: environment, home and platform in place of the process's own.
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
            surroundings=surroundings,
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
        surroundings: Surroundings | None = None,
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
            surroundings=surroundings,
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

    @property
    def discovery(self) -> Discovery | None:
        """What discovery found; None for a manager that was not made by it."""
        from ._records import read_discovery

        found = self._native.discovery()
        return None if found is None else read_discovery(found)


def manager_options(
    *, cache_dir: CacheDir | None, surroundings: Surroundings | None, **others: object
) -> dict[str, Any]:
    """The options with nothing in them but what JSON knows."""
    where = cache_dir if cache_dir is None or isinstance(cache_dir, bool) else fspath(cache_dir)
    return {**others, "cache_dir": where, "surroundings": plain_surroundings(surroundings)}
