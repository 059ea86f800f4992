"""What the verbs return: plain, typed, immutable."""

from __future__ import annotations

from typing import Any, NamedTuple

from ._errors import McpoolError, restore


class Progress(NamedTuple):
    """How far a call has come, in the server's own measure."""

    progress: float
    total: float | None
    message: str | None


class ConnectReport(NamedTuple):
    """How a connect_all went."""

    connected: list[str]
    deferred: list[str]
    pending: list[str]
    failed: dict[str, McpoolError]
    blocked: list[str]
    disabled: list[str]
    durations_ms: dict[str, float]


class Calls(NamedTuple):
    """How the calls on the current connection ended. A tool that says is_error has answered: that is ok."""

    ok: int = 0
    error: int = 0
    timeout: int = 0
    in_flight: int = 0
    p50_ms: float | None = None
    p99_ms: float | None = None


class Source(NamedTuple):
    """Where a server's definition comes from."""

    provider: str
    path: str | None
    level: str


class ServerStatus(NamedTuple):
    """What can be said of a server without touching it."""

    name: str
    state: str
    transport: str | None
    tool_count: int
    error: McpoolError | None
    connected_since_ms: int | None
    attempt: int
    next_retry_ms: int | None
    restarts: int
    refs: int
    pid: int | None
    protocol_version: str | None
    server_name: str | None
    server_version: str | None
    instructions: str | None
    source: Source
    calls: Calls


class Event(NamedTuple):
    """One thing that happened; `data` holds what belongs to its type."""

    seq: int
    time_ms: int
    server: str
    type: str
    data: dict[str, Any]


def connect_report(fields: dict[str, Any]) -> ConnectReport:
    failed = {name: restore(error) for name, error in fields["failed"].items()}
    return ConnectReport(**{**fields, "failed": failed})


def server_status(fields: dict[str, Any]) -> ServerStatus:
    error = restore(fields["error"]) if fields["error"] else None
    parts = {"error": error, "source": Source(**fields["source"]), "calls": Calls(**fields["calls"])}
    return ServerStatus(**{**fields, **parts})


def event(fields: dict[str, Any]) -> Event:
    data = dict(fields)
    head = {name: data.pop(name) for name in ("seq", "time_ms", "server", "type")}
    if data.get("error"):
        data["error"] = restore(data["error"])
    return Event(**head, data=data)
