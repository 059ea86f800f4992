"""What the verbs return: plain, typed, immutable."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ._errors import McpoolError, restore


class Progress(NamedTuple):
    """How far a call has come, in the server's own measure."""

    progress: float
    total: float | None
    message: str | None


@dataclass(frozen=True)
class ConnectReport:
    """How a connect_all went."""

    connected: list[str]
    failed: dict[str, McpoolError]
    disabled: list[str]
    durations_ms: dict[str, float]

    @classmethod
    def _from(cls, fields: dict[str, Any]) -> ConnectReport:
        failed = {name: restore(error) for name, error in fields["failed"].items()}
        return cls(**{**fields, "failed": failed})


@dataclass(frozen=True)
class Calls:
    """How the calls on the current connection ended. A tool that says is_error has answered: that is ok."""

    ok: int = 0
    error: int = 0
    timeout: int = 0
    in_flight: int = 0
    p50_ms: float | None = None
    p99_ms: float | None = None


@dataclass(frozen=True)
class ServerStatus:
    """What can be said of a server without touching it."""

    name: str
    state: str
    transport: str | None
    tool_count: int
    error: McpoolError | None
    connected_since_ms: int | None
    pid: int | None
    protocol_version: str | None
    server_name: str | None
    server_version: str | None
    instructions: str | None
    calls: Calls

    @classmethod
    def _from(cls, fields: dict[str, Any]) -> ServerStatus:
        error = restore(fields["error"]) if fields["error"] else None
        return cls(**{**fields, "error": error, "calls": Calls(**fields["calls"])})


@dataclass(frozen=True)
class Event:
    """One thing that happened; `data` holds what belongs to its type."""

    seq: int
    time_ms: int
    server: str
    type: str
    data: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def _from(cls, fields: dict[str, Any]) -> Event:
        data = dict(fields)
        head = {name: data.pop(name) for name in ("seq", "time_ms", "server", "type")}
        if data.get("error"):
            data["error"] = restore(data["error"])
        return cls(**head, data=data)
