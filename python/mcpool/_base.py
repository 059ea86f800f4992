"""The common base of both managers: their construction, and the verbs that never wait."""

from __future__ import annotations

from os import fspath

from . import _options
from ._errors import McpoolError
from ._native import NativeManager
from ._signature import show_keywords
from ._status import server_status
from ._tool import ToolList

TYPE_CHECKING = False  # Not from typing: importing this package stays cheap.
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from os import PathLike
    from typing import Any, overload

    from typing_extensions import Never, Self, Unpack

    from ._discover import Discovery
    from ._native import Tool
    from ._options import FileOptions, ManagerOptions
    from ._status import ServerStatus
    from .widget import StatusWidget


_SHOWN = 8  # How many servers `repr` names.


class ManagerBase:
    """One agent session's view: its servers, tool names and options."""

    @show_keywords(_options.MANAGER, _options.MANAGER_DOC)
    def __init__(self, config: Mapping[str, Any] | str, **options: Unpack[ManagerOptions]) -> None:
        """`config` is `{"mcpServers": {name: definition, …}}`, as a mapping or JSON text.

        Other products' forms, such as `{"servers": …}`, work too.
        """
        self._native = NativeManager(config, {**options})

    @classmethod
    @show_keywords(_options.FILE)
    def from_file(cls, path: str | PathLike[str], **options: Unpack[FileOptions]) -> Self:
        """A manager for the servers of a JSON, JSONC, YAML or TOML file, ours or another product's.

        `watch` applies changes of the file automatically. The other options are those of the class.
        """
        return cls._of(NativeManager.open(path, {**options}))

    @property
    def discovery(self) -> Discovery | None:
        """The result of discovery; None for a manager that was made without it."""
        from ._discover import read_discovery

        found = self._native.discovery()
        return None if found is None else read_discovery(found)

    def child(self) -> Self:
        """A manager for a sub-agent: the same servers, on the same connections."""
        return self._of(self._native.child())

    @classmethod
    def _of(cls, native: NativeManager) -> Self:
        manager = cls.__new__(cls)
        manager._native = native
        return manager

    @property
    def warnings(self) -> list[str]:
        """Warnings about the config."""
        return self._native.warnings()

    def get_tools(self) -> ToolList:
        """The tools of all servers that are up, or will be, sorted by name.

        If a server has just announced a change of its tools, this waits for them, for at most a second.
        """
        return ToolList(self._native.get_tools())

    def get_tool(self, name: str) -> Tool:
        """The tool with this name in the catalog.

        Raises the error that a call by this name would raise, with a similar name in its hint.
        """
        return self._native.get_tool(name)

    def search_tools(self, query: str, k: int = 5) -> ToolList:
        """The best `k` tools for `query`, best first; for agents with very many tools.

        Searches names, descriptions and parameters. If nothing matches, the list is empty.
        """
        return ToolList(self._native.search_tools(query, k))

    def set_roots(self, roots: Sequence[str | PathLike[str]]) -> None:
        """Replaces the roots, as paths or file addresses, and tells the servers.

        Servers that connected before the manager had any get them with their next connection.
        """
        self._native.set_roots([fspath(root) for root in roots])

    if TYPE_CHECKING:

        @overload
        def status(self, server: None = None) -> list[ServerStatus]: ...
        @overload
        def status(self, server: str) -> ServerStatus: ...

    def status(self, server: str | None = None) -> list[ServerStatus] | ServerStatus:
        """Every server's status, in the order of the config, or that of one server. Starts nothing."""
        if server is not None:
            return server_status(self._native.status_of(server))
        return [server_status(fields) for fields in self._native.status()]

    def widget(self) -> StatusWidget:
        """The status table for a notebook, kept up to date until it or the manager is closed.

        Needs `mcpool[notebook]`. Returns the same widget while it is open.
        """
        from .widget import widget_of

        return widget_of(self)

    def __repr__(self) -> str:
        name = f"{type(self).__module__.replace('._manager', '')}.{type(self).__qualname__}"
        if not self._native.is_usable():
            return f"<{name}: {self._why_unusable()}>"
        servers = [f"{server.name} {_state(server)}" for server in self.status()]
        shown = ", ".join(servers[:_SHOWN]) or "no servers"
        more = f" and {len(servers) - _SHOWN} more" if len(servers) > _SHOWN else ""
        return f"<{name}: {shown}{more}>"

    def _why_unusable(self) -> str:
        try:
            self._native.warnings()
        except McpoolError:
            return "of another process"
        return "closed"

    def __copy__(self) -> Self:
        """A copy of an agent uses the same manager; `child` gives another one on its connections."""
        return self

    def __deepcopy__(self, _memo: object) -> Self:
        return self

    def __reduce__(self) -> Never:
        raise TypeError(
            "A manager has live connections and cannot be pickled: make a new one from the same config "
            "in the other process"
        )

    def _repr_html_(self) -> str:
        from . import _html

        return _html.status(self.status())


def _state(server: ServerStatus) -> str:
    if server.error is not None:
        return f"{server.state} ({server.error.code})"
    return f"{server.state} ({server.tool_count} tools)" if server.tool_count else server.state
