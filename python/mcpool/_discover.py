"""Finding the servers that the user already has."""

from __future__ import annotations

from typing import Any, Generic, NamedTuple, TypeVar

from . import _native, _options
from ._bridge import finish
from ._errors import McpoolError, restore
from ._secret import Secret
from ._signature import show_keywords
from ._status import Source

TYPE_CHECKING = False  # Not from typing: importing this package stays cheap.
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator
    from os import PathLike
    from types import TracebackType

    from typing_extensions import Unpack

    from ._options import DiscoverOptions

M = TypeVar("M")


class FoundServer(NamedTuple):
    """A discovered server; possible secrets in `config` are masked with stars.

    Either `config` and `enabled` are there, or `error`. `shadows` are the sources further down that have the
    same name; `direct` is the definition of the server that it only bridges to (`npx mcp-remote <url>`).
    """

    config: dict[str, Any] | None
    error: McpoolError | None
    enabled: bool | None
    source: Source
    shadows: list[Source]
    direct: dict[str, Any] | None


class ReplacedServer(NamedTuple):
    """A server of the user that a project's entry would replace or disable."""

    name: str
    source: Source


class BlockedEntry(NamedTuple):
    """A project's entry about the user's servers, which has no effect until it is trusted.

    `effect` is "replace" or "switch_off", `servers` are the user's that it is about. Without a `name` it is
    the file's lists of servers that are on or off.
    """

    name: str
    config: dict[str, Any]
    source: Source
    effect: str
    servers: list[ReplacedServer]


class FoundFile(NamedTuple):
    """An existing config file; `problem` says why it could not be used."""

    provider: str
    path: str
    level: str
    servers: int
    problem: str | None


class LeftOut(NamedTuple):
    """A server that is in a file but not in the result."""

    name: str
    why: str
    source: Source


class DiscoveryError(NamedTuple):
    """Why discovery failed as a whole."""

    path: str
    error: McpoolError


class Discovery(NamedTuple):
    """The result of discovery: servers by name, in order of priority, with warnings and errors.

    `files` has every existing file; `native` has the keys of servers that the host integrates itself;
    `blocked` has a project's entries about the user's servers, which have no effect until they are trusted.
    """

    servers: dict[str, FoundServer]
    blocked: list[BlockedEntry]
    warnings: list[str]
    files: list[FoundFile]
    left_out: list[LeftOut]
    errors: list[DiscoveryError]
    native: dict[str, list[Secret]]

    def _repr_html_(self) -> str:
        from . import _html

        return _html.discovery(self)


@show_keywords(_options.DISCOVER, _options.DISCOVER_DOC)
async def discover(cwd: str | PathLike[str] | None = None, **options: Unpack[DiscoverOptions]) -> Discovery:
    """Finds the servers that are configured on this machine. Reads files, starts nothing.

    `cwd` is the project's directory.
    """
    return read_discovery(await finish(_native.discover({**options, "cwd": cwd})))


class Discovering(Generic[M]):
    """A manager that is being created by discovery: await it, or enter it with `async with`."""

    def __init__(self, make: Callable[[], Awaitable[M]]) -> None:
        self._make = make
        self._entered: list[Any] = []

    def __await__(self) -> Generator[Any, Any, M]:
        return self._make().__await__()

    async def __aenter__(self) -> M:
        manager = await self._make()
        self._entered.append(manager)
        return manager

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._entered.pop().close()


def read_discovery(fields: dict[str, Any]) -> Discovery:
    """The report as records."""
    left_out = [LeftOut(**{**row, "source": Source(**row["source"])}) for row in fields["left_out"]]
    errors = [DiscoveryError(row["path"], restore(row["error"])) for row in fields["errors"]]
    return Discovery(
        servers={row["name"]: _server(row) for row in fields["servers"]},
        blocked=[_blocked(row) for row in fields["blocked"]],
        warnings=fields["warnings"],
        files=[FoundFile(**row) for row in fields["files"]],
        left_out=left_out,
        errors=errors,
        native={name: [Secret(key) for key in keys] for name, keys in fields["native"].items()},
    )


def _blocked(row: dict[str, Any]) -> BlockedEntry:
    replaced = [ReplacedServer(one["name"], Source(**one["source"])) for one in row["servers"]]
    return BlockedEntry(**{**row, "source": Source(**row["source"]), "servers": replaced})


def _server(row: dict[str, Any]) -> FoundServer:
    return FoundServer(
        config=row.get("config"),
        error=restore(row["error"]) if row.get("error") else None,
        enabled=row["enabled"],
        source=Source(**row["source"]),
        shadows=[Source(**source) for source in row["shadows"]],
        direct=row.get("direct"),
    )
