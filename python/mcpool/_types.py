"""What the verbs return: plain, typed, immutable."""

from __future__ import annotations

from typing import Any, NamedTuple

from ._errors import McpoolError, restore

TYPE_CHECKING = False  # The words of the core, for type checkers only.
if TYPE_CHECKING:
    from typing import Literal, TypeAlias

    State: TypeAlias = Literal[
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
    """Where a server stands."""
    Reason: TypeAlias = Literal["startup", "transport-exit", "probe-failure", "session-expired", "manual"]
    """Why an attempt to connect was made or is due."""
    Retry: TypeAlias = Literal["never", "safe"]
    """Which calls are sent again when their connection is lost; one that was never read always is."""
    EventType: TypeAlias = Literal[
        "status",
        "tools_changed",
        "tool_drift",
        "call",
        "progress",
        "log",
        "injection",
        "auth_required",
        "config_changed",
        "lost",
    ]
    """What an event tells of."""
    SignalKind: TypeAlias = Literal[
        "ignore_previous",
        "disregard_previous",
        "fake_system_role",
        "chat_template",
        "bracketed_role",
        "new_instructions",
        "fake_authorisation",
        "mode_switch",
        "hidden_characters",
        "wrapper_escape",
    ]
    """What a text that tries to give orders to a model looks like."""


class Progress(NamedTuple):
    """How far a call has come, in the server's own measure."""

    progress: float
    total: float | None
    message: str | None


class Signal(NamedTuple):
    """A text that looks as if it gave orders to a model; in the excerpt, hidden characters are visible."""

    kind: SignalKind
    excerpt: str


class Image(NamedTuple):
    """An image of a result; `data` is base64."""

    mime_type: str
    data: str

    @property
    def url(self) -> str:
        """The image as a data URL."""
        return f"data:{self.mime_type};base64,{self.data}"

    def decode(self) -> bytes:
        """The image as bytes."""
        from base64 import b64decode

        return b64decode(self.data)


class ConnectReport(NamedTuple):
    """How a connect_all went."""

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


class Calls(NamedTuple):
    """How a server's calls ended, over all restarts. A tool that says is_error has answered: that is ok."""

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
    state: State
    transport: str | None
    tool_count: int
    error: McpoolError | None
    connected_since_ms: int | None
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
    calls: Calls

    def _repr_html_(self) -> str:
        from . import _html

        return _html.status([self])


class Event(NamedTuple):
    """One thing that happened; `server` is empty when it concerns all, `data` holds what belongs to the type.

    `status`: state, attempt and, where there is one, error, reason, next_retry_ms.
    `tools_changed`: tool_count.
    `log`: origin ("server" or "mcpool"), level, data and, where there is one, logger.
    `config_changed`: added, removed, restarted, updated.
    `tool_drift`: tool, pinned, fingerprint, blocked and changes, each with path, before and after.
    `call` (only with call_events): phase ("started" or "finished"), call, tool; at the begin arguments,
    at the end duration_ms and is_error, error, or cancelled.
    `progress`: tool, progress, total, message.
    `injection`: place ("result", "description" or "instructions"), tool, signals (kind and excerpt of each).
    `auth_required`: error.
    `lost`: count: how many events before this one the reader was too slow for.
    """

    seq: int
    time_ms: int
    server: str
    type: EventType
    data: dict[str, Any]


def connect_report(fields: dict[str, Any]) -> ConnectReport:
    failed = {name: restore(error) for name, error in fields["failed"].items()}
    return ConnectReport(**{**fields, "failed": failed})


def reload_report(fields: dict[str, Any]) -> ReloadReport:
    return ReloadReport(**{**fields, "connect": connect_report(fields["connect"])})


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
