"""Contestant: `langchain-mcp-adapters`, one `MultiServerMCPClient` over all servers."""

from __future__ import annotations

from datetime import timedelta

from harness import Server, main
from langchain_mcp_adapters.client import MultiServerMCPClient
from life import Gathered


async def connect_all(servers: dict[str, Server], timeout_ms: int | None) -> Gathered:
    limit = {}
    if timeout_ms is not None:
        limit = {"session_kwargs": {"read_timeout_seconds": timedelta(milliseconds=timeout_ms)}}
    connections = {name: {"transport": "stdio", **server, **limit} for name, server in servers.items()}
    tools = await MultiServerMCPClient(connections, tool_name_prefix=True).get_tools()
    return Gathered(sorted({tool.name.partition("_")[0] for tool in tools}))


main(None, connect_all)
