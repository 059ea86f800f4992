"""Events, and texts that look like instructions to a model."""

from __future__ import annotations

from collections import deque
from typing import Any, NamedTuple

from . import _native
from ._bridge import finish
from ._errors import restore

TYPE_CHECKING = False  # The words of the core, for type checkers only.
if TYPE_CHECKING:
    from typing import Literal, TypeAlias

    from ._native import NativeEvents

    EventType: TypeAlias = Literal[
        "status",
        "tools_changed",
        "tool_drift",
        "skill_drift",
        "call",
        "progress",
        "task",
        "log",
        "injection",
        "auth_required",
        "config_changed",
        "resources_changed",
        "resource_updated",
        "prompts_changed",
        "elicitation_complete",
        "lost",
    ]
    """The type of an event."""
    LogLevel: TypeAlias = Literal[
        "debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"
    ]
    """How severe the log messages of a server are at least."""
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
    """The kind of a text that looks like instructions to a model."""


class Signal(NamedTuple):
    """A text that looks like instructions to a model; the excerpt shows hidden characters."""

    kind: SignalKind
    excerpt: str


class Event(NamedTuple):
    """One event; `server` is empty if it concerns all servers, `data` has the fields of its type.

    `identity` is set if it is about the connection of another identity than the manager's.

    `status`: state, attempt and, where there is one, error, reason, next_retry_ms.
    `tools_changed`: tool_count.
    `log`: origin ("server" or "mcpool"), level, data and, where there is one, logger.
    `config_changed`: added, removed, restarted, updated.
    `tool_drift`: tool, pinned, fingerprint, blocked and changes, each with path, before and after.
    `skill_drift`: skill (its uri), pinned, fingerprint, blocked and changes.
    `call` (only with call_events): phase ("started" or "finished"), call, tool; at the begin arguments,
    at the end duration_ms and is_error, error, or cancelled.
    `progress`: tool, progress, total, message.
    `task`: tool, task_id, status and, where there is one, message.
    `injection`: place ("result", "description", "instructions" or "skill"), tool or skill (its uri), signals
    (kind and excerpt of each).
    `auth_required`: error.
    `resources_changed`, `prompts_changed`: nothing; the server's list is another now.
    `resource_updated`: uri, of a resource that the manager has subscribed to.
    `elicitation_complete`: elicitation_id, from the request of `on_elicitation`.
    `lost`: count: how many events before this one the reader was too slow for.
    """

    seq: int
    time_ms: int
    server: str
    type: EventType
    data: dict[str, Any]
    identity: str | None = None


class Events:
    """A stream of events, from its creation until the manager closes."""

    def __init__(self, native: NativeEvents) -> None:
        self._native = native
        self._taken: deque[dict[str, Any]] = deque()

    def __aiter__(self) -> Events:
        return self

    async def __anext__(self) -> Event:
        while not self._taken:
            # One wake-up for many events; the wait also lets the loop's other tasks run.
            if not await finish(_native.events_ready(self._native)):
                raise StopAsyncIteration
            self._taken.extend(self._native.take())
        return read_event(self._taken.popleft())

    @property
    def lost(self) -> int:
        """How many events this reader has missed because it was too slow."""
        return self._native.lost()


def read_event(fields: dict[str, Any]) -> Event:
    data = dict(fields)
    head = {name: data.pop(name) for name in ("seq", "time_ms", "server", "type")}
    if data.get("error"):
        data["error"] = restore(data["error"])
    return Event(**head, identity=data.pop("identity", None), data=data)
