"""Changing config files: one server at a time.

The file is the user's own, the project's (`scope="project"`, below `cwd`), or the one that `file` names. Its
extension tells the format. The rest of the file stays unchanged, including comments and order. A reader sees
the old file or the new one, and concurrent writers never lose each other's changes.
"""

from __future__ import annotations

from os import fspath
from typing import Any, NamedTuple

from . import _native
from ._host_env import plain_host_env
from ._loop import finish

TYPE_CHECKING = False  # Not from typing: importing this package stays cheap.
if TYPE_CHECKING:
    from collections.abc import Mapping
    from os import PathLike
    from typing import Literal

    from ._host_env import HostEnv
    from ._server_config import Limits, RestartDelays, ServerAuth, ServerConfig, ToolSwitch

__all__ = [
    "Edited",
    "Limits",
    "RestartDelays",
    "ServerAuth",
    "ServerConfig",
    "ToolSwitch",
    "add",
    "disable",
    "enable",
    "hide",
    "remove",
    "schema",
    "unhide",
    "update",
]


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Types are made on first use: importing this package stays cheap."""
        if name in __all__:
            from . import _server_config

            return getattr(_server_config, name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


class Edited(NamedTuple):
    """The outcome of a change: the changed file, and warnings about the definition."""

    path: str
    warnings: list[str]


async def add(
    name: str,
    definition: ServerConfig | Mapping[str, Any],
    *,
    scope: Literal["user", "project"] = "user",
    file: str | PathLike[str] | None = None,
    cwd: str | PathLike[str] | None = None,
    host_env: HostEnv | None = None,
) -> Edited:
    """Adds a server; the name must be new."""
    return read_edited(
        await finish(_native.edit("add", edit_request(file, scope, cwd, host_env), name, definition))
    )


async def remove(
    name: str,
    *,
    scope: Literal["user", "project"] = "user",
    file: str | PathLike[str] | None = None,
    cwd: str | PathLike[str] | None = None,
    host_env: HostEnv | None = None,
) -> Edited:
    """Removes a server."""
    return read_edited(
        await finish(_native.edit("remove", edit_request(file, scope, cwd, host_env), name, None))
    )


async def update(
    name: str,
    changes: ServerConfig | Mapping[str, Any],
    *,
    scope: Literal["user", "project"] = "user",
    file: str | PathLike[str] | None = None,
    cwd: str | PathLike[str] | None = None,
    host_env: HostEnv | None = None,
) -> Edited:
    """Changes fields of a server; None removes a field."""
    return read_edited(
        await finish(_native.edit("update", edit_request(file, scope, cwd, host_env), name, changes))
    )


async def enable(
    name: str,
    *,
    scope: Literal["user", "project"] = "user",
    file: str | PathLike[str] | None = None,
    cwd: str | PathLike[str] | None = None,
    host_env: HostEnv | None = None,
) -> Edited:
    """Enables a server: in its definition, and in the lists of the same file."""
    return read_edited(
        await finish(_native.edit("enable", edit_request(file, scope, cwd, host_env), name, None))
    )


async def disable(
    name: str,
    *,
    scope: Literal["user", "project"] = "user",
    file: str | PathLike[str] | None = None,
    cwd: str | PathLike[str] | None = None,
    host_env: HostEnv | None = None,
) -> Edited:
    """Disables a server."""
    return read_edited(
        await finish(_native.edit("disable", edit_request(file, scope, cwd, host_env), name, None))
    )


async def hide(
    name: str,
    *,
    scope: Literal["user", "project"] = "user",
    file: str | PathLike[str] | None = None,
    cwd: str | PathLike[str] | None = None,
    host_env: HostEnv | None = None,
) -> Edited:
    """Disables a server that another file defines: adds its name to `disabledServers` of this file."""
    return read_edited(
        await finish(_native.edit("hide", edit_request(file, scope, cwd, host_env), name, None))
    )


async def unhide(
    name: str,
    *,
    scope: Literal["user", "project"] = "user",
    file: str | PathLike[str] | None = None,
    cwd: str | PathLike[str] | None = None,
    host_env: HostEnv | None = None,
) -> Edited:
    """Removes a name from `disabledServers`."""
    return read_edited(
        await finish(_native.edit("unhide", edit_request(file, scope, cwd, host_env), name, None))
    )


def schema() -> dict[str, Any]:
    """The JSON Schema of a config file."""
    return _native.schema()


def edit_request(
    file: str | PathLike[str] | None,
    scope: Literal["user", "project"],
    cwd: str | PathLike[str] | None,
    host_env: HostEnv | None,
) -> dict[str, Any]:
    """The place of a change, as the native module takes it."""
    return {
        "file": None if file is None else fspath(file),
        "scope": scope,
        "cwd": None if cwd is None else fspath(cwd),
        "host_env": plain_host_env(host_env),
    }


def read_edited(fields: dict[str, Any]) -> Edited:
    """The outcome of a change, as a record."""
    return Edited(**fields)
