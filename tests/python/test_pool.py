"""Managers of one process share one connection per server name, and nothing that they did not agree on."""

from __future__ import annotations

import asyncio
import gc
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timezone
from pathlib import Path

import mcpool
import mcpool.blocking
import pytest
from fixture_server import all_gone, config, lives, processes, stdio, until

Manager = mcpool.blocking.Manager


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    return tmp_path / "a.jsonl"


@pytest.fixture
def pool() -> mcpool.Pool:
    return mcpool.Pool()


def status(manager: mcpool.Manager | Manager) -> mcpool.ServerStatus:
    (status,) = manager.status()
    return status


def pid(manager: mcpool.Manager | Manager) -> int:
    found = status(manager).pid
    assert found is not None
    return found


def echo(manager: Manager, text: str) -> None:
    assert manager.call_tool("a", "echo", {"text": text}).text == text


def test_two_managers_share_one_process(journal: Path) -> None:
    servers = config(a=stdio(journal=journal))
    with Manager(servers) as first:
        assert first.connect_all().connected == ["a"]
        with Manager(servers) as second:
            assert second.connect_all().connected == ["a"]
            assert pid(first) == pid(second)
            assert (status(first).refs, status(second).refs) == (2, 2)
            echo(first, "first")
            echo(second, "second")
            assert status(second).calls.ok == 2
        echo(first, "the other one is closed")
        assert status(first).refs == 1
        assert len(processes(journal)) == 1
    assert all_gone(journal)


def test_managers_with_pools_of_their_own_share_nothing(journal: Path) -> None:
    servers = config(a=stdio(journal=journal))
    with Manager(servers, pool=mcpool.Pool()) as first, Manager(servers, pool=mcpool.Pool()) as second:
        first.connect("a")
        second.connect("a")
        assert pid(first) != pid(second)
        assert (status(first).refs, status(second).refs) == (1, 1)
    assert all_gone(journal)


def test_a_conflict_names_the_fields_that_differ(pool: mcpool.Pool, journal: Path) -> None:
    with Manager(config(a=stdio(journal=journal)), pool=pool) as first:
        first.connect_all()
        other = config(a=stdio("--name", "other", journal=journal, env={"TOKEN": "hunter2"}))
        with Manager(other, pool=pool) as second:
            conflict = second.connect_all().failed["a"]
            assert type(conflict) is mcpool.ConfigConflictError
            assert "args" in conflict.message and "env" in conflict.message
            assert "command" not in conflict.message and "hunter2" not in str(conflict)
            assert status(second).state == "failed"
            with pytest.raises(mcpool.ConfigConflictError):
                second.connect("a")
            echo(first, "undisturbed")
            first.close()
            second.connect("a")
            echo(second, "its turn")
    assert all_gone(journal)


def test_a_cell_that_is_run_again_with_a_changed_config_just_works(journal: Path) -> None:
    cell = "manager = Manager(servers); report = manager.connect_all(); echo(manager, 'x')"
    notebook = {"Manager": Manager, "echo": echo, "servers": config(a=stdio(journal=journal))}
    exec(cell, notebook)
    exec(cell, notebook)
    first = pid(notebook["manager"])  # type: ignore[arg-type]
    notebook["servers"] = config(a=stdio("--instructions", "changed", journal=journal))
    exec(cell, notebook)
    assert notebook["report"].connected == ["a"]  # type: ignore[attr-defined]
    assert status(notebook["manager"]).instructions == "changed"  # type: ignore[arg-type]
    assert until(lambda: not lives(first))
    notebook["manager"].close()  # type: ignore[attr-defined]
    assert all_gone(journal)


def test_a_server_that_is_not_shared_is_the_managers_own(pool: mcpool.Pool, journal: Path) -> None:
    servers = config(a=stdio(journal=journal, shared=False))
    with Manager(servers, pool=pool) as first, Manager(servers, pool=pool) as second:
        first.connect("a")
        second.connect("a")
        gone = pid(first)
        assert gone != pid(second)
        child = first.child()
        child.connect_all()
        assert pid(child) == gone, "a sub-agent is of the same session"
        child.close()
        first.close()
        assert until(lambda: not lives(gone))
        echo(second, "undisturbed")
    assert all_gone(journal)


def test_a_server_of_a_session_is_started_for_each_manager(pool: mcpool.Pool, journal: Path) -> None:
    servers = config(a=stdio(journal=journal, isolate="session"))
    with Manager(servers, pool=pool) as first, Manager(servers, pool=pool) as second, first.child() as child:
        managers = [first, second, child]
        for manager in managers:
            manager.connect("a")
        assert len({pid(manager) for manager in managers}) == 3
        assert [status(manager).refs for manager in managers] == [1, 1, 1]
    assert all_gone(journal)


def test_a_connection_is_kept_from_session_to_session(journal: Path) -> None:
    pool = mcpool.Pool(keep_alive=60, clock="manual")
    servers = config(a=stdio(journal=journal))

    def session() -> int:
        with Manager(servers, pool=pool) as manager:
            manager.connect_all()
            echo(manager, "x")
            return pid(manager)

    first = session()
    assert session() == first
    pool.advance(59.999)
    assert session() == first
    pool.advance(60)
    assert until(lambda: not lives(first))
    assert session() != first
    pool.advance(60)
    assert all_gone(journal)


def test_what_is_kept_for_ever_ends_with_its_pool(journal: Path) -> None:
    pool = mcpool.Pool(keep_alive="always", clock="manual")
    with Manager(config(a=stdio(journal=journal)), pool=pool) as manager:
        manager.connect_all()
        resident = pid(manager)
    pool.advance(10**9)
    with Manager(config(a=stdio(journal=journal)), pool=pool) as manager:
        manager.connect_all()
        assert pid(manager) == resident
    del manager, pool
    gc.collect()
    assert all_gone(journal)


def test_a_child_lives_on_the_connections_of_its_parent(pool: mcpool.Pool, journal: Path) -> None:
    with Manager(config(a=stdio(journal=journal)), pool=pool, naming="double") as parent:
        parent.connect_all()
        with parent.child() as child:
            assert type(child) is Manager
            assert child.connect_all().connected == ["a"]
            assert pid(child) == pid(parent) and status(child).refs == 2
            assert child.call("mcp__a__echo", {"text": "named alike"}).text == "named alike"
        with pytest.raises(mcpool.ClosedError):
            echo(child, "closed")
        echo(parent, "not closed")
        parent.close()
        with pytest.raises(mcpool.ClosedError):
            parent.child()
    assert all_gone(journal)


def test_a_child_of_an_asyncio_manager_is_one(pool: mcpool.Pool, journal: Path) -> None:
    async def main() -> None:
        async with mcpool.Manager(config(a=stdio(journal=journal)), pool=pool) as parent:
            await parent.connect_all()
            async with parent.child() as child:
                assert type(child) is mcpool.Manager
                await child.connect_all()
                assert (await child.call_tool("a", "echo", {"text": "x"})).text == "x"

    asyncio.run(main())
    assert all_gone(journal)


def test_managers_of_several_threads_and_loops_share_one_connection(pool: mcpool.Pool, journal: Path) -> None:
    servers = config(a=stdio(journal=journal))
    together = threading.Barrier(4, timeout=60)

    async def use(name: int) -> None:
        async with mcpool.Manager(servers, pool=pool) as manager:
            await manager.connect_all()
            await asyncio.to_thread(together.wait)
            assert status(manager).refs == 4
            for number in range(20):
                texts = [f"{name} {number} {call}" for call in range(10)]
                calls = [manager.call_tool("a", "echo", {"text": text}) for text in texts]
                assert [result.text for result in await asyncio.gather(*calls)] == texts
            await asyncio.to_thread(together.wait)

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda name: asyncio.run(use(name)), range(4)))
    assert len(processes(journal)) == 1
    assert all_gone(journal)


def test_managers_of_several_asyncio_runs_share_one_connection(journal: Path) -> None:
    async def use(pool: mcpool.Pool) -> int:
        async with mcpool.Manager(config(a=stdio(journal=journal)), pool=pool) as manager:
            await manager.connect_all()
            assert (await manager.call_tool("a", "echo", {"text": "x"})).text == "x"
            return pid(manager)

    pool = mcpool.Pool(keep_alive="always")
    assert asyncio.run(use(pool)) == asyncio.run(use(pool))
    assert len(processes(journal)) == 1
    del pool
    gc.collect()
    assert all_gone(journal)


def test_status_has_a_date_and_an_uptime(journal: Path) -> None:
    before = datetime.now(timezone.utc).replace(microsecond=0)
    with Manager(config(a=stdio(journal=journal)), pool=mcpool.Pool()) as manager:
        assert (status(manager).connected_since, status(manager).uptime_ms) == (None, None)
        manager.connect_all()
        since, uptime = status(manager).connected_since, status(manager).uptime_ms
    assert since is not None
    assert uptime is not None
    assert since.tzinfo is not None
    assert before <= since <= datetime.now(timezone.utc)
    assert uptime >= 0
