"""HTTP/2 and client certificates with servers that others wrote."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import mcpool
import mcpool.blocking
import pytest
from fixture_server import config, until
from real_server import CERTS, LOST, RealServer, eventually, on_hypercorn, on_python

OURS = {"ca": str(CERTS / "ca.pem"), "cert": str(CERTS / "client.pem"), "key": str(CERTS / "client.key")}
CALLS = 64


@pytest.fixture(scope="module")
def server() -> Iterator[RealServer]:
    with on_hypercorn() as server:
        yield server


def sockets_to(port: int) -> int:
    """The number of this process's sockets to the port."""
    ours = set()
    for descriptor in Path("/proc/self/fd").iterdir():
        try:
            ours.add(os.readlink(descriptor))
        except FileNotFoundError:
            continue
    rows = [line.split() for line in Path("/proc/self/net/tcp").read_text().splitlines()]
    return sum(row[2].endswith(f":{port:04X}") and f"socket:[{row[9]}]" in ours for row in rows)


def connect_error(definition: dict[str, Any]) -> mcpool.McpoolError:
    with mcpool.blocking.Manager(config(s=definition), cache_dir=False) as manager:
        return manager.connect_all().failed["s"]


async def http_version(manager: mcpool.Manager) -> str:
    """The version that the server saw."""
    version: str = json.loads((await manager.call_tool("s", "request")).text)["version"]
    return version


async def happened(manager: mcpool.Manager, what: str, times: int) -> bool:
    return (await manager.call_tool("s", "happened")).text.count(what) >= times


def test_many_calls_in_flight_share_one_http2_connection(server: RealServer) -> None:
    async def main() -> None:
        async with mcpool.Manager(config(s={**server.definition(), "tls": OURS}), cache_dir=False) as manager:
            report = await manager.connect_all()
            assert report.connected == ["s"], report.failed
            assert await http_version(manager) == "2"
            # They end when one more has come.
            everybody = {"others": CALLS + 1}
            calls = [asyncio.ensure_future(manager.call_tool("s", "meet", everybody)) for _ in range(CALLS)]
            await eventually(lambda: happened(manager, "meets", CALLS))
            assert sockets_to(server.port) == 1
            assert (await manager.call_tool("s", "meet", everybody)).text == "met"
            assert {result.text for result in await asyncio.gather(*calls)} == {"met"}
            assert sockets_to(server.port) == 1

    asyncio.run(main())
    assert until(lambda: sockets_to(server.port) == 0)


def test_without_tls_it_is_http1() -> None:
    async def main() -> None:
        with on_hypercorn(tls=False) as plain:
            async with mcpool.Manager(config(s=plain.definition()), cache_dir=False) as manager:
                await manager.connect_all()
                assert await http_version(manager) == "1.1"
                calls = [manager.call_tool("s", "echo", {"text": str(at)}) for at in range(CALLS)]
                assert [result.text for result in await asyncio.gather(*calls)] == [
                    str(at) for at in range(CALLS)
                ]

    asyncio.run(main())


def test_calls_over_http2_are_cancelled_one_by_one(server: RealServer) -> None:
    async def main() -> None:
        async with mcpool.Manager(config(s={**server.definition(), "tls": OURS}), cache_dir=False) as manager:
            await manager.connect_all()
            waiting = asyncio.ensure_future(manager.call_tool("s", "wait"))
            await eventually(lambda: happened(manager, "waits", 1))
            waiting.cancel()
            await eventually(lambda: happened(manager, "cancelled", 1))
            assert sockets_to(server.port) == 1

    asyncio.run(main())


def test_http2_comes_back_after_the_server_was_killed() -> None:
    with on_hypercorn() as server:
        definition = {**server.definition(), "tls": OURS, "restart": {"delays": [100], "forever": True}}
        with mcpool.blocking.Manager(config(s=definition), cache_dir=False) as manager:
            assert manager.connect_all().connected == ["s"]
            server.kill()
            with pytest.raises(LOST):
                manager.call_tool("s", "echo", {"text": "nobody"}, timeout=0.5)
            server.start()
            assert until(lambda: manager.status()[0].restarts and manager.status()[0].state == "connected")
            assert json.loads(manager.call_tool("s", "request").text)["version"] == "2"


def test_without_a_certificate_of_ours_the_server_refuses(server: RealServer) -> None:
    # It closes the connection without saying why.
    error = connect_error({**server.definition(), "tls": {"ca": OURS["ca"]}})
    assert type(error) is mcpool.ConnectFailedError


@pytest.mark.parametrize("tls", [None, {**OURS, "ca": str(CERTS / "other.pem")}])
def test_a_server_that_another_authority_signed_is_refused(server: RealServer, tls: Any) -> None:
    error = connect_error({**server.definition(), **({"tls": tls} if tls else {})})
    assert type(error) is mcpool.ConnectFailedError
    assert "certificate" in str(error).lower()


SECURED = {
    "http": lambda: on_python("mcp", "http", tls=True),
    "sse": lambda: on_python("mcp", "sse", tls=True),
    "websocket": lambda: on_python("mcp1", "websocket", tls=True),
}


@pytest.mark.parametrize("start", SECURED.values(), ids=SECURED)
def test_every_transport_presents_its_certificate(start: Any) -> None:
    with start() as server:
        definition = {**server.definition(), "tls": OURS}
        with mcpool.blocking.Manager(config(s=definition), cache_dir=False) as manager:
            report = manager.connect_all()
            assert report.connected == ["s"], report.failed
            assert manager.call_tool("s", "echo", {"text": "sealed"}).text == "sealed"
        error = connect_error({**server.definition(), "tls": {"ca": OURS["ca"]}})
        assert type(error) is mcpool.ConnectFailedError
