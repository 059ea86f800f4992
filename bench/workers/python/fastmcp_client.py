"""Contestant: `fastmcp`, one `Client` per server, in the same plain handshake as all."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastmcp import Client
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport
from harness import Pool, Server, main
from hold import hold_all


def client(server: Server) -> Client[Any]:
    if "url" in server:
        return Client(StreamableHttpTransport(server["url"]), mode="legacy")
    transport = StdioTransport(server["command"], server["args"], keep_alive=False)
    return Client(transport, mode="legacy")


async def list_tools(client: Client[Any]) -> list[Any]:
    return await client.list_tools(cache_mode="bypass")


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


main(open_servers)
