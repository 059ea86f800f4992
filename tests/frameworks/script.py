"""What a scripted model says, turn by turn, and what the world does meanwhile."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Coroutine
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeAlias

import mcpool
import mcpool.blocking
import pytest
from fixture_server import read_journal, until

Call: TypeAlias = tuple[str, dict[str, Any]]
Said: TypeAlias = str | list[Call]
Turn: TypeAlias = Said | Callable[[], Said]
AnyManager: TypeAlias = mcpool.Manager | mcpool.blocking.Manager

SLEEP: Call = ("mcp_a_sleep", {"ms": 600_000})


class Script:
    """A final text or a list of calls per turn; a function is asked for it when its turn has come."""

    def __init__(self, *turns: Turn) -> None:
        self._turns = list(turns)

    def next(self) -> Said:
        turn = self._turns.pop(0)
        return turn() if callable(turn) else turn

    def spoken(self) -> bool:
        return not self._turns


def echo(text: str) -> Call:
    return "mcp_a_echo", {"text": text}


def after_restart(manager: AnyManager, *calls: Call) -> Callable[[], Said]:
    """A turn before which the server dies and comes back."""

    def turn() -> Said:
        (before,) = manager.status()
        assert before.pid is not None
        os.kill(before.pid, signal.SIGKILL)
        assert until(lambda: manager.status()[0].pid not in (None, before.pid))
        return list(calls)

    return turn


def once_listed(manager: AnyManager, name: str, *calls: Call) -> Callable[[], Said]:
    """A turn that is not taken before the catalog holds this tool, which may be offered in it already."""

    def turn() -> Said:
        assert until(lambda: name in [tool.name for tool in manager.get_tools()])
        return list(calls)

    return turn


def received(journal: Path, method: str, times: int = 1) -> bool:
    """Whether the server is told this, so many times, in good time."""
    return until(lambda: [entry.get("method") for entry in read_journal(journal)].count(method) >= times)


async def give_up_in_mid_call(run: Coroutine[Any, Any, object], journal: Path, times: int = 1) -> None:
    """Cancels a run while the server is at work: the run must end as cancelled, and the server be told."""
    task = asyncio.ensure_future(run)
    assert await asyncio.to_thread(received, journal, "tools/call", times)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await asyncio.to_thread(received, journal, "notifications/cancelled", times)


def odd_tool() -> Any:
    """What an adapter reads of a tool whose schema says what few schemas say."""
    schema = {
        "type": "object",
        "properties": {
            "point": {"$ref": "#/$defs/point"},
            "either": {"anyOf": [{"$ref": "#/$defs/point"}, {"type": "null"}]},
            "numbers": {"type": ["number", "null"]},
            "untyped": {"description": "anything"},
            "yes": True,
            "tree": {"$ref": "#/$defs/tree"},
        },
        "required": ["point"],
        "$defs": {
            "point": {"type": "object", "properties": {"x": {"type": "number"}}, "required": ["x"]},
            "tree": {"type": "array", "items": {"$ref": "#/$defs/tree"}},
        },
    }
    return SimpleNamespace(
        name="mcp_a_odd",
        description="odd",
        input_schema=schema,
        object_schema=schema,
        output_schema=None,
        requires_approval=True,
    )
