"""Servers over a network on libraries that others wrote: called, cancelled, killed and started again."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator

import mcpool
import mcpool.blocking
import pytest
from fixture_server import config, until
from real_server import LOST, RealServer, eventually, on_python, on_typescript

SERVERS = {
    "mcp 2 over Streamable HTTP": lambda: on_python("mcp", "http"),
    "mcp 2 over SSE": lambda: on_python("mcp", "sse"),
    "mcp 2 over SSE, found by falling back": lambda: on_python("mcp", "sse", kind="http"),
    "FastMCP over Streamable HTTP": lambda: on_python("fastmcp", "http"),
    "FastMCP over SSE": lambda: on_python("fastmcp", "sse"),
    "mcp 1 over WebSocket": lambda: on_python("mcp1", "websocket"),
    "TypeScript SDK over WebSocket": on_typescript,
}


@pytest.fixture(scope="module", params=SERVERS.values(), ids=SERVERS)
def server(request: pytest.FixtureRequest) -> Iterator[RealServer]:
    with request.param() as server:
        yield server


@pytest.fixture
def manager(server: RealServer) -> Iterator[mcpool.blocking.Manager]:
    patient = {**server.definition(), "timeout": 60_000, "restart": {"delays": [100], "forever": True}}
    with mcpool.blocking.Manager(config(s=patient), cache_dir=False) as manager:
        report = manager.connect_all()
        assert report.connected == ["s"], report.failed
        yield manager


def run(server: RealServer, use: Callable[[mcpool.Manager], Awaitable[None]]) -> None:
    async def main() -> None:
        async with mcpool.Manager(config(s=server.definition()), cache_dir=False) as manager:
            await manager.connect_all()
            await use(manager)

    asyncio.run(main())


def echo(manager: mcpool.blocking.Manager, text: str) -> str:
    return manager.call_tool("s", "echo", {"text": text}).text


def test_it_answers_and_refuses(manager: mcpool.blocking.Manager, server: RealServer) -> None:
    status = manager.status()[0]
    assert (status.server_name, status.transport) == ("real", server.kind)
    assert echo(manager, "héllo") == "héllo"
    large = "x" * 1_000_000
    assert manager.call_tool("s", "echo", {"text": large}).content[0]["text"] == large
    with pytest.raises(mcpool.ToolRejectedError):
        manager.call_tool("s", "no-such-tool")
    assert echo(manager, "after") == "after"


def test_it_answers_many_at_once(server: RealServer) -> None:
    async def use(manager: mcpool.Manager) -> None:
        calls = [manager.call_tool("s", "echo", {"text": str(at)}) for at in range(64)]
        assert [result.text for result in await asyncio.gather(*calls)] == [str(at) for at in range(64)]

    run(server, use)


def test_it_reports_progress(server: RealServer) -> None:
    told: list[mcpool.Progress] = []

    async def use(manager: mcpool.Manager) -> None:
        result = await manager.call_tool("s", "count", {"steps": 3}, on_progress=told.append)
        assert result.text == "3"

    run(server, use)
    assert [(progress.progress, progress.total) for progress in told] == [(1, 3), (2, 3), (3, 3)]


def test_a_cancelled_call_ends_at_the_server(server: RealServer) -> None:
    async def use(manager: mcpool.Manager) -> None:
        async def happened(what: str) -> int:
            return json.loads((await manager.call_tool("s", "happened")).text).count(what)

        async def waits() -> bool:
            return await happened("waits") > await happened("cancelled")

        async def none_waits() -> bool:
            return not await waits()

        for _ in range(2):
            waiting = asyncio.ensure_future(manager.call_tool("s", "wait"))
            await eventually(waits)
            waiting.cancel()
            await eventually(none_waits)

    run(server, use)


def test_a_changed_tool_list_is_fetched(manager: mcpool.blocking.Manager) -> None:
    manager.call_tool("s", "grow")
    assert until(lambda: "grown" in {tool.raw_name for tool in manager.get_tools()}, 30)
    assert manager.call_tool("s", "grown").text == "here"


def test_it_comes_back_after_it_was_killed(manager: mcpool.blocking.Manager, server: RealServer) -> None:
    assert echo(manager, "before") == "before"
    server.kill()
    # Streamable HTTP without a stream of the server notices it with the next call.
    with pytest.raises(LOST):
        manager.call_tool("s", "echo", {"text": "nobody"}, timeout=0.5)
    assert until(lambda: manager.status()[0].state != "connected")
    server.start()
    assert until(lambda: manager.status()[0].state == "connected")
    assert echo(manager, "again") == "again"
    assert manager.status()[0].restarts >= 1
