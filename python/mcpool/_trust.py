"""Trust in a project's definitions: the store, and the callback."""

from __future__ import annotations

from typing import Any, NamedTuple

from . import _native
from ._bridge import finish

TYPE_CHECKING = False  # Not from typing: importing this package stays cheap.
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from os import PathLike
    from typing import Literal, TypeAlias

    from ._host_env import HostEnv


class TrustQuestion(NamedTuple):
    """What a project's file says and what comes with it, whole: what `fingerprint` is made of.

    Nothing in `definition` is starred: it is what would be run or reached. `files` become part of what is
    run, `replaces` are servers of the user that it would replace or switch off. Without a `server` it is
    about the file's lists of servers that are on or off.
    """

    server: str
    path: str
    fingerprint: str
    definition: dict[str, Any]
    files: list[dict[str, Any]]
    replaces: list[dict[str, Any]]
    trusted: bool

    def __repr__(self) -> str:
        # The project's text may contain a secret; a prompt shows the fields to the user.
        return f"TrustQuestion(server={self.server!r}, path={self.path!r}, fingerprint={self.fingerprint!r})"


if TYPE_CHECKING:
    TrustCallback: TypeAlias = Callable[[TrustQuestion], bool | Awaitable[bool]]
    """Answers whether a definition of a project counts."""
    Trust: TypeAlias = Literal["stored", "strict", "all", "none"] | TrustCallback
    """Who decides: the store of `trust`; the same about every server, whatever its transport; everything is
    trusted; nothing is; the store and then a function."""


class Trusted(NamedTuple):
    """A definition that the user trusts."""

    path: str
    server: str
    fingerprint: str


async def trust(
    path: str | PathLike[str],
    servers: Sequence[str] | None = None,
    *,
    host_env: HostEnv | None = None,
) -> list[Trusted]:
    """Trusts what a project's config file declares now, or only these servers; returns what is trusted.

    If the definition or one of its files changes afterwards, it is not trusted any more.
    """
    return read_trusted(await finish(_native.trust("trust", trust_request(path, servers, host_env))))


async def untrust(
    path: str | PathLike[str],
    servers: Sequence[str] | None = None,
    *,
    host_env: HostEnv | None = None,
) -> list[Trusted]:
    """Revokes the trust in a file's definitions, or only in these servers; returns what was trusted."""
    return read_trusted(await finish(_native.trust("untrust", trust_request(path, servers, host_env))))


async def trusted(*, host_env: HostEnv | None = None) -> list[Trusted]:
    """Everything that the user trusts."""
    return read_trusted(await finish(_native.trust("trusted", trust_request(None, None, host_env))))


def trust_request(
    path: str | PathLike[str] | None, servers: Sequence[str] | None, host_env: HostEnv | None
) -> dict[str, Any]:
    """What the native module is asked for."""
    return {"path": path, "servers": servers, "host_env": host_env}


def read_trusted(rows: list[dict[str, Any]]) -> list[Trusted]:
    """The rows as records."""
    return [Trusted(**row) for row in rows]
