"""However a host ends, it ends, and none of its servers is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import mcpool
import pytest
from fixture_server import PROGRAM, all_gone, processes, read_journal, until

PATIENCE = 20
HEAD = """
import asyncio, os, sys, threading, time
import mcpool, mcpool.blocking

journal, program = sys.argv[1:]

def definition(*knobs):
    return {"command": program, "args": ["stdio", "--journal", journal, *knobs]}

servers = {"mcpServers": {name: definition("--ignore-eof") for name in "ab"}}
"""

Start = Callable[[str], "subprocess.Popen[str]"]


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    return tmp_path / "journal.jsonl"


@pytest.fixture
def start(journal: Path, tmp_path: Path) -> Iterator[Start]:
    """Starts a host that runs a script; it is ended with the test in any case."""
    hosts: list[subprocess.Popen[str]] = []

    def begin(script: str) -> subprocess.Popen[str]:
        file = tmp_path / "host.py"
        file.write_text(HEAD + textwrap.dedent(script))
        env = {**os.environ, "PYTHONPATH": str(Path(mcpool.__file__).parents[1])}
        command = [sys.executable, str(file), str(journal), str(PROGRAM)]
        pipe = subprocess.PIPE
        host = subprocess.Popen(
            command, env=env, stdin=pipe, stdout=pipe, stderr=pipe, text=True, start_new_session=True
        )
        hosts.append(host)
        return host

    yield begin
    for host in hosts:
        if host.poll() is None:
            host.kill()
        host.communicate()


def ended(host: subprocess.Popen[str]) -> tuple[int, str]:
    """How the host ended, and what it said on stderr."""
    _, said = host.communicate(timeout=PATIENCE)
    return host.returncode, said


def ran(journal: Path, tool: str) -> Callable[[], bool]:
    return lambda: any(entry["event"] == "ran" and entry["tool"] == tool for entry in read_journal(journal))


@pytest.mark.parametrize("time", range(5))
def test_exit_with_calls_in_flight_is_clean(start: Start, journal: Path, time: int) -> None:
    host = start("""
        async def main():
            manager = mcpool.Manager(servers)
            await manager.connect_all()
            calls = [manager.call_tool(name, "sleep", {"ms": n}) for name in "ab" for n in range(200)]
            calls += [manager.call_tool("a", "echo", {"text": "x" * 1000}) for _ in range(200)]
            tasks = [asyncio.create_task(call) for call in calls]
            while manager.status()[0].calls.ok < 50:
                await asyncio.sleep(0)

        asyncio.run(main())
    """)
    assert ended(host) == (0, "")
    assert len(processes(journal)) == 2 and all_gone(journal)


@pytest.mark.parametrize("time", range(5))
def test_exit_with_threads_in_calls_is_clean(start: Start, journal: Path, time: int) -> None:
    host = start("""
        manager = mcpool.blocking.Manager(servers)
        manager.connect_all()

        def work():
            while True:
                manager.call_tool("a", "echo", {"text": "x"})

        for _ in range(4):
            threading.Thread(target=work, daemon=True).start()
        while manager.status()[0].calls.ok < 50:
            time.sleep(0.005)
    """)
    code, _ = ended(host)
    assert code == 0
    assert len(processes(journal)) == 2 and all_gone(journal)


def test_a_forgotten_manager_neither_hangs_nor_leaves_children(start: Start, journal: Path) -> None:
    host = start("""
        async def main():
            manager = mcpool.Manager(servers)
            assert (await manager.connect_all()).connected == ["a", "b"]

        asyncio.run(main())
    """)
    assert ended(host) == (0, "")
    assert len(processes(journal)) == 2 and all_gone(journal)


def test_a_manager_that_nobody_holds_ends_its_servers(start: Start, journal: Path) -> None:
    host = start("""
        def use():
            manager = mcpool.blocking.Manager(servers)
            manager.connect_all()

        use()
        print("dropped", flush=True)
        sys.stdin.read()
    """)
    assert host.stdout is not None
    assert host.stdout.readline() == "dropped\n"
    assert all_gone(journal)
    assert host.poll() is None


def test_a_global_manager_neither_hangs_nor_leaves_children(start: Start, journal: Path) -> None:
    host = start("""
        manager = mcpool.Manager(servers)
        events = manager.events()
        asyncio.run(manager.connect("a"))
        asyncio.run(manager.call_tool("a", "echo", {"text": "x"}))
    """)
    assert ended(host) == (0, "")
    assert all_gone(journal)


def test_exit_inside_a_running_loop_is_clean(start: Start, journal: Path) -> None:
    host = start("""
        async def main():
            async with mcpool.Manager(servers) as manager:
                await manager.connect_all()
                call = asyncio.create_task(manager.call_tool("a", "sleep", {"ms": 60000}))
                call.add_done_callback(lambda call: call.cancelled() or call.exception())
                while not manager.status()[0].calls.in_flight:
                    await asyncio.sleep(0)
                sys.exit(7)

        asyncio.run(main())
    """)
    assert ended(host) == (7, "")
    assert all_gone(journal)


def test_sys_exit_is_clean(start: Start, journal: Path) -> None:
    host = start("""
        manager = mcpool.blocking.Manager(servers)
        manager.connect_all()
        sys.exit(3)
    """)
    assert ended(host) == (3, "")
    assert all_gone(journal)


def test_an_unhandled_exception_is_shown_and_leaves_nothing(start: Start, journal: Path) -> None:
    host = start("""
        async def main():
            manager = mcpool.Manager(servers)
            await manager.connect_all()
            call = asyncio.create_task(manager.call_tool("a", "sleep", {"ms": 60000}))
            while not manager.status()[0].calls.in_flight:
                await asyncio.sleep(0)
            raise LookupError("on purpose")

        asyncio.run(main())
    """)
    code, said = ended(host)
    assert code == 1
    assert said.rstrip().endswith("LookupError: on purpose")
    assert all_gone(journal)


def test_os_exit_leaves_nothing(start: Start, journal: Path) -> None:
    host = start("""
        manager = mcpool.blocking.Manager(servers)
        manager.connect_all()
        os._exit(5)
    """)
    assert ended(host) == (5, "")
    assert all_gone(journal)


def test_ctrl_c_interrupts_a_blocking_call(start: Start, journal: Path) -> None:
    host = start("""
        with mcpool.blocking.Manager(servers) as manager:
            manager.connect_all()
            try:
                manager.call_tool("a", "sleep", {"ms": 60000})
            except KeyboardInterrupt:
                print(manager.call_tool("b", "echo", {"text": "still here"}).text)
                raise
    """)
    assert until(ran(journal, "sleep"))
    host.send_signal(signal.SIGINT)
    said, error = host.communicate(timeout=PATIENCE)
    assert said == "still here\n"
    assert error.rstrip().endswith("KeyboardInterrupt")
    assert host.returncode == -signal.SIGINT
    assert {"event": "received", "method": "notifications/cancelled"}.items() <= next(
        entry for entry in read_journal(journal) if entry.get("method") == "notifications/cancelled"
    ).items()
    assert all_gone(journal)


def test_ctrl_c_interrupts_a_blocking_connect(start: Start, journal: Path) -> None:
    host = start("""
        servers["mcpServers"]["hung"] = definition("--hang", "initialize")
        with mcpool.blocking.Manager(servers) as manager:
            manager.connect_all()
    """)
    assert until(lambda: sum(entry.get("method") == "initialize" for entry in read_journal(journal)) == 3)
    host.send_signal(signal.SIGINT)
    code, error = ended(host)
    assert code == -signal.SIGINT and error.rstrip().endswith("KeyboardInterrupt")
    assert all_gone(journal)


def test_ctrl_c_interrupts_waiting_for_events(start: Start, journal: Path) -> None:
    host = start("""
        with mcpool.blocking.Manager(servers) as manager:
            events = manager.events()
            manager.connect_all()
            for event in events:
                print(event.type, flush=True)
    """)
    assert host.stdout is not None
    assert until(lambda: sum(entry.get("method") == "tools/list" for entry in read_journal(journal)) == 2)
    while host.stdout.readline() != "tools_changed\n":
        pass
    host.send_signal(signal.SIGINT)
    code, error = ended(host)
    assert code == -signal.SIGINT and error.rstrip().endswith("KeyboardInterrupt")
    assert all_gone(journal)


def test_ctrl_c_interrupts_asyncio_run(start: Start, journal: Path) -> None:
    host = start("""
        async def main():
            async with mcpool.Manager(servers) as manager:
                await manager.connect_all()
                await manager.call_tool("a", "sleep", {"ms": 60000})

        asyncio.run(main())
    """)
    assert until(ran(journal, "sleep"))
    host.send_signal(signal.SIGINT)
    code, error = ended(host)
    assert code == -signal.SIGINT and error.rstrip().endswith("KeyboardInterrupt")
    assert all_gone(journal)


def test_sigterm_leaves_nothing(start: Start, journal: Path) -> None:
    host = start("""
        manager = mcpool.blocking.Manager(servers)
        manager.connect_all()
        manager.call_tool("a", "sleep", {"ms": 60000})
    """)
    assert until(ran(journal, "sleep"))
    host.terminate()
    code, _ = ended(host)
    assert code == -signal.SIGTERM
    assert all_gone(journal)


def test_a_killed_host_leaves_no_child(start: Start, journal: Path) -> None:
    host = start("""
        servers["mcpServers"]["stubborn"] = definition("--ignore-eof", "--ignore-term", "--grandchild")
        manager = mcpool.blocking.Manager(servers)
        manager.connect_all()
        manager.call_tool("a", "sleep", {"ms": 60000})
    """)
    assert until(ran(journal, "sleep"))
    host.kill()
    code, _ = ended(host)
    assert code == -signal.SIGKILL
    assert len(processes(journal)) == 4 and all_gone(journal)


def test_a_thread_that_ends_takes_no_server_along(start: Start, journal: Path) -> None:
    host = start("""
        manager = mcpool.blocking.Manager(servers)
        thread = threading.Thread(target=manager.connect_all)
        thread.start()
        thread.join()
        for name in "ab":
            assert manager.call_tool(name, "echo", {"text": "x"}).text == "x"
        manager.close()
    """)
    assert ended(host) == (0, "")
    assert all_gone(journal)


def test_a_forked_child_ends_without_its_parents_servers(start: Start, journal: Path) -> None:
    host = start("""
        manager = mcpool.blocking.Manager(servers)
        manager.connect_all()
        # Newer versions of Python warn of threads.
        __import__("warnings").simplefilter("ignore")
        child = os.fork()
        if child == 0:
            sys.exit(0)
        assert os.waitpid(child, 0)[1] == 0
        for name in "ab":
            assert manager.call_tool(name, "echo", {"text": "x"}).text == "x"
        manager.close()
    """)
    assert ended(host) == (0, "")
    assert all_gone(journal)


def test_exit_while_a_server_is_being_restarted_is_clean(start: Start, journal: Path) -> None:
    host = start("""
        restart = {"delays": [20], "forever": True}
        ill = {"mcpServers": {"ill": {**definition("--exit-at", "initialize:7"), "restart": restart}}}
        manager = mcpool.blocking.Manager(ill)
        assert list(manager.connect_all().failed) == ["ill"]
        while manager.status()[0].attempt < 3:
            time.sleep(0.005)
        assert manager.status()[0].state == "reconnecting"
    """)
    assert ended(host) == (0, "")
    assert all_gone(journal)


def test_exit_ends_what_is_kept_alive(start: Start, journal: Path) -> None:
    host = start("""
        pool = mcpool.Pool(keep_alive="always")
        with mcpool.blocking.Manager(servers, pool=pool) as manager:
            manager.connect_all()
            pids = [status.pid for status in manager.status()]
        for pid in pids:
            os.kill(pid, 0)
    """)
    assert ended(host) == (0, "")
    assert len(processes(journal)) == 2 and all_gone(journal)


def test_exit_while_a_file_is_watched_is_clean(start: Start, journal: Path) -> None:
    host = start("""
        import json

        path = journal + ".servers.json"
        with open(path, "w") as file:
            json.dump(servers, file)
        manager = mcpool.blocking.Manager.from_file(path, watch=True)
        manager.connect_all()
    """)
    assert ended(host) == (0, "")
    assert len(processes(journal)) == 2 and all_gone(journal)
