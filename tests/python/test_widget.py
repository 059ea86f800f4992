"""The live table: it follows the manager, keeps nothing alive and leaves no thread behind."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ipywidgets  # type: ignore[import-untyped]
import mcpool
import mcpool.blocking
import pytest
from fixture_server import all_gone, config, stdio, until
from markup import Markup, is_harmless
from user_home import UserHome


def open_manager(kind: type[Any] = mcpool.blocking.Manager, **servers: dict[str, Any]) -> Any:
    return kind(config(**servers), pool=mcpool.Pool(), cache_dir=False, gate=20)


def threads() -> int:
    return [thread.name for thread in threading.enumerate()].count("mcpool-widget")


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Iterator[None]:
    assert threads() == 0
    yield
    assert until(lambda: threads() == 0)


def test_it_shows_what_the_manager_is_and_becomes() -> None:
    with open_manager(a=stdio()) as manager:
        widget = manager.widget()
        assert "idle" in widget.servers and "0 tools" in widget.tools and widget.live
        manager.connect_all()
        assert until(lambda: "connected" in widget.servers and "mcp_a_echo" in widget.tools)
        manager.call_tool("a", "echo", {"text": "x"})
        assert until(lambda: '<td class="mcpool-number">1</td>' in widget.servers)
        os.kill(manager.status()[0].pid, signal.SIGKILL)
        assert until(lambda: manager.status()[0].restarts == 1 and "2" in widget.servers)
        assert until(lambda: widget.servers.count('<td class="mcpool-number">1</td>') == 2)
        assert is_harmless(Markup(widget.servers)) and is_harmless(Markup(widget.tools))
    assert until(lambda: not widget.live and "disconnected" in widget.servers)


def test_a_manager_has_one_widget_until_it_is_closed() -> None:
    with open_manager(a=stdio()) as manager:
        first = manager.widget()
        assert manager.widget() is first and threads() == 1
        first.close()
        first.close()
        second = manager.widget()
        assert second is not first and second.live
        assert until(lambda: threads() == 1)


def test_it_shows_a_manager_that_is_closed_already() -> None:
    manager = open_manager(a=stdio())
    manager.close()
    widget = manager.widget()
    assert until(lambda: not widget.live) and "disconnected" in widget.servers
    assert until(lambda: threads() == 0)


def test_it_works_in_a_running_loop_and_outlives_it() -> None:
    manager = open_manager(mcpool.Manager, a=stdio())

    async def first() -> Any:
        widget = manager.widget()
        await manager.connect_all()
        return widget

    widget = asyncio.run(first())
    assert until(lambda: "connected" in widget.servers)
    asyncio.run(manager.close())
    assert until(lambda: not widget.live)


def test_it_moves_while_a_cell_holds_the_loop() -> None:
    async def main() -> None:
        manager = open_manager(mcpool.Manager, a=stdio())
        widget = manager.widget()
        await manager.connect_all()
        # Not awaited: the loop stands still meanwhile.
        assert until(lambda: "connected" in widget.servers)
        await manager.close()

    asyncio.run(main())


def test_it_keeps_no_manager_alive(tmp_path: Path) -> None:
    journal = tmp_path / "a.jsonl"
    manager = open_manager(a=stdio(journal=journal))
    manager.connect_all()
    widget = manager.widget()
    assert until(lambda: "mcp_a_echo" in widget.tools)
    del manager
    gc.collect()
    assert until(lambda: not widget.live) and all_gone(journal)


def test_a_widget_that_is_collected_stops_following() -> None:
    with open_manager(a=stdio()) as manager:
        widget = manager.widget()
        # What keeps every widget of a kernel that was not closed.
        ipywidgets.widgets.widget._instances.pop(widget.model_id)
        widget.comm.on_msg(None)
        del widget
        gc.collect()
        assert until(lambda: threads() == 0)


def test_it_answers_no_question_of_the_manager(tmp_path: Path) -> None:
    home = UserHome(tmp_path)
    home.of_project()
    asked: list[int] = []

    def trust(question: mcpool.TrustQuestion) -> bool:
        asked.append(threading.get_ident())
        return True

    with mcpool.blocking.Manager.discover(trust=trust, watch=True, **home.options) as manager:
        manager.connect_all()
        widget = manager.widget()
        home.of_project(b=stdio())
        # The change is seen, and the question waits for whoever reads the events.
        assert until(lambda: any(status.name == "b" for status in manager.status()))
        assert not until(lambda: asked, patience=1)
        for event in manager.events(timeout=10):
            if event.type == "status" and event.data["state"] == "connected":
                break
        assert until(lambda: "connected" in widget.servers)
    assert asked == [threading.get_ident()]


def test_without_anywidget_the_error_names_what_to_install() -> None:
    script = """
import sys
sys.modules["anywidget"] = None
import mcpool
try:
    mcpool.Manager({"mcpServers": {}}).widget()
except ImportError as error:
    print(error)
"""
    env = {"PYTHONPATH": str(Path(mcpool.__file__).parents[1]), "PATH": "/usr/bin:/bin"}
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=env, timeout=60)
    assert ran.returncode == 0, ran.stderr
    assert "pip install 'mcpool[notebook]'" in ran.stdout
