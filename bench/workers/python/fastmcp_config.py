"""Contestant: `fastmcp` in the way that it has for many servers: one `Client` over a config."""

from __future__ import annotations

from typing import Any

from fastmcp import Client
from harness import Server, main
from life import Gathered

kept: list[Client[Any]] = []


async def connect_all(servers: dict[str, Server], timeout_ms: int | None) -> Gathered:
    limit = {} if timeout_ms is None else {"timeout": timeout_ms}
    config = {"mcpServers": {name: {**server, **limit} for name, server in servers.items()}}
    client = Client(config, mode="legacy")
    kept.append(client)
    await client.__aenter__()
    tools = await client.list_tools()
    return Gathered(sorted({tool.name.partition("_")[0] for tool in tools}))


main(None, connect_all)
