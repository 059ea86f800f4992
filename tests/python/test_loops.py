"""One manager serves any loop, any thread, a second `asyncio.run()`; cancellation stays cancellation."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import sys
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import anyio
import mcpool
import pytest
import uvloop
from fixture_server import config, lives, processes, read_journal, stdio, until, web
from loops import LoopWithoutReaders

PATIENCE = 60


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    return tmp_path / "a.jsonl"


@pytest.fixture
def manager(journal: Path) -> Iterator[mcpool.Manager]:
    """A manager that belongs to no loop."""
    manager = mcpool.Manager(config(a=stdio(journal=journal)))
    yield manager
    asyncio.run(manager.close())
    assert until(lambda: not any(lives(pid) for pid in processes(journal)))


async def echo(manager: mcpool.Manager, text: str) -> None:
    result = await manager.call_tool("a", "echo", {"text": text})
    assert result.text == text


def in_loop(loop: asyncio.AbstractEventLoop, main: Coroutine[Any, Any, None]) -> None:
    try:
        loop.run_until_complete(asyncio.wait_for(main, PATIENCE))
    finally:
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()


def received(journal: Path, method: str) -> int:
    return sum(entry.get("method") == method for entry in read_journal(journal))


def ran(journal: Path, tool: str) -> int:
    return sum(entry["event"] == "ran" and entry.get("tool") == tool for entry in read_journal(journal))


async def eventually(condition: Callable[[], object]) -> None:
    """Waits while the loop goes on."""

    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "it did not come true"
        await asyncio.sleep(0.005)


async def run_into_wait_for(manager: mcpool.Manager, journal: Path) -> None:
    """Gives a call up while the server is at work, and waits until the server is told."""
    call = asyncio.ensure_future(manager.call_tool("a", "sleep", {"ms": 600_000}))
    await eventually(lambda: ran(journal, "sleep") == 1)
    with pytest.raises(asyncio.TimeoutError):
        await asyncio.wait_for(call, 0.05)
    await eventually(lambda: received(journal, "notifications/cancelled") == 1)


def test_one_manager_serves_several_asyncio_runs_in_a_row(manager: mcpool.Manager, journal: Path) -> None:
    asyncio.run(manager.connect(server="a"))
    for number in range(5):
        asyncio.run(echo(manager, f"run {number}"))
    assert len(processes(journal)) == 1


def test_several_threads_each_with_their_own_loop_share_one_manager(
    manager: mcpool.Manager, journal: Path
) -> None:
    async def main(name: int) -> None:
        await manager.connect_all()
        for number in range(20):
            await asyncio.gather(*(echo(manager, f"{name} {number} {call}") for call in range(10)))

    with ThreadPoolExecutor(6) as threads:
        list(threads.map(lambda name: asyncio.run(main(name)), range(6)))
    assert len(processes(journal)) == 1


def test_loops_that_take_turns_in_one_thread_keep_no_descriptors(manager: mcpool.Manager) -> None:
    first, second = asyncio.new_event_loop(), asyncio.new_event_loop()
    try:
        first.run_until_complete(manager.connect_all())
        second.run_until_complete(echo(manager, "warm"))
        first.run_until_complete(echo(manager, "warm"))
        gc.collect()
        before = len(os.listdir("/proc/self/fd"))
        for number in range(50):
            first.run_until_complete(echo(manager, f"first {number}"))
            second.run_until_complete(echo(manager, f"second {number}"))
        gc.collect()
        assert len(os.listdir("/proc/self/fd")) <= before + 4
    finally:
        first.close()
        second.close()


def test_many_runs_in_a_row_keep_no_descriptors(manager: mcpool.Manager) -> None:
    asyncio.run(manager.connect(server="a"))
    asyncio.run(echo(manager, "warm"))
    gc.collect()
    before = len(os.listdir("/proc/self/fd"))
    for number in range(50):
        asyncio.run(echo(manager, f"run {number}"))
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) <= before + 4


def test_uvloop_serves_like_asyncio(manager: mcpool.Manager, journal: Path) -> None:
    async def main() -> None:
        await manager.connect_all()
        await asyncio.gather(*(echo(manager, f"call {number}") for number in range(100)))
        await run_into_wait_for(manager, journal)
        await echo(manager, "still there")

    in_loop(uvloop.new_event_loop(), main())
    asyncio.run(echo(manager, "and on asyncio again"))


def test_anyio_scopes_cancel_calls(manager: mcpool.Manager, journal: Path) -> None:
    async def main() -> None:
        await manager.connect_all()
        async with anyio.create_task_group() as group:
            for number in range(10):
                group.start_soon(echo, manager, f"call {number}")
        with anyio.move_on_after(2) as scope:
            await manager.call_tool("a", "sleep", {"ms": 600_000})
        assert scope.cancelled_caught
        async with anyio.create_task_group() as group:
            group.start_soon(manager.call_tool, "a", "sleep", {"ms": 600_000})
            await eventually(lambda: ran(journal, "sleep") == 2)
            group.cancel_scope.cancel()
        await eventually(lambda: received(journal, "notifications/cancelled") == 2)
        await echo(manager, "after")

    anyio.run(main)


def test_a_loop_in_debug_mode_has_nothing_to_complain_of(
    manager: mcpool.Manager, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        await manager.connect_all()
        await asyncio.gather(*(echo(manager, f"call {number}") for number in range(20)))
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(manager.call_tool("a", "sleep", {"ms": 60_000}), 0.05)

    asyncio.run(main(), debug=True)
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []


def test_a_loop_that_cannot_watch_descriptors_serves_too(manager: mcpool.Manager, journal: Path) -> None:
    async def main() -> None:
        await manager.connect_all()
        await asyncio.gather(*(echo(manager, f"call {number}") for number in range(100)))
        await run_into_wait_for(manager, journal)
        await echo(manager, "still there")

    in_loop(LoopWithoutReaders(), main())
    in_loop(LoopWithoutReaders(), echo(manager, "a second loop of that kind"))


def test_the_watcher_of_a_loop_ends_with_it(manager: mcpool.Manager) -> None:
    asyncio.run(manager.connect(server="a"))
    for number in range(3):
        in_loop(LoopWithoutReaders(), echo(manager, f"run {number}"))

    def watchers() -> list[threading.Thread]:
        return [thread for thread in threading.enumerate() if "watch" in thread.name]

    assert until(lambda: not watchers()), f"{len(watchers())} watchers are left"


def test_a_call_that_runs_into_wait_for_is_cancelled_at_the_server(
    manager: mcpool.Manager, journal: Path
) -> None:
    async def main() -> None:
        await manager.connect_all()
        await run_into_wait_for(manager, journal)
        await eventually(lambda: any(entry["event"] == "cancelled" for entry in read_journal(journal)))
        assert manager.status()[0].calls.in_flight == 0

    asyncio.run(main())


def test_siblings_of_a_failed_call_can_be_cancelled_together(manager: mcpool.Manager, journal: Path) -> None:
    async def main() -> None:
        await manager.connect_all()
        tasks = [asyncio.create_task(manager.call_tool("a", "sleep", {"ms": 60_000})) for _ in range(5)]
        await eventually(lambda: ran(journal, "sleep") == 5)
        tasks.append(asyncio.create_task(manager.call_tool("a", "rpc_error", {"code": 1, "message": "no"})))
        done, pending = await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
        assert [type(task.exception()) for task in done] == [mcpool.ToolFailedError]
        for task in pending:
            task.cancel()
        outcomes = await asyncio.gather(*pending, return_exceptions=True)
        assert {type(outcome) for outcome in outcomes} == {asyncio.CancelledError}
        await eventually(lambda: received(journal, "notifications/cancelled") == 5)
        await echo(manager, "unharmed")

    asyncio.run(main())


def test_a_late_answer_of_a_cancelled_call_never_reaches_the_next_call() -> None:
    async def main(url: str) -> None:
        async with mcpool.Manager(config(a={"url": url})) as manager:
            await manager.connect_all()
            for number in range(200):
                old = asyncio.create_task(manager.call_tool("a", "echo", {"text": f"old {number}"}))
                await asyncio.sleep(0)
                # The answer comes in while this loop is busy, and is not looked at yet.
                assert until(lambda: manager.status()[0].calls.ok == 2 * number + 1)  # noqa: B023
                old.cancel()
                await asyncio.sleep(0)
                assert old.cancelled()
                del old
                await echo(manager, f"new {number}")

    with web() as url:
        asyncio.run(main(url))


def test_late_progress_of_a_cancelled_call_never_reaches_the_next_call() -> None:
    async def main(url: str) -> None:
        told: list[mcpool.Progress] = []
        async with mcpool.Manager(config(a={"url": url})) as manager:
            await manager.connect_all()
            for number in range(50):
                call = manager.call_tool("a", "progress", {"steps": 3, "ms": 0}, on_progress=lambda _: None)
                old = asyncio.create_task(call)
                await asyncio.sleep(0)
                assert until(lambda: manager.status()[0].calls.ok == 2 * number + 1)  # noqa: B023
                old.cancel()
                await asyncio.sleep(0)
                del call, old
                await manager.call_tool("a", "echo", {"text": "x"}, on_progress=told.append)
        assert told == []

    with web("--sse") as url:
        asyncio.run(main(url))


def test_a_thousand_calls_at_once_each_get_their_own_answer(manager: mcpool.Manager) -> None:
    async def main() -> None:
        await manager.connect_all()
        await asyncio.gather(
            *(echo(manager, f"call {number} " + "x" * (number % 300)) for number in range(1000))
        )
        calls = manager.status()[0].calls
        assert (calls.ok, calls.error, calls.in_flight) == (1000, 0, 0)

    asyncio.run(main())


def test_a_progress_callback_that_raises_costs_only_itself(
    manager: mcpool.Manager, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[BaseException | None] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda unraisable: told.append(unraisable.exc_value))

    def on_progress(progress: mcpool.Progress) -> None:
        raise LookupError(progress.message)

    async def main() -> None:
        await manager.connect_all()
        arguments = {"steps": 3, "ms": 1}
        result = await manager.call_tool("a", "progress", arguments, on_progress=on_progress)
        assert result.text == "done"
        await echo(manager, "next")

    asyncio.run(main())
    assert [str(error) for error in told] == [f"step {n} of 3" for n in (1, 2, 3)]


def test_a_callback_may_call_the_manager(manager: mcpool.Manager) -> None:
    async def main() -> None:
        await manager.connect_all()
        tasks: list[asyncio.Task[None]] = []
        seen: list[int] = []

        def on_progress(progress: mcpool.Progress) -> None:
            seen.append(manager.status()[0].calls.in_flight)
            tasks.append(asyncio.create_task(echo(manager, "from the callback")))

        await manager.call_tool("a", "progress", {"steps": 2, "ms": 1}, on_progress=on_progress)
        assert len(tasks) == 2
        await asyncio.gather(*tasks)

    asyncio.run(main())


def test_a_cancelled_connect_leaves_the_manager_usable(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    gate.write_text("hold")

    async def main() -> None:
        servers = config(
            slow=stdio("--hold", f"initialize={gate}", journal=tmp_path / "slow.jsonl"),
            a=stdio(journal=tmp_path / "a.jsonl"),
        )
        async with mcpool.Manager(servers) as manager:
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(manager.connect_all(), 0.05)
            gate.write_text("go")
            report = await manager.connect_all()
            assert report.connected == ["slow", "a"]
            await echo(manager, "usable")
        assert len(processes(tmp_path / "slow.jsonl")) == 1

    asyncio.run(main())


def test_a_loop_that_is_closed_with_calls_under_way_harms_nobody(
    manager: mcpool.Manager, journal: Path
) -> None:
    loop = asyncio.new_event_loop()
    loop.run_until_complete(manager.connect_all())
    abandoned = loop.create_task(manager.call_tool("a", "sleep", {"ms": 200}))

    async def sent() -> None:
        await eventually(lambda: ran(journal, "sleep") == 1)

    loop.run_until_complete(sent())
    loop.close()
    asyncio.run(echo(manager, "on another loop"))

    async def answered() -> None:
        await manager.call_tool("a", "sleep", {"ms": 400})

    asyncio.run(answered())
    # Python complains of a task that was destroyed while pending; that is the test's own doing.
    abandoned._log_destroy_pending = False  # type: ignore[attr-defined]


def test_events_reach_a_reader_in_another_loop(manager: mcpool.Manager) -> None:
    ready, seen = threading.Event(), []

    async def read() -> None:
        events = manager.events()
        ready.set()
        async for event in events:
            seen.append((event.type, event.data.get("state")))
            if event.type == "tools_changed":
                return

    with ThreadPoolExecutor(1) as threads:
        reader = threads.submit(lambda: asyncio.run(asyncio.wait_for(read(), PATIENCE)))
        assert ready.wait(PATIENCE)
        asyncio.run(manager.connect(server="a"))
        reader.result()
    assert seen == [("status", "connecting"), ("status", "connected"), ("tools_changed", None)]


def test_events_end_when_the_manager_is_closed(manager: mcpool.Manager) -> None:
    async def main() -> None:
        events = manager.events()
        await manager.connect_all()

        async def read() -> list[str]:
            return [event.type async for event in events]

        reader = asyncio.create_task(read())
        await manager.close()
        types = await asyncio.wait_for(reader, PATIENCE)
        assert types[:2] == ["status", "status"]

    asyncio.run(main())


def test_a_manager_closes_while_others_use_it(manager: mcpool.Manager) -> None:
    async def use() -> None:
        with contextlib.suppress(mcpool.ClosedError, mcpool.ConnectionLostError, mcpool.ToolUnavailableError):
            while True:
                await echo(manager, "more")

    async def main() -> None:
        await manager.connect_all()
        users = [asyncio.create_task(use()) for _ in range(20)]
        await eventually(lambda: manager.status()[0].calls.ok > 100)
        await manager.close()
        await asyncio.wait_for(asyncio.gather(*users), PATIENCE)

    asyncio.run(main())
