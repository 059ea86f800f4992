"""The verbs of `mcpool.config` for plain scripts: each blocks.

The file is the user's own, the project's (`scope="project"`, below `cwd`), or the one that `file` names. Its
extension tells the format. The rest of the file stays unchanged, including comments and order. A reader sees
the old file or the new one, and concurrent writers never lose each other's changes.
"""

from __future__ import annotations

from .. import _native, _options
from .._public import public_names
from .._signature import show_keywords
from ..config import read_edited, schema

TYPE_CHECKING = False  # Not from typing: importing this package stays cheap.
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from typing_extensions import Unpack

    from .._options import EditOptions
    from .._server_config import ServerConfig
    from ..config import Edited

__all__ = ["add", "disable", "enable", "hide", "remove", "schema", "unhide", "update"]


def __dir__() -> list[str]:
    return public_names(globals())


@show_keywords(_options.EDIT, _options.EDIT_DOC)
def add(name: str, definition: ServerConfig | Mapping[str, Any], **options: Unpack[EditOptions]) -> Edited:
    """Adds a server; the name must be new."""
    return read_edited(_native.block_edit("add", options, name, definition))


@show_keywords(_options.EDIT, _options.EDIT_DOC)
def remove(name: str, **options: Unpack[EditOptions]) -> Edited:
    """Removes a server."""
    return read_edited(_native.block_edit("remove", options, name, None))


@show_keywords(_options.EDIT, _options.EDIT_DOC)
def update(name: str, changes: ServerConfig | Mapping[str, Any], **options: Unpack[EditOptions]) -> Edited:
    """Changes fields of a server; None removes a field."""
    return read_edited(_native.block_edit("update", options, name, changes))


@show_keywords(_options.EDIT, _options.EDIT_DOC)
def enable(name: str, **options: Unpack[EditOptions]) -> Edited:
    """Enables a server: in its definition, and in the lists of the same file."""
    return read_edited(_native.block_edit("enable", options, name, None))


@show_keywords(_options.EDIT, _options.EDIT_DOC)
def disable(name: str, **options: Unpack[EditOptions]) -> Edited:
    """Disables a server."""
    return read_edited(_native.block_edit("disable", options, name, None))


@show_keywords(_options.EDIT, _options.EDIT_DOC)
def hide(name: str, **options: Unpack[EditOptions]) -> Edited:
    """Disables a server that another file defines: adds its name to `disabledServers` of this file."""
    return read_edited(_native.block_edit("hide", options, name, None))


@show_keywords(_options.EDIT, _options.EDIT_DOC)
def unhide(name: str, **options: Unpack[EditOptions]) -> Edited:
    """Removes a name from `disabledServers`."""
    return read_edited(_native.block_edit("unhide", options, name, None))
