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

CAPACITY = 1024


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
    with mcpool.blocking.Manager(servers, pool=pool, restart_wait_ms=0) as manager:
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
        pool.advance_ms(1000)
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
    flood, batch = 2 * CAPACITY, CAPACITY // 2

    async def main() -> None:
        async with mcpool.Manager(config(a=stdio(journal=journal)), pool=mcpool.Pool()) as manager:
            await manager.connect_all()
            slow, quick = manager.events(), manager.events()
            for first in range(0, flood, batch):
                for n in range(first, first + batch):
                    await manager.call_tool("a", "log", {"level": "info", "text": str(n)})
                read = [number(await anext(quick)) for _ in range(batch)]
                assert read == list(range(first, first + batch)), "nobody loses by another one's slowness"
            assert quick.lost == 0
            seen = [await anext(slow)]
            assert number(seen[0]) == slow.lost >= flood - CAPACITY
            while number(seen[-1]) != flood - 1:
                seen.append(await anext(slow))
            assert len(seen) + slow.lost == flood
            assert {event.data["origin"] for event in seen} == {"server"}

    asyncio.run(asyncio.wait_for(main(), 300))
