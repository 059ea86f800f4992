"""A trust callback runs where its manager is used, and whatever goes wrong with it trusts nothing."""

from __future__ import annotations

import asyncio
import gc
import logging
import threading
import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import mcpool
import mcpool.blocking
import pytest
import uvloop
from fixture_server import all_gone, stdio
from loops import LoopWithoutReaders
from user_home import UserHome

PATIENCE = 20


@pytest.fixture
def home(tmp_path: Path) -> UserHome:
    home = UserHome(tmp_path)
    home.of_project(a=stdio(journal=tmp_path / "a.jsonl"))
    return home


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    return tmp_path / "a.jsonl"


def bounded(coroutine: Any) -> Any:
    return asyncio.run(asyncio.wait_for(coroutine, PATIENCE))


def test_a_callback_runs_on_the_loop_that_asked(home: UserHome) -> None:
    seen: list[Any] = []

    async def trust(question: mcpool.TrustQuestion) -> bool:
        seen.append((question.server, asyncio.get_running_loop(), threading.current_thread()))
        await asyncio.sleep(0)
        return True

    async def main() -> None:
        async with mcpool.Manager.discover(trust=trust, **home.options) as manager:
            assert (await manager.connect_all()).connected == ["a"]
            assert seen == [("a", asyncio.get_running_loop(), threading.current_thread())]

    bounded(main())


@pytest.mark.parametrize("new_loop", [asyncio.new_event_loop, uvloop.new_event_loop, LoopWithoutReaders])
def test_a_callback_runs_on_every_kind_of_loop(new_loop: Any, home: UserHome) -> None:
    loop = new_loop()
    seen: list[Any] = []

    async def trust(question: mcpool.TrustQuestion) -> bool:
        seen.append(asyncio.get_running_loop())
        return True

    async def main() -> None:
        async with mcpool.Manager.discover(trust=trust, **home.options) as manager:
            assert (await manager.connect_all()).connected == ["a"]

    loop.run_until_complete(asyncio.wait_for(main(), PATIENCE))
    loop.close()
    assert seen == [loop]


def test_managers_of_two_threads_ask_each_on_its_own(home: UserHome) -> None:
    home.of_project(a=stdio(), b=stdio())
    both = threading.Barrier(2, timeout=PATIENCE)
    seen: dict[str, Any] = {}

    async def use(server: str) -> None:
        async def trust(question: mcpool.TrustQuestion) -> bool:
            seen[server] = (asyncio.get_running_loop(), threading.current_thread(), question.server)
            await asyncio.to_thread(both.wait)
            return True

        async with mcpool.Manager.discover(trust=trust, **home.options) as manager:
            await manager.connect(server)
            assert seen[server] == (asyncio.get_running_loop(), threading.current_thread(), server)

    with ThreadPoolExecutor(2) as threads:
        for done in [threads.submit(bounded, use(server)) for server in "ab"]:
            done.result()


def test_a_callback_may_be_a_plain_function(home: UserHome) -> None:
    async def main() -> None:
        async with mcpool.Manager.discover(trust=lambda question: True, **home.options) as manager:
            assert (await manager.connect_all()).connected == ["a"]

    bounded(main())


def test_a_question_tells_all(home: UserHome) -> None:
    questions: list[mcpool.TrustQuestion] = []

    def trust(question: mcpool.TrustQuestion) -> bool:
        questions.append(question)
        return False

    with mcpool.blocking.Manager.discover(trust=trust, **home.options) as manager:
        assert manager.connect_all().blocked == ["a"]
    (question,) = questions
    assert question.server == "a"
    assert question.path == str((home.project / ".mcp.json").resolve())
    assert question.fingerprint
    assert question.definition["command"]


def test_a_manager_asks_on_every_loop_it_is_used_on(home: UserHome, journal: Path) -> None:
    loops: list[Any] = []

    def trust(question: mcpool.TrustQuestion) -> bool:
        loops.append(asyncio.get_running_loop())
        return question.server != "a"

    home.of_project(a=stdio(journal=journal), b=stdio(journal=journal.with_name("b.jsonl")))
    manager = bounded(_made(home, trust))

    async def connect(server: str) -> bool:
        try:
            await manager.connect(server)
        except mcpool.UntrustedError:
            return False
        finally:
            assert loops[-1] is asyncio.get_running_loop()
        return True

    assert not bounded(connect("a"))
    assert bounded(connect("b"))
    assert len(loops) == 2 and loops[0] is not loops[1]
    bounded(manager.close())


async def _made(home: UserHome, trust: Any) -> mcpool.Manager:
    return await mcpool.Manager.discover(trust=trust, **home.options)


@pytest.mark.parametrize("answer", [1, "yes", None, RuntimeError("no idea"), object()])
def test_only_true_is_trust(answer: Any, home: UserHome, caplog: pytest.LogCaptureFixture) -> None:
    async def trust(question: mcpool.TrustQuestion) -> Any:
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def main() -> None:
        async with mcpool.Manager.discover(trust=trust, **home.options) as manager:
            with caplog.at_level(logging.WARNING, "mcpool"):
                assert (await manager.connect_all()).blocked == ["a"]

    bounded(main())
    assert any("callback failed" in record.getMessage() for record in caplog.records)


def test_a_question_that_a_dying_loop_took_is_asked_again_on_the_next(home: UserHome) -> None:
    asked: list[asyncio.Event] = []

    async def trust(question: mcpool.TrustQuestion) -> bool:
        begun.set()
        asked.append(asyncio.Event())
        if len(asked) == 1:
            await asked[0].wait()
        return True

    manager = bounded(_made(home, trust))

    begun = asyncio.Event()

    async def leave_early() -> None:
        connecting = asyncio.ensure_future(manager.connect_all())
        await begun.wait()
        connecting.cancel()

    bounded(leave_early())

    async def come_back() -> None:
        await manager.connect("a")

    bounded(come_back())
    assert len(asked) == 2
    bounded(manager.close())


def test_nothing_hangs_when_the_loop_is_gone(home: UserHome) -> None:
    async def trust(question: mcpool.TrustQuestion) -> bool:
        asked.set()
        await asyncio.Event().wait()
        return True

    manager = bounded(_made(home, trust))
    loop, asked = asyncio.new_event_loop(), asyncio.Event()
    connecting = loop.create_task(manager.connect_all())
    loop.run_until_complete(asyncio.wait_for(asked.wait(), PATIENCE))
    # As a program does that forgets its tasks.
    connecting._log_destroy_pending = False  # type: ignore[attr-defined]
    loop.close()
    bounded(manager.close())


def test_a_blocking_manager_asks_on_the_calling_thread(home: UserHome) -> None:
    threads: list[threading.Thread] = []

    def trust(question: mcpool.TrustQuestion) -> bool:
        threads.append(threading.current_thread())
        return True

    with mcpool.blocking.Manager.discover(trust=trust, **home.options) as manager:
        assert manager.connect_all().connected == ["a"]
    assert threads == [threading.current_thread()]


def test_a_blocking_manager_takes_a_coroutine_function_too(home: UserHome) -> None:
    async def trust(question: mcpool.TrustQuestion) -> bool:
        await asyncio.sleep(0)
        return True

    with mcpool.blocking.Manager.discover(trust=trust, **home.options) as manager:
        assert manager.connect_all().connected == ["a"]


def test_a_blocking_callback_may_interrupt_the_verb(home: UserHome) -> None:
    def trust(question: mcpool.TrustQuestion) -> bool:
        raise KeyboardInterrupt

    with (
        mcpool.blocking.Manager.discover(trust=trust, **home.options) as manager,
        pytest.raises(KeyboardInterrupt),
    ):
        manager.connect_all()


def test_a_callback_that_knows_its_manager_keeps_nothing_alive(home: UserHome, journal: Path) -> None:
    class Agent:
        def __init__(self) -> None:
            self.manager = mcpool.blocking.Manager.discover(trust=self.trust, **home.options)
            self.events = self.manager.events()

        def trust(self, question: mcpool.TrustQuestion) -> bool:
            return True

    agent = Agent()
    assert agent.manager.connect_all().connected == ["a"]
    gone = weakref.ref(agent)
    del agent
    gc.collect()
    assert gone() is None
    assert all_gone(journal)


def test_events_readers_are_asked_while_no_verb_is_under_way(home: UserHome) -> None:
    asked: list[str] = []

    def trust(question: mcpool.TrustQuestion) -> bool:
        asked.append(question.server)
        return True

    home.of_project()

    async def main() -> None:
        async with mcpool.Manager.discover(trust=trust, watch=True, **home.options) as manager:
            await manager.connect_all()
            events = manager.events()
            waiting = asyncio.ensure_future(_until_connected(events))
            await asyncio.sleep(0)
            home.of_project(b=stdio())
            await waiting
            assert asked == ["b"]

    bounded(main())


async def _until_connected(events: mcpool.Events) -> None:
    async for event in events:
        if event.type == "status" and event.data["state"] == "connected":
            return


@pytest.fixture(params=["asyncio", "blocking"])
def verbs(request: pytest.FixtureRequest) -> Iterator[Any]:
    """The verbs of trust, asyncio's made blocking."""

    class Awaited:
        def __getattr__(self, verb: str) -> Any:
            return lambda *args, **options: bounded(getattr(mcpool, verb)(*args, **options))

    yield Awaited() if request.param == "asyncio" else mcpool.blocking


def test_trust_is_stored_and_taken_back(verbs: Any, home: UserHome) -> None:
    where = {"host_env": home.host_env}
    file = home.project / ".mcp.json"
    assert verbs.trust(file, [], **where) == []
    (given,) = verbs.trust(file, **where)
    assert isinstance(given, mcpool.Trusted)
    assert (given.server, given.path) == ("a", str(file.resolve()))
    assert verbs.trusted(**where) == [given]
    with mcpool.blocking.Manager.discover(**home.options) as manager:
        assert manager.connect_all().connected == ["a"]
    assert verbs.untrust(str(file), ["a"], **where) == [given]
    assert verbs.trusted(**where) == []


def test_trust_of_what_is_no_config_is_an_error(verbs: Any, home: UserHome) -> None:
    with pytest.raises(mcpool.McpoolError):
        verbs.trust(home.project / "nothing.json", host_env=home.host_env)
    with pytest.raises(mcpool.ConfigInvalidError):
        verbs.trust(home.project, "a", host_env=home.host_env)
