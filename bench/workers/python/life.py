"""Works with servers that get lost or into trouble: the measuring, the same for every contestant.

For trouble a contestant gives `connect_all(servers, timeout_ms)`, in the way that its library has for many servers.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from harness import Open, Server

IDLE_S = 0.1
AGAIN_S = 0.005


@dataclass
class Gathered:
    """Names of the servers whose tools can be used: connected, or known from earlier and on their way."""

    live: list[str]
    deferred: list[str] = field(default_factory=list)
    close: Callable[[], Awaitable[None]] | None = None  # where a later session depends on how this one ends


ConnectAll = Callable[[dict[str, "Server"], "int | None"], Awaitable[Gathered]]


def children(command: str) -> list[int]:
    """Our own child processes that run this command."""
    me, found = os.getpid(), []
    for pid in (int(entry) for entry in os.listdir("/proc") if entry.isdigit()):
        with contextlib.suppress(OSError):
            with open(f"/proc/{pid}/stat", encoding="utf-8") as stat:
                parent = int(stat.read().rpartition(")")[2].split()[1])
            with open(f"/proc/{pid}/cmdline", "rb") as line:
                if parent == me and line.read().split(b"\0")[0] == command.encode():
                    found.append(pid)
    return found


async def recover(open_servers: Open, work: dict[str, Any]) -> dict[str, Any]:
    """The time of a connect with its list; then from the server's death to the next call that goes well."""
    clock, patience, text, why = time.perf_counter, work["patience_s"], "x" * 100, ""
    begin = clock()
    async with open_servers([work["server"]]) as pool:
        start = clock() - begin
        await asyncio.sleep(IDLE_S)
        (server,) = children(work["server"]["command"])
        killed = clock()
        os.kill(server, signal.SIGKILL)
        while (left := killed + patience - clock()) > 0:
            try:
                result = await asyncio.wait_for(pool.calls[0]("echo", {"text": text}), left)
                if pool.text(result) == text:
                    return {"start_s": start, "recovery_s": clock() - killed}
                why = "another answer"
            except Exception as error:  # noqa: BLE001 (whatever a client raises is its answer)
                why = f"{type(error).__name__}: {error}"
            await asyncio.sleep(AGAIN_S)
    return {"start_s": start, "recovery_s": None, "why": why}


async def trouble(connect_all: ConnectAll, work: dict[str, Any]) -> dict[str, Any]:
    """How long the caller waits for many servers, some of which are in trouble, and what it then has. The process
    ends with this."""
    begin, word, gathered = time.perf_counter(), "", Gathered([])
    connecting = asyncio.ensure_future(connect_all(work["servers"], work["timeout_ms"]))
    done, _ = await asyncio.wait([connecting], timeout=work["bound_s"])
    wall = time.perf_counter() - begin
    if not done:
        word = "hangs"
    elif connecting.exception():
        word = "raises"
    else:
        gathered = connecting.result()
        if gathered.close:
            await gathered.close()
    return {"wall_s": wall, "word": word, "live": gathered.live, "deferred": gathered.deferred}
