"""Holds many single-server clients open at once, each in a task of its own.

The SDKs' clients are context managers over task groups: the task which enters one must also leave it. So each
client lives in a task that enters, lists, reports, and waits for the end.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from harness import Server


@asynccontextmanager
async def hold_all(
    servers: list[Server],
    enter: Callable[[Server], AbstractAsyncContextManager[Any]],
    list_tools: Callable[[Any], Awaitable[list[Any]]],
) -> AsyncIterator[list[tuple[Any, list[Any]]]]:
    """Enters and lists all at once; yields (client, its tools) in the servers' order."""
    end = asyncio.Event()
    loop = asyncio.get_running_loop()
    ready: list[asyncio.Future[tuple[Any, list[Any]]]] = [loop.create_future() for _ in servers]

    async def hold(server: Server, known: asyncio.Future[tuple[Any, list[Any]]]) -> None:
        try:
            async with enter(server) as client:
                known.set_result((client, await list_tools(client)))
                await end.wait()
        except Exception as error:  # noqa: BLE001 (whatever a client raises is its answer)
            if not known.done():
                known.set_exception(error)

    tasks = [asyncio.create_task(hold(*pair)) for pair in zip(servers, ready, strict=True)]
    try:
        yield list(await asyncio.gather(*ready))
    finally:
        end.set()
        await asyncio.gather(*tasks)
