"""Finding the servers that the user already has."""

from __future__ import annotations

from os import fspath
from typing import Any, Generic, TypeVar

from . import _native
from ._host_env import plain_host_env
from ._loop import finish

TYPE_CHECKING = False  # Not from typing: importing this package stays cheap.
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator, Sequence
    from os import PathLike
    from types import TracebackType
    from typing import Literal

    from ._host_env import HostEnv
    from ._records import Discovery

M = TypeVar("M")


async def discover(
    cwd: str | PathLike[str] | None = None,
    *,
    project_config: bool = True,
    disabled_servers: Sequence[str] = (),
    enabled_servers: Sequence[str] = (),
    exclude: Sequence[str] = (),
    native: Sequence[str] = (),
    mcp_remote: Literal["offer", "use"] = "offer",
    providers: Sequence[str] = (),
    host_env: HostEnv | None = None,
) -> Discovery:
    """Looks for the servers that are configured on this machine. Reads files, starts nothing.

    `cwd`: the project's directory. `project_config`: whether the project's own files count.
    `disabled_servers`, `enabled_servers`: names that are off, or the only ones that are on.
    `exclude`: globs over names and URLs of servers to leave out.
    `native`: servers that the host integrates by itself: left out, their keys handed over.
    `mcp_remote`: whether `npx mcp-remote <url>` is kept with the direct way beside it, or replaced by it.
    `providers`: the only products whose files are read.
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
    from ._records import read_discovery

    return read_discovery(await finish(_native.discover(request)))


class Discovering(Generic[M]):
    """A manager that is being made by discovery: await it, or enter it with `async with`."""

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


def discover_request(
    cwd: str | PathLike[str] | None,
    project_config: bool,
    disabled_servers: Sequence[str],
    enabled_servers: Sequence[str],
    exclude: Sequence[str],
    native: Sequence[str],
    mcp_remote: Literal["offer", "use"],
    providers: Sequence[str],
    host_env: HostEnv | None,
) -> dict[str, Any]:
    """What the native module is asked for."""
    return {
        "cwd": None if cwd is None else fspath(cwd),
        "project_config": project_config,
        "disabled_servers": disabled_servers,
        "enabled_servers": enabled_servers,
        "exclude": exclude,
        "native": native,
        "mcp_remote": mcp_remote,
        "providers": providers,
        "host_env": plain_host_env(host_env),
    }
