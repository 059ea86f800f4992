"""A forked child has nothing of its parent's, and everything of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import mcpool
import pytest
from fixture_server import PROGRAM, all_gone, processes

PATIENCE = 120
HEAD = """
import asyncio, gc, multiprocessing, os, sys, threading, time, warnings
import mcpool, mcpool.blocking

# It is the point here that threads run while we fork.
warnings.filterwarnings("ignore", category=DeprecationWarning)
folder, program = sys.argv[1:]

def servers(name, *knobs):
    args = ["stdio", "--journal", os.path.join(folder, name), *knobs]
    return {"mcpServers": {"s": {"command": program, "args": args}}}

def echo(manager, text):
    assert manager.call_tool("s", "echo", {"text": text}).text == text

async def echo_soon(manager, text):
    assert (await manager.call_tool("s", "echo", {"text": text})).text == text

def use_blocking(name="theirs"):
    with mcpool.blocking.Manager(servers(name)) as manager:
        manager.connect("s")
        for number in range(20):
            echo(manager, f"child {number}")

async def use_soon(name="theirs"):
    async with mcpool.Manager(servers(name)) as manager:
        await manager.connect("s")
        await asyncio.gather(*(echo_soon(manager, f"child {number}") for number in range(20)))

def use_asyncio(name="theirs"):
    asyncio.run(use_soon(name))
    asyncio.run(use_soon(name))

def verbs(manager):
    return [
        lambda: manager.connect_all(),
        lambda: manager.connect("s"),
        lambda: manager.wait_for("s", timeout=1),
        lambda: manager.get_tools(),
        lambda: manager.call_tool("s", "echo", {"text": "x"}),
        lambda: manager.call("mcp_s_echo", {"text": "x"}),
        lambda: manager.status(),
        lambda: manager.events(),
        lambda: manager.warnings,
        lambda: manager.reload(servers("ours")),
        lambda: manager.child(),
        lambda: manager.disconnect("s"),
    ]

def check_refusal(error):
    assert "parent" in error.message and error.hint

def fork(work, leave=os._exit):
    child = os.fork()
    if child == 0:
        code = 1
        try:
            work()
            code = 0
        except BaseException as error:
            sys.excepthook(type(error), error, error.__traceback__)
        leave(code)
    return child

def ended_well(child):
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
"""

Run = Callable[[str], None]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Runs a host to its end, which must be a good one."""

    def begin(script: str) -> None:
        file = tmp_path / "host.py"
        file.write_text(HEAD + textwrap.dedent(script))
        env = {**os.environ, "PYTHONPATH": str(Path(mcpool.__file__).parents[1])}
        command = [sys.executable, str(file), str(tmp_path), str(PROGRAM)]
        host = subprocess.run(
            command, env=env, capture_output=True, text=True, timeout=PATIENCE, start_new_session=True
        )
        assert (host.returncode, host.stderr) == (0, "")

    return begin


@pytest.mark.parametrize("use", ["use_blocking", "use_asyncio"])
@pytest.mark.parametrize("leave", ["os._exit", "sys.exit"])
def test_a_new_manager_works_in_a_child(run: Run, tmp_path: Path, use: str, leave: str) -> None:
    run(f"""
        with mcpool.blocking.Manager(servers("ours")) as manager:
            manager.connect_all()
            child = fork({use}, {leave})
            for number in range(100):
                echo(manager, f"parent {{number}}")
            assert ended_well(child)
            echo(manager, "still here")
    """)
    assert len(processes(tmp_path / "ours")) == 1
    assert all_gone(tmp_path / "ours", tmp_path / "theirs")


@pytest.mark.parametrize("use", ["use_blocking", "use_asyncio"])
def test_forking_inside_a_running_loop_leaves_that_loop_alone(run: Run, tmp_path: Path, use: str) -> None:
    run(f"""
        async def main():
            async with mcpool.Manager(servers("ours")) as manager:
                await manager.connect_all()
                waiting = asyncio.gather(*(manager.call_tool("s", "sleep", {{"ms": 200}}) for _ in range(20)))
                await asyncio.sleep(0)
                child = fork({use})
                await asyncio.gather(*(echo_soon(manager, f"parent {{number}}") for number in range(100)))
                await waiting
                assert await asyncio.to_thread(ended_well, child)
                await echo_soon(manager, "still here")

        asyncio.run(main())
    """)
    assert len(processes(tmp_path / "ours")) == 1
    assert all_gone(tmp_path / "ours", tmp_path / "theirs")


def test_a_child_may_go_on_with_a_loop_that_its_parent_has_used(run: Run, tmp_path: Path) -> None:
    run("""
        loop = asyncio.new_event_loop()
        loop.run_until_complete(use_soon("ours"))
        assert ended_well(fork(lambda: loop.run_until_complete(use_soon())))
        loop.run_until_complete(use_soon("ours"))
        loop.close()
    """)
    assert all_gone(tmp_path / "ours", tmp_path / "theirs")


@pytest.mark.parametrize("use", ["use_blocking", "use_asyncio"])
def test_multiprocessing_with_fork_works(run: Run, tmp_path: Path, use: str) -> None:
    run(f"""
        manager = mcpool.blocking.Manager(servers("ours"))
        manager.connect_all()
        context = multiprocessing.get_context("fork")
        with context.Pool(2) as pool:
            pool.map({use}, ["theirs"] * 4)
        process = context.Process(target={use})
        process.start()
        process.join()
        assert process.exitcode == 0
        echo(manager, "still here")
    """)
    assert len(processes(tmp_path / "ours")) == 1
    assert all_gone(tmp_path / "ours", tmp_path / "theirs")


@pytest.mark.parametrize("leave", ["os._exit", "sys.exit"])
def test_a_child_that_forgets_what_it_inherited_ends_nothing(run: Run, tmp_path: Path, leave: str) -> None:
    run(f"""
        manager = mcpool.blocking.Manager(servers("ours"))
        manager.connect_all()
        events = manager.events()

        def forget():
            global manager, events
            manager = events = None
            gc.collect()

        assert ended_well(fork(forget, {leave}))
        echo(manager, "still here")
    """)
    assert len(processes(tmp_path / "ours")) == 1
    assert all_gone(tmp_path / "ours")


@pytest.mark.parametrize("leave", ["os._exit", "sys.exit"])
def test_a_child_takes_its_own_servers_along(run: Run, tmp_path: Path, leave: str) -> None:
    run(f"""
        manager = mcpool.blocking.Manager(servers("ours"))
        manager.connect_all()

        def leave_open():
            global mine
            mine = mcpool.blocking.Manager(servers("theirs", "--ignore-eof"))
            mine.connect_all()

        assert ended_well(fork(leave_open, {leave}))
        echo(manager, "still here")
    """)
    assert all_gone(tmp_path / "ours", tmp_path / "theirs")


def test_every_verb_of_a_parents_manager_says_so_in_a_child(run: Run, tmp_path: Path) -> None:
    run("""
        manager = mcpool.blocking.Manager(servers("ours"))
        manager.connect_all()

        def try_all():
            for verb in verbs(manager):
                try:
                    verb()
                except mcpool.ClosedError as error:
                    check_refusal(error)
                else:
                    raise AssertionError(verb)
            # There is nothing to close.
            manager.disconnect_all()
            manager.close()

        assert ended_well(fork(try_all))
        echo(manager, "still here")
    """)
    assert len(processes(tmp_path / "ours")) == 1
    assert all_gone(tmp_path / "ours")


def test_every_verb_of_a_parents_asyncio_manager_says_so_in_a_child(run: Run, tmp_path: Path) -> None:
    run("""
        manager = mcpool.Manager(servers("ours"))
        asyncio.run(manager.connect("s"))

        async def try_all():
            for verb in verbs(manager):
                try:
                    answer = verb()
                    if asyncio.iscoroutine(answer):
                        await answer
                except mcpool.ClosedError as error:
                    check_refusal(error)
                else:
                    raise AssertionError(verb)
            await manager.disconnect_all()
            await manager.close()

        assert ended_well(fork(lambda: asyncio.run(try_all())))
        asyncio.run(echo_soon(manager, "still here"))
    """)
    assert len(processes(tmp_path / "ours")) == 1
    assert all_gone(tmp_path / "ours")


def test_a_with_block_that_a_child_leaves_closes_nothing(run: Run, tmp_path: Path) -> None:
    run("""
        with mcpool.blocking.Manager(servers("ours")) as manager:
            manager.connect_all()
            child = os.fork()
            if child == 0:
                sys.exit(0)
            assert ended_well(child)
            echo(manager, "still here")
    """)
    assert len(processes(tmp_path / "ours")) == 1
    assert all_gone(tmp_path / "ours")


def test_a_child_shares_no_connection_with_its_parent(run: Run, tmp_path: Path) -> None:
    run("""
        manager = mcpool.blocking.Manager(servers("ours"))
        manager.connect_all()

        def use():
            # The same name with another definition: no conflict, since nobody holds it here.
            use_blocking()
            with mcpool.blocking.Manager(servers("ours")) as mine:
                mine.connect_all()
                assert mine.status()[0].refs == 1
                echo(mine, "mine")

        assert ended_well(fork(use))
        assert manager.status()[0].refs == 1
        echo(manager, "still here")
    """)
    assert len(processes(tmp_path / "ours")) == 2
    assert all_gone(tmp_path / "ours", tmp_path / "theirs")


def test_a_child_that_forgets_its_parents_pool_ends_nothing(run: Run, tmp_path: Path) -> None:
    run("""
        pool = mcpool.Pool(keep_alive="always")
        with mcpool.blocking.Manager(servers("ours"), pool=pool) as manager:
            manager.connect_all()
        del manager

        def forget():
            global pool
            del pool
            gc.collect()

        assert ended_well(fork(forget))
        with mcpool.blocking.Manager(servers("ours"), pool=pool) as manager:
            manager.connect_all()
            echo(manager, "still here")
    """)
    assert len(processes(tmp_path / "ours")) == 1
    assert all_gone(tmp_path / "ours")


def test_a_parents_pool_is_none_in_a_child(run: Run, tmp_path: Path) -> None:
    run("""
        pool = mcpool.Pool()
        manager = mcpool.blocking.Manager(servers("ours"), pool=pool)
        manager.connect_all()

        def use():
            try:
                with mcpool.blocking.Manager(servers("theirs"), pool=pool) as mine:
                    mine.connect("s")
            except mcpool.ClosedError as error:
                assert error.hint
            else:
                raise AssertionError("it worked")

        assert ended_well(fork(use))
        echo(manager, "still here")
    """)
    assert all_gone(tmp_path / "ours")


def test_a_parents_events_end_in_a_child(run: Run, tmp_path: Path) -> None:
    run("""
        manager = mcpool.blocking.Manager(servers("ours"))
        events = manager.events(timeout=5)
        manager.connect_all()

        def read():
            try:
                next(events)
            except (StopIteration, mcpool.ClosedError):
                return
            raise AssertionError("an event of the parent's")

        assert ended_well(fork(read))
        assert next(events).seq == 1
    """)
    assert all_gone(tmp_path / "ours")
