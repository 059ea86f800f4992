"""Contestant: mcpool, one Manager over all servers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

import mcpool
from harness import Pool, Server, main
from life import Gathered


@asynccontextmanager
async def open_servers(servers: list[Server]) -> AsyncIterator[Pool]:
    named = {f"s{index}": server for index, server in enumerate(servers)}
    async with mcpool.Manager({"mcpServers": named}) as manager:
        report = await manager.connect_all()
        if report.failed:
            raise RuntimeError(f"not connected: {report.failed}")
        yield Pool(
            calls=[partial(manager.call_tool, name) for name in named],
            text=lambda result: result.content[0]["text"],
            tools=manager.get_tools,
            name=lambda tool: tool.name,
            schema=lambda tool: tool.input_schema,
            for_model=lambda result: result.for_model(),
        )


async def connect_all(servers: dict[str, Server], timeout_ms: int | None) -> Gathered:
    limit = {} if timeout_ms is None else {"timeout": timeout_ms}
    manager = mcpool.Manager({"mcpServers": {name: {**server, **limit} for name, server in servers.items()}})
    report = await manager.connect_all()
    listed = {tool.server for tool in manager.get_tools()}
    return Gathered([name for name in report.connected if name in listed], report.deferred, manager.close)


main(open_servers, connect_all)
