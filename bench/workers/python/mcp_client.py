"""Contestant: the `mcp` SDK, one `Client` per server.

`mode="legacy"` is the plain initialize handshake, the same that all contestants do; the default would probe for
a newer protocol first and cost it a round trip more.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from harness import Pool, Server, main
from hold import hold_all
from life import Gathered
from mcp import Client, StdioServerParameters


def client(server: Server) -> Client:
    target = server["url"] if "url" in server else StdioServerParameters(**server)
    return Client(target, mode="legacy")


async def list_tools(client: Client) -> list[Any]:
    tools, cursor = [], None
    while True:
        page = await client.list_tools(cursor=cursor, cache_mode="bypass")
        tools.extend(page.tools)
        cursor = page.next_cursor
        if cursor is None:
            return tools


@asynccontextmanager
async def open_servers(servers: list[Server]) -> AsyncIterator[Pool]:
    async with hold_all(servers, client, list_tools) as held:
        every = [tool for _, tools in held for tool in tools]
        yield Pool(
            calls=[client.call_tool for client, _ in held],
            text=lambda result: result.content[0].text,
            tools=lambda: every,
            name=lambda tool: tool.name,
            schema=lambda tool: tool.input_schema,
        )


async def connect_all(servers: dict[str, Server], timeout_ms: int | None) -> Gathered:
    """All at once, one task each, and one that fails costs no other: what a program would write around it."""
    limit = None if timeout_ms is None else timeout_ms / 1000
    live = []

    async def hold(name: str, listed: asyncio.Event) -> None:
        try:
            async with Client(StdioServerParameters(**servers[name]), mode="legacy", read_timeout_seconds=limit) as one:
                await list_tools(one)
                live.append(name)
                listed.set()
                await asyncio.Event().wait()
        finally:
            listed.set()

    settled = {name: asyncio.Event() for name in servers}
    holding.extend(asyncio.create_task(hold(name, listed)) for name, listed in settled.items())
    await asyncio.gather(*(listed.wait() for listed in settled.values()))
    return Gathered(live)


holding: list[asyncio.Task[None]] = []

main(open_servers, connect_all)
