"""The verbs of `mcpool.config` for plain scripts: each blocks.

The file is the user's own, the project's (`scope="project"`, below `cwd`), or the one that `file` names. Its
extension tells the format. The rest of the file stays unchanged, including comments and order. A reader sees
the old file or the new one, and concurrent writers never lose each other's changes.
"""

from __future__ import annotations

from .. import _native
from ..config import edit_request, read_edited, schema

TYPE_CHECKING = False  # Not from typing: importing this package stays cheap.
if TYPE_CHECKING:
    from collections.abc import Mapping
    from os import PathLike
    from typing import Any, Literal

    from .._host_env import HostEnv
    from .._server_config import ServerConfig
    from ..config import Edited

__all__ = ["add", "disable", "enable", "hide", "remove", "schema", "unhide", "update"]


def add(
    name: str,
    definition: ServerConfig | Mapping[str, Any],
    *,
    scope: Literal["user", "project"] = "user",
    file: str | PathLike[str] | None = None,
    cwd: str | PathLike[str] | None = None,
    host_env: HostEnv | None = None,
) -> Edited:
    """Adds a server; the name must be new."""
    return read_edited(_native.block_edit("add", edit_request(file, scope, cwd, host_env), name, definition))


def remove(
    name: str,
    *,
    scope: Literal["user", "project"] = "user",
    file: str | PathLike[str] | None = None,
    cwd: str | PathLike[str] | None = None,
    host_env: HostEnv | None = None,
) -> Edited:
    """Removes a server."""
    return read_edited(_native.block_edit("remove", edit_request(file, scope, cwd, host_env), name, None))


def update(
    name: str,
    changes: ServerConfig | Mapping[str, Any],
    *,
    scope: Literal["user", "project"] = "user",
    file: str | PathLike[str] | None = None,
    cwd: str | PathLike[str] | None = None,
    host_env: HostEnv | None = None,
) -> Edited:
    """Changes fields of a server; None removes a field."""
    return read_edited(_native.block_edit("update", edit_request(file, scope, cwd, host_env), name, changes))


def enable(
    name: str,
    *,
    scope: Literal["user", "project"] = "user",
    file: str | PathLike[str] | None = None,
    cwd: str | PathLike[str] | None = None,
    host_env: HostEnv | None = None,
) -> Edited:
    """Enables a server: in its definition, and in the lists of the same file."""
    return read_edited(_native.block_edit("enable", edit_request(file, scope, cwd, host_env), name, None))


def disable(
    name: str,
    *,
    scope: Literal["user", "project"] = "user",
    file: str | PathLike[str] | None = None,
    cwd: str | PathLike[str] | None = None,
    host_env: HostEnv | None = None,
) -> Edited:
    """Disables a server."""
    return read_edited(_native.block_edit("disable", edit_request(file, scope, cwd, host_env), name, None))


def hide(
    name: str,
    *,
    scope: Literal["user", "project"] = "user",
    file: str | PathLike[str] | None = None,
    cwd: str | PathLike[str] | None = None,
    host_env: HostEnv | None = None,
) -> Edited:
    """Disables a server that another file defines: adds its name to `disabledServers` of this file."""
    return read_edited(_native.block_edit("hide", edit_request(file, scope, cwd, host_env), name, None))


def unhide(
    name: str,
    *,
    scope: Literal["user", "project"] = "user",
    file: str | PathLike[str] | None = None,
    cwd: str | PathLike[str] | None = None,
    host_env: HostEnv | None = None,
) -> Edited:
    """Removes a name from `disabledServers`."""
    return read_edited(_native.block_edit("unhide", edit_request(file, scope, cwd, host_env), name, None))
