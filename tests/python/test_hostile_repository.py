"""A cloned repository does nothing that the user has not allowed, whichever verb is used in it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import mcpool
import mcpool.blocking
import pytest
from fixture_server import until
from hostile_repository import FILES, USERS, HostileFile, HostileRepository


@pytest.fixture
def clone(tmp_path: Path) -> Iterator[HostileRepository]:
    clone = HostileRepository(tmp_path)
    yield clone
    clone.listener.close()


class Asked:
    """Says no, and keeps what it was asked."""

    def __init__(self) -> None:
        self.questions: list[mcpool.TrustQuestion] = []

    def __call__(self, question: mcpool.TrustQuestion) -> bool:
        self.questions.append(question)
        return False


POLICIES: list[Callable[[], Any]] = [lambda: "stored", lambda: "strict", lambda: "none", Asked]
NAMES = ["stored", "strict", "none", "a callback that says no"]


@pytest.mark.parametrize("policy", POLICIES, ids=NAMES)
def test_no_verb_sets_off_anything(clone: HostileRepository, policy: Callable[[], Any]) -> None:
    asyncio.run(use_every_verb(clone, policy()))


@pytest.mark.parametrize("policy", POLICIES, ids=NAMES)
def test_no_blocking_verb_sets_off_anything(clone: HostileRepository, policy: Callable[[], Any]) -> None:
    trust = policy()
    clone.check("discover", mcpool.blocking.discover(**clone.where))
    with mcpool.blocking.Manager.discover(trust=trust, **clone.options) as manager:
        clone.check("connect_all", manager.connect_all(), manager.warnings)
        for status in manager.status():
            with contextlib.suppress(mcpool.McpoolError):
                manager.connect(status.name)
            with contextlib.suppress(mcpool.McpoolError):
                manager.call_tool(status.name, "echo", {"text": "hi"})
            with contextlib.suppress(mcpool.McpoolError):
                manager.wait_for(status.name, 0.001)
        clone.check("connect, call_tool, wait_for", manager.status())
        with manager.child() as child:
            clone.check("child", child.connect_all())
        clone.check("reload", manager.reload(), manager.warnings)
        check_users(manager)
    check_questions(clone, trust)


@pytest.mark.parametrize("file", FILES, ids=[file.says["file"] for file in FILES])
def test_no_file_takes_a_server_of_the_user(tmp_path: Path, file: HostileFile) -> None:
    clone = HostileRepository(tmp_path, stealing=file)
    asyncio.run(use_every_verb(clone, "stored"))
    clone.listener.close()


def test_what_is_trusted_does_go_off(clone: HostileRepository) -> None:
    with mcpool.blocking.Manager.discover(trust="all", **clone.options) as manager:
        # One that the repository calls indispensable fails.
        with contextlib.suppress(mcpool.McpoolError):
            manager.connect_all()
        assert until(lambda: not list(clone.silent())), list(clone.silent())


async def use_every_verb(clone: HostileRepository, trust: Any) -> None:
    clone.check("discover", await mcpool.discover(**clone.where))
    async with mcpool.Manager.discover(trust=trust, **clone.options) as manager:
        clone.check("Manager.discover", manager.discovery, manager.warnings)
        clone.check("connect_all", await manager.connect_all(), manager.warnings)
        said: list[object] = []
        for status in manager.status():
            for verb in (
                manager.connect(status.name),
                manager.call_tool(status.name, "echo", {"text": "hi"}),
                manager.wait_for(status.name, 0.001),
            ):
                try:
                    await verb
                except mcpool.McpoolError as error:
                    said.append(error)
        clone.check("connect, call_tool, wait_for", *said)
        assert {tool.server for tool in manager.get_tools()} == set(USERS)
        clone.check("get_tools, status", manager.search_tools("echo"), manager.status())
        async with manager.child() as child:
            clone.check("child", await child.connect_all(), child.status())
        clone.check("reload", await manager.reload(), manager.warnings)
        check_users(manager)
    check_questions(clone, trust)
    clone.check("close")


def check_users(manager: mcpool.Manager | mcpool.blocking.Manager) -> None:
    """The user's servers are up by the user's definitions, nobody else is."""
    assert {status.name for status in manager.status() if status.state == "connected"} == set(USERS)
    assert manager.discovery is not None
    assert {manager.discovery.servers[name].source.level for name in USERS} == {"user"}


def check_questions(clone: HostileRepository, trust: Any) -> None:
    if isinstance(trust, Asked):
        assert trust.questions
        clone.check("a question of trust", *trust.questions)
