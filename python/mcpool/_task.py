"""The tasks of a server. Imported by the first verb about them, never by the package itself."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple


class Task(NamedTuple):
    """Work of a server that goes on after its call was answered; `raw` is all that the server says of it.

    `task_id` is for the option `resume_task` of a later call.
    """

    task_id: str
    status: Literal["working", "input_required", "completed", "failed", "cancelled"]
    status_message: str | None
    ttl_ms: int | None
    poll_interval_ms: int | None
    raw: dict[str, Any]


def read_task(row: dict[str, Any]) -> Task:
    return Task(
        row["taskId"],
        row["status"],
        row.get("statusMessage"),
        row.get("ttlMs"),
        row.get("pollIntervalMs"),
        row,
    )
