"""Servers come back by themselves, and a manager that nobody holds takes its servers along."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import weakref
from pathlib import Path

import mcpool
import mcpool.blocking
import pytest
from fixture_server import PATIENCE, all_gone, config, lives, processes, stdio, until

# So long a text that a few hundred of them are what a reader may lag behind.
TEXT = 60_000
CAPACITY = (32 << 20) // TEXT


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    return tmp_path / "a.jsonl"


def test_a_killed_server_comes_back_before_anybody_asks(journal: Path) -> None:
    async def main() -> None:
        async with mcpool.Manager(config(a=stdio(journal=journal)), pool=mcpool.Pool()) as manager:
            await manager.connect_all()
            events = manager.events()
            (before,) = manager.status()
            assert before.pid is not None and before.state == "connected"
            os.kill(before.pid, signal.SIGKILL)
            states = []
            async for event in events:
                if event.type == "status":
                    states.append((event.data["state"], event.data.get("reason")))
                    assert event.data["attempt"] >= 1
                if ("connected", None) in states:
                    break
            assert ("reconnecting", "transport-exit") in states
            (after,) = manager.status()
            assert (after.state, after.restarts, after.reason) == ("connected", 1, None)
            assert after.pid != before.pid
            assert (await manager.call_tool("a", "echo", {"text": "again"})).text == "again"

    asyncio.run(asyncio.wait_for(main(), PATIENCE))
    assert all_gone(journal)


def test_a_call_finds_its_server_between_two_attempts(tmp_path: Path) -> None:
    pool = mcpool.Pool(clock="manual")
    servers = config(a=stdio("--fail-init", "99", "--state", str(tmp_path / "state")))
    with mcpool.blocking.Manager(servers, pool=pool, restart_wait=0) as manager:
        events = manager.events(timeout=PATIENCE)
        assert manager.connect_all().failed["a"].restart is None
        assert any(event.type == "status" and event.data.get("next_retry_ms") == 1000 for event in events)
        (status,) = manager.status()
        assert (status.state, status.attempt, status.next_retry_ms) == ("reconnecting", 2, 1000)
        with pytest.raises(mcpool.RestartFailedError) as told:
            manager.call_tool("a", "echo", {"text": "x"})
        restart = told.value.restart
        assert restart is not None and (restart.attempt, restart.next_retry_ms) == (2, 1000)
        assert isinstance(restart.last_error, mcpool.HandshakeFailedError | mcpool.ConnectFailedError)
        assert (told.value.executed, told.value.retryable) == ("no", True)
        pool.advance(1)
        assert until(lambda: manager.status()[0].next_retry_ms == 2000)


@pytest.mark.parametrize("face", [mcpool.Manager, mcpool.blocking.Manager])
def test_a_forgotten_manager_ends_its_servers(
    face: type[mcpool.Manager] | type[mcpool.blocking.Manager], journal: Path
) -> None:
    manager = face(config(a=stdio(journal=journal)), pool=mcpool.Pool())
    if isinstance(manager, mcpool.Manager):
        asyncio.run(manager.connect("a"))
    else:
        manager.connect("a")
    events = manager.events()
    (pid,) = processes(journal)
    assert lives(pid)
    gone = weakref.ref(manager)
    del manager
    gc.collect()
    assert gone() is None
    assert all_gone(journal)
    assert events.lost == 0


def test_a_manager_in_a_cycle_is_forgotten_too(journal: Path) -> None:
    manager = mcpool.blocking.Manager(config(a=stdio(journal=journal)), pool=mcpool.Pool())
    manager.connect_all()
    manager.agent = [manager]  # type: ignore[attr-defined]
    del manager
    gc.collect()
    assert all_gone(journal)


def number(event: mcpool.Event) -> int:
    return int(event.data["data"])


def test_a_slow_reader_loses_the_oldest_and_is_told(journal: Path) -> None:
    batch = CAPACITY // 2
    flood = 4 * batch

    async def main() -> None:
        async with mcpool.Manager(config(a=stdio(journal=journal)), pool=mcpool.Pool()) as manager:
            await manager.connect_all()
            slow, quick = manager.events(), manager.events()
            for first in range(0, flood, batch):
                for n in range(first, first + batch):
                    await manager.call_tool("a", "log", {"level": "info", "text": str(n).rjust(TEXT)})
                read = [number(await anext(quick)) for _ in range(batch)]
                assert read == list(range(first, first + batch)), "nobody loses by another one's slowness"
            assert quick.lost == 0
            told = await anext(slow)
            assert (told.type, told.data) == ("lost", {"count": slow.lost})
            seen = [await anext(slow)]
            assert number(seen[0]) == slow.lost >= flood - CAPACITY
            while number(seen[-1]) != flood - 1:
                seen.append(await anext(slow))
            assert len(seen) + slow.lost == flood
            assert {event.data["origin"] for event in seen} == {"server"}

    asyncio.run(asyncio.wait_for(main(), 300))


@pytest.mark.parametrize("callers", [1, 32])
def test_an_eager_reader_gets_every_call_event(callers: int) -> None:
    calls = 8000

    async def main() -> None:
        manager = mcpool.Manager(config(a=stdio()), pool=mcpool.Pool(), call_events=True)
        await manager.connect_all()
        events = manager.events()
        left = iter(range(calls))
        seen: list[mcpool.Event] = []

        async def read() -> None:
            async for event in events:
                seen.append(event)

        async def call() -> None:
            for _ in left:
                await manager.call_tool("a", "echo", {"text": "x"})

        reader = asyncio.create_task(read())
        await asyncio.gather(*(call() for _ in range(callers)))
        await manager.close()
        await reader
        told = [event.data["phase"] for event in seen if event.type == "call"]
        lost = sum(event.data["count"] for event in seen if event.type == "lost")
        assert lost == events.lost
        assert len(told) + lost == 2 * calls
        assert lost == 0 and told.count("started") == told.count("finished") == calls

    asyncio.run(asyncio.wait_for(main(), 300))


def test_a_reader_that_gives_up_waiting_loses_nothing() -> None:
    async def main() -> None:
        async with mcpool.Manager(config(a=stdio()), pool=mcpool.Pool(), call_events=True) as manager:
            await manager.connect_all()
            events = manager.events()
            for n in range(1, 200):
                waiting = asyncio.ensure_future(anext(events))
                call = asyncio.ensure_future(manager.call_tool("a", "echo", {"text": "x"}))
                # Sometimes before the wake-up, sometimes after it.
                await asyncio.sleep(0.001 * (n % 3))
                waiting.cancel()
                first = await asyncio.gather(waiting, return_exceptions=True)
                await call
                read = [event for event in first if isinstance(event, mcpool.Event)]
                while len(read) < 2:
                    read.append(await anext(events))
                assert [event.data["call"] for event in read] == [n, n]

    asyncio.run(asyncio.wait_for(main(), 300))
