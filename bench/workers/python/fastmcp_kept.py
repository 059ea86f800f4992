"""Contestant: `fastmcp` in the way that comes back: a `Client` over a transport that is kept alive (its default),
entered anew for each call. Entering finds the dead server and starts another."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastmcp import Client
from fastmcp.client.transports import StdioTransport
from harness import Pool, Server, main


@asynccontextmanager
async def open_servers(servers: list[Server]) -> AsyncIterator[Pool]:
    (server,) = servers
    client = Client(StdioTransport(server["command"], server["args"]), mode="legacy")

    async def call(tool: str, args: dict[str, Any]) -> Any:
        async with client:
            return await client.call_tool(tool, args)

    async with client:
        every = await client.list_tools(cache_mode="bypass")
    yield Pool(
        calls=[call],
        text=lambda result: result.content[0].text,
        tools=lambda: every,
        name=lambda tool: tool.name,
        schema=lambda tool: tool.input_schema,
    )
    await client.close()


main(open_servers)
