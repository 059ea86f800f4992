"""The status of servers, and the reports of connecting and reloading them."""

from __future__ import annotations

from typing import Any, NamedTuple

from ._errors import McpoolError, restore

TYPE_CHECKING = False  # The words of the core, for type checkers only.
if TYPE_CHECKING:
    from datetime import datetime
    from typing import Literal, TypeAlias

    ServerState: TypeAlias = Literal[
        "idle",
        "connecting",
        "connected",
        "degraded",
        "reconnecting",
        "failed",
        "disabled",
        "blocked",
        "needs_auth",
        "disconnected",
    ]
    """The state of a server."""
    Reason: TypeAlias = Literal["startup", "transport-exit", "probe-failure", "session-expired", "manual"]
    """Why an attempt to connect was made or is due."""


class Calls(NamedTuple):
    """How a server's calls ended, over all restarts. A result with is_error counts as ok."""

    ok: int = 0
    error: int = 0
    timeout: int = 0
    in_flight: int = 0
    queued: int = 0
    p50_ms: float | None = None
    p99_ms: float | None = None


class Source(NamedTuple):
    """Where a server's definition comes from."""

    provider: str
    path: str | None
    level: str


class ServerStatus(NamedTuple):
    """The status of one server. Reading it does not contact the server."""

    name: str
    state: ServerState
    transport: str | None
    tool_count: int
    error: McpoolError | None
    connected_since: datetime | None
    """When it connected, in UTC."""
    uptime_ms: int | None
    """How long it has been connected."""
    attempt: int
    reason: Reason | None
    next_retry_ms: int | None
    restarts: int
    refs: int
    pid: int | None
    protocol_version: str | None
    server_name: str | None
    server_version: str | None
    instructions: str | None
    source: Source
    identities: dict[str, ServerState]
    """The connections that calls for other identities have, and their states."""
    calls: Calls

    def _repr_html_(self) -> str:
        from . import _html

        return _html.status([self])


class ConnectReport(NamedTuple):
    """The outcome of connect_all."""

    connected: list[str]
    deferred: list[str]
    pending: list[str]
    failed: dict[str, McpoolError]
    blocked: list[str]
    disabled: list[str]
    durations_ms: dict[str, float]

    def _repr_html_(self) -> str:
        from . import _html

        return _html.report(self)


class ReloadReport(NamedTuple):
    """What a reload changed; `connect` says how connecting the added and restarted servers went."""

    added: list[str]
    removed: list[str]
    restarted: list[str]
    updated: list[str]
    unchanged: list[str]
    connect: ConnectReport


def server_status(fields: dict[str, Any]) -> ServerStatus:
    error = restore(fields["error"]) if fields["error"] else None
    parts = {
        "error": error,
        "connected_since": _date(fields["connected_since"]),
        "source": Source(**fields["source"]),
        "calls": Calls(**fields["calls"]),
    }
    return ServerStatus(**{**fields, **parts})


def _date(text: str | None) -> datetime | None:
    if text is None:
        return None
    from datetime import datetime  # Here: importing this package stays cheap.

    # Python 3.10 does not read a "Z".
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def connect_report(fields: dict[str, Any]) -> ConnectReport:
    failed = {name: restore(error) for name, error in fields["failed"].items()}
    return ConnectReport(**{**fields, "failed": failed})


def reload_report(fields: dict[str, Any]) -> ReloadReport:
    return ReloadReport(**{**fields, "connect": connect_report(fields["connect"])})
