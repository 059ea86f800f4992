"""An approval callback runs where the call was made; without its yes nothing is sent."""

from __future__ import annotations

import asyncio
import gc
import logging
import threading
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import mcpool
import mcpool.blocking
import pytest
import uvloop
from fixture_server import config, read_journal, stdio, until

PATIENCE = 20


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    return tmp_path / "a.jsonl"


@pytest.fixture
def servers(journal: Path) -> dict[str, Any]:
    return config(a=stdio(journal=journal))


def ran(journal: Path, tool: str = "count") -> int:
    return sum(entry.get("event") == "ran" and entry.get("tool") == tool for entry in read_journal(journal))


def bounded(coroutine: Any) -> Any:
    return asyncio.run(asyncio.wait_for(coroutine, PATIENCE))


def manager(servers: dict[str, Any], on_approval: Any, **options: Any) -> mcpool.Manager:
    return mcpool.Manager(servers, on_approval=on_approval, pool=mcpool.Pool(), cache_dir=False, **options)


def blocking(servers: dict[str, Any], on_approval: Any, **options: Any) -> mcpool.blocking.Manager:
    return mcpool.blocking.Manager(
        servers, on_approval=on_approval, pool=mcpool.Pool(), cache_dir=False, **options
    )


def test_a_question_tells_all(servers: dict[str, Any]) -> None:
    asked: list[mcpool.ApprovalQuestion] = []

    async def main() -> None:
        async with manager(servers, lambda question: asked.append(question) or True) as tools:
            await tools.connect_all()
            arguments = {"text": "hi", "token": "s3cret", "big": 2**70}
            assert (await tools.call_tool("a", "echo", arguments)).text == "hi"

    bounded(main())
    (question,) = asked
    assert question == mcpool.ApprovalQuestion(
        server="a",
        tool="echo",
        name="mcp_a_echo",
        arguments={"text": "hi", "token": "s3cret", "big": 2**70},
        description="Gives the text back",
        annotations={"readOnlyHint": True},
        provider="mcp:a via code",
    )


@pytest.mark.parametrize("new_loop", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_a_callback_runs_on_the_loop_of_its_call(
    new_loop: Callable[[], asyncio.AbstractEventLoop], servers: dict[str, Any]
) -> None:
    seen: list[Any] = []

    async def approve(question: mcpool.ApprovalQuestion) -> bool:
        seen.append((asyncio.get_running_loop(), threading.current_thread()))
        await asyncio.sleep(0)
        return True

    async def use(tools: mcpool.Manager) -> None:
        await tools.connect_all()
        await tools.call_tool("a", "count")
        assert seen.pop() == (asyncio.get_running_loop(), threading.current_thread())

    tools = manager(servers, approve)
    # One manager, several loops after each other.
    for _ in range(2):
        loop = new_loop()
        loop.run_until_complete(asyncio.wait_for(use(tools), PATIENCE))
        loop.close()
    bounded(tools.close())


def test_loops_of_two_threads_ask_each_on_its_own(servers: dict[str, Any]) -> None:
    both = threading.Barrier(2, timeout=PATIENCE)
    seen: dict[str, Any] = {}

    async def approve(question: mcpool.ApprovalQuestion) -> bool:
        seen[question.arguments["text"]] = threading.current_thread()
        await asyncio.to_thread(both.wait)
        return True

    tools = manager(servers, approve)

    async def use(text: str) -> None:
        await tools.connect_all()
        assert (await tools.call_tool("a", "echo", {"text": text})).text == text
        assert seen[text] is threading.current_thread()

    with ThreadPoolExecutor(2) as threads:
        for done in [threads.submit(bounded, use(text)) for text in "xy"]:
            done.result()
    bounded(tools.close())


def test_many_calls_are_asked_about_at_once(servers: dict[str, Any], journal: Path) -> None:
    async def main() -> None:
        go, all_asked = asyncio.Event(), asyncio.Event()
        asked: list[int] = []

        async def approve(question: mcpool.ApprovalQuestion) -> bool:
            asked.append(question.arguments["n"])
            if len(asked) == 64:
                all_asked.set()
            await go.wait()
            return bool(question.arguments["n"] % 2)

        async with manager(servers, approve) as tools:
            await tools.connect_all()
            calls = [asyncio.create_task(tools.call_tool("a", "count", {"n": n})) for n in range(64)]
            await all_asked.wait()
            assert ran(journal) == 0
            go.set()
            ended = await asyncio.gather(*calls, return_exceptions=True)
            refused = [isinstance(end, mcpool.NotApprovedError) for end in ended]
            assert refused == [n % 2 == 0 for n in range(64)]

    bounded(main())
    assert ran(journal) == 32


def raises(question: mcpool.ApprovalQuestion) -> bool:
    raise ValueError("no idea")


async def raises_later(question: mcpool.ApprovalQuestion) -> bool:
    await asyncio.sleep(0)
    raise ValueError("no idea")


class HasNoText(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")

    __repr__ = __str__


def raises_what_has_no_text(question: mcpool.ApprovalQuestion) -> bool:
    raise HasNoText


async def cancelled(question: mcpool.ApprovalQuestion) -> bool:
    raise asyncio.CancelledError


@pytest.mark.parametrize("made", [manager, blocking])
@pytest.mark.parametrize(
    "approve",
    [raises, raises_later, raises_what_has_no_text, lambda question: "yes", lambda question: None],
)
def test_a_callback_that_fails_approves_nothing(
    made: Any, approve: Any, servers: dict[str, Any], journal: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "mcpool"), pytest.raises(mcpool.NotApprovedError) as caught:
        call(made(servers, approve))
    assert (caught.value.executed, caught.value.server) == ("no", "a")
    assert "failed" in caught.value.message
    (record,) = [record for record in caplog.records if "approval" in record.getMessage()]
    assert record.exc_info is not None and record.exc_info[2] is not None
    assert ran(journal) == 0


def test_a_callback_whose_failure_cannot_be_logged_approves_nothing(
    servers: dict[str, Any], journal: Path
) -> None:
    def fails(record: logging.LogRecord) -> bool:
        raise RuntimeError("a filter of the host")

    logger = logging.getLogger("mcpool")
    logger.addFilter(fails)
    try:
        with pytest.raises(mcpool.NotApprovedError):
            call(manager(servers, raises))
    finally:
        logger.removeFilter(fails)
    assert ran(journal) == 0


def call(tools: mcpool.Manager | mcpool.blocking.Manager, **options: Any) -> str:
    if isinstance(tools, mcpool.blocking.Manager):
        with tools:
            tools.connect_all()
            return tools.call_tool("a", "count", **options).text

    async def main() -> str:
        async with tools:
            await tools.connect_all()
            return (await tools.call_tool("a", "count", **options)).text

    return str(bounded(main()))


def test_a_callback_that_is_cancelled_approves_nothing(servers: dict[str, Any], journal: Path) -> None:
    with pytest.raises(mcpool.NotApprovedError):
        call(manager(servers, cancelled))
    assert ran(journal) == 0


@pytest.mark.parametrize("made", [manager, blocking])
def test_a_callback_that_never_answers_is_bounded_and_ended(
    made: Any, servers: dict[str, Any], journal: Path
) -> None:
    ended: list[bool] = []

    async def hangs(question: mcpool.ApprovalQuestion) -> bool:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(True)
        return True

    with pytest.raises(mcpool.NotApprovedError, match="time"):
        call(made(servers, hangs, approval_timeout=1))
    assert ended == [True]
    with pytest.raises(mcpool.ToolTimeoutError) as caught:
        call(made(servers, hangs), max_total_timeout=1)
    assert (caught.value.executed, ended) == ("no", [True, True])
    assert ran(journal) == 0


def test_a_call_that_is_cancelled_ends_its_callback(servers: dict[str, Any], journal: Path) -> None:
    async def main() -> None:
        asked = asyncio.Event()
        ended: list[str] = []

        async def hangs(question: mcpool.ApprovalQuestion) -> bool:
            asked.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                ended.append(question.tool)
                raise
            return True

        async with manager(servers, hangs) as tools:
            await tools.connect_all()
            task = asyncio.create_task(tools.call_tool("a", "count"))
            await asked.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await asyncio.sleep(0)
            assert ended == ["count"]

    bounded(main())
    assert ran(journal) == 0


def test_a_call_that_waits_does_not_hold_up_others(servers: dict[str, Any]) -> None:
    async def main() -> None:
        go = asyncio.Event()

        async def approve(question: mcpool.ApprovalQuestion) -> bool:
            await go.wait()
            # It may look around before it says yes.
            return (await tools.call_tool("a", "echo", {"text": "yes"})).text == "yes"

        async with manager(servers, approve, approval="annotations") as tools:
            await tools.connect_all()
            waiting = asyncio.create_task(tools.call_tool("a", "count"))
            assert (await tools.call_tool("a", "echo", {"text": "hi"})).text == "hi"
            go.set()
            assert (await waiting).text == "1"

    bounded(main())


def test_the_blocking_manager_asks_on_the_thread_that_calls(servers: dict[str, Any]) -> None:
    seen: list[threading.Thread] = []

    def approve(question: mcpool.ApprovalQuestion) -> bool:
        seen.append(threading.current_thread())
        return tools.call_tool("a", "echo", {"text": "yes"}).text == "yes"

    async def approve_later(question: mcpool.ApprovalQuestion) -> bool:
        await asyncio.sleep(0)
        return approve(question)

    for callback in (approve, approve_later):
        with blocking(servers, callback, approval="annotations") as tools:
            tools.connect_all()
            assert tools.call_tool("a", "count").text == "1"
    assert seen == [threading.current_thread()] * 2


def test_threads_of_one_blocking_manager_ask_each_on_its_own(servers: dict[str, Any]) -> None:
    all_ask = threading.Barrier(4, timeout=PATIENCE)

    def approve(question: mcpool.ApprovalQuestion) -> bool:
        # Everybody is asked while everybody else is.
        all_ask.wait()
        return question.arguments["text"] == threading.current_thread().name

    with blocking(servers, approve) as tools:
        tools.connect_all()
        ended: dict[str, str] = {}

        def use() -> None:
            name = threading.current_thread().name
            ended[name] = tools.call_tool("a", "echo", {"text": name}).text

        threads = [threading.Thread(target=use, name=f"t{n}") for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE)
    assert ended == {f"t{n}": f"t{n}" for n in range(4)}


def test_a_child_asks_as_its_parent_does(servers: dict[str, Any]) -> None:
    asked: list[str] = []

    async def main() -> None:
        refuse = lambda question: asked.append(question.tool) or False  # noqa: E731
        async with manager(servers, refuse) as parent, parent.child() as child:
            await child.connect_all()
            with pytest.raises(mcpool.NotApprovedError):
                await child.call("mcp_a_count")

    bounded(main())
    assert asked == ["count"]


@pytest.fixture
def _no_garbage() -> Iterator[None]:
    gc.collect()
    yield
    gc.collect()


@pytest.mark.usefixtures("_no_garbage")
def test_a_callback_that_knows_its_manager_is_collected_with_it(servers: dict[str, Any]) -> None:
    class Agent:
        def __init__(self) -> None:
            self.tools = manager(servers, self.approve)

        def approve(self, question: mcpool.ApprovalQuestion) -> bool:
            return True

    agent = Agent()
    gone = weakref.ref(agent)
    del agent
    gc.collect()
    assert gone() is None


def test_what_is_no_function_is_refused(servers: dict[str, Any]) -> None:
    with pytest.raises(mcpool.ConfigInvalidError, match="on_approval"):
        manager(servers, "yes")


def test_arguments_are_in_no_log(servers: dict[str, Any], caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(1, "mcpool")
    with blocking(servers, lambda question: True, call_events=True) as tools:
        tools.connect_all()
        tools.call_tool("a", "echo", {"text": "marker-4711"})
        tools.call_tool("a", "log", {"level": "error", "text": "the end"})
        assert until(lambda: any("the end" in record.getMessage() for record in caplog.records))
    assert "marker-4711" not in "".join(f"{record.getMessage()}{vars(record)}" for record in caplog.records)


def test_an_agents_call_is_asked_about_where_it_is_made(servers: dict[str, Any], journal: Path) -> None:
    asked: list[threading.Thread] = []

    def approve(question: mcpool.ApprovalQuestion) -> bool:
        asked.append(threading.current_thread())
        return question.tool == "echo"

    with blocking(servers, approve) as tools:
        tools.connect_all()
        by_name = {tool.raw_name: tool for tool in tools.get_tools()}
        assert "hi" in by_name["echo"].execute_blocking({"text": "hi"}).text
        refused = by_name["count"].execute_blocking()
        assert refused.is_error and isinstance(refused.error, mcpool.NotApprovedError)

        async def main() -> None:
            assert "hi" in (await by_name["echo"].execute({"text": "hi"})).text
            assert isinstance((await by_name["count"].execute()).error, mcpool.NotApprovedError)

        bounded(main())
    assert asked == [threading.current_thread()] * 4
    assert ran(journal) == 0


def test_an_agents_call_that_is_cancelled_takes_its_question_back(servers: dict[str, Any]) -> None:
    async def main() -> None:
        asked, ended = asyncio.Event(), asyncio.Event()

        async def hangs(question: mcpool.ApprovalQuestion) -> bool:
            asked.set()
            try:
                await asyncio.Event().wait()
            finally:
                ended.set()
            return True

        async with manager(servers, hangs) as tools:
            await tools.connect_all()
            (tool,) = [tool for tool in tools.get_tools() if tool.raw_name == "count"]
            task = asyncio.create_task(tool.execute())
            await asked.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await ended.wait()

    bounded(main())
