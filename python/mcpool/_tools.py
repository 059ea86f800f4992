"""The list that `get_tools` gives."""

from __future__ import annotations

from ._native import Tool

TYPE_CHECKING = False  # Not from typing: importing this package stays cheap.
if TYPE_CHECKING:
    from typing import SupportsIndex, overload


class ToolList(list[Tool]):
    """A list of tools; a notebook shows it, and any part of it, as a table that can be searched."""

    __slots__ = ()

    if TYPE_CHECKING:

        @overload
        def __getitem__(self, at: SupportsIndex, /) -> Tool: ...
        @overload
        def __getitem__(self, at: slice, /) -> ToolList: ...

    def __getitem__(self, at: SupportsIndex | slice, /) -> Tool | ToolList:
        found = list.__getitem__(self, at)
        return ToolList(found) if isinstance(found, list) else found

    def _repr_html_(self) -> str:
        from . import _html

        return _html.tool_list(self)
