"""Changing config files: one server at a time.

The file is the user's own, the project's (`scope="project"`, below `cwd`), or the one that `file` names. Its
extension tells the format. The rest of the file stays unchanged, including comments and order. A reader sees
the old file or the new one, and concurrent writers never lose each other's changes. Another product's file
gets that product's words and units; what the product cannot say is a `ConfigInvalidError`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from . import _native, _options
from ._bridge import finish
from ._public import public_names
from ._signature import show_keywords

TYPE_CHECKING = False  # Not from typing: importing this package stays cheap.
if TYPE_CHECKING:
    from collections.abc import Mapping

    from typing_extensions import Unpack

    from ._options import EditOptions
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


def __dir__() -> list[str]:
    return public_names(globals())


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


@show_keywords(_options.EDIT, _options.EDIT_DOC)
async def add(
    name: str, definition: ServerConfig | Mapping[str, Any], **options: Unpack[EditOptions]
) -> Edited:
    """Adds a server; the name must be new."""
    return read_edited(await finish(_native.edit("add", options, name, definition)))


@show_keywords(_options.EDIT, _options.EDIT_DOC)
async def remove(name: str, **options: Unpack[EditOptions]) -> Edited:
    """Removes a server."""
    return read_edited(await finish(_native.edit("remove", options, name, None)))


@show_keywords(_options.EDIT, _options.EDIT_DOC)
async def update(
    name: str, changes: ServerConfig | Mapping[str, Any], **options: Unpack[EditOptions]
) -> Edited:
    """Changes fields of a server; None removes a field."""
    return read_edited(await finish(_native.edit("update", options, name, changes)))


@show_keywords(_options.EDIT, _options.EDIT_DOC)
async def enable(name: str, **options: Unpack[EditOptions]) -> Edited:
    """Enables a server: in its definition, and in the lists of the same file."""
    return read_edited(await finish(_native.edit("enable", options, name, None)))


@show_keywords(_options.EDIT, _options.EDIT_DOC)
async def disable(name: str, **options: Unpack[EditOptions]) -> Edited:
    """Disables a server."""
    return read_edited(await finish(_native.edit("disable", options, name, None)))


@show_keywords(_options.EDIT, _options.EDIT_DOC)
async def hide(name: str, **options: Unpack[EditOptions]) -> Edited:
    """Disables a server that another file defines: adds its name to `disabledServers` of this file."""
    return read_edited(await finish(_native.edit("hide", options, name, None)))


@show_keywords(_options.EDIT, _options.EDIT_DOC)
async def unhide(name: str, **options: Unpack[EditOptions]) -> Edited:
    """Removes a name from `disabledServers`."""
    return read_edited(await finish(_native.edit("unhide", options, name, None)))


def schema() -> dict[str, Any]:
    """The JSON Schema of a config file."""
    return _native.schema()


def read_edited(fields: dict[str, Any]) -> Edited:
    """The outcome of a change, as a record."""
    return Edited(**fields)
