"""What the definitions of a project may do."""

from __future__ import annotations

from os import fspath

from . import _native
from ._host_env import plain_host_env
from ._loop import finish

TYPE_CHECKING = False  # Not from typing: importing this package stays cheap.
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from os import PathLike
    from typing import Any, Literal, TypeAlias

    from ._host_env import HostEnv
    from ._records import Trusted, TrustQuestion

    TrustCallback: TypeAlias = Callable[[TrustQuestion], bool | Awaitable[bool]]
    """Answers whether a definition of a project counts."""
    Trust: TypeAlias = Literal["stored", "strict", "all", "none"] | TrustCallback
    """Who decides: the store of `trust`; the same about every server, whatever its transport; everything is
    trusted; nothing is; the store and then a function."""


async def trust(
    path: str | PathLike[str],
    servers: Sequence[str] | None = None,
    *,
    host_env: HostEnv | None = None,
) -> list[Trusted]:
    """Trusts what a project's config file declares now, or only these servers; gives what is trusted.

    A definition that changes afterwards, or a file that it brings, is one that nobody has trusted.
    """
    return _records(await finish(_native.trust("trust", trust_request(path, servers, host_env))))


async def untrust(
    path: str | PathLike[str],
    servers: Sequence[str] | None = None,
    *,
    host_env: HostEnv | None = None,
) -> list[Trusted]:
    """Takes trust in a file's definitions, or only in these servers, back; gives what was trusted."""
    return _records(await finish(_native.trust("untrust", trust_request(path, servers, host_env))))


async def trusted(*, host_env: HostEnv | None = None) -> list[Trusted]:
    """Everything that the user trusts."""
    return _records(await finish(_native.trust("trusted", trust_request(None, None, host_env))))


def trust_request(
    path: str | PathLike[str] | None, servers: Sequence[str] | None, host_env: HostEnv | None
) -> dict[str, Any]:
    """What the native module is asked for."""
    return {
        "path": None if path is None else fspath(path),
        "servers": servers,
        "host_env": plain_host_env(host_env),
    }


def _records(rows: list[dict[str, Any]]) -> list[Trusted]:
    from ._records import read_trusted

    return read_trusted(rows)
