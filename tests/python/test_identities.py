"""A call is made for an identity: by its options, the manager's, or a callback in the caller's context."""

from __future__ import annotations

import asyncio
import gc
import logging
import weakref
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import mcpool
import mcpool.blocking
import pytest
from fixture_server import config, read_journal, stdio

PATIENCE = 20
USER: ContextVar[str] = ContextVar("user", default="nobody")


@pytest.fixture
def servers(tmp_path: Path) -> dict[str, Any]:
    return config(a=stdio(journal=tmp_path / "a.jsonl"))


def options(**more: Any) -> dict[str, Any]:
    return {"pool": mcpool.Pool(), "cache_dir": False, **more}


def bounded(coroutine: Any) -> Any:
    return asyncio.run(asyncio.wait_for(coroutine, PATIENCE))


def states(manager: mcpool.Manager | mcpool.blocking.Manager) -> dict[str, str]:
    (status,) = manager.status()
    return dict(status.identities)


@pytest.mark.parametrize("is_async", [False, True])
def test_the_callback_sees_the_callers_variables(servers: dict[str, Any], is_async: bool) -> None:
    asked: list[mcpool.IdentityQuestion] = []

    def identify(question: mcpool.IdentityQuestion) -> dict[str, str]:
        asked.append(question)
        return {"identity": USER.get()}

    async def identify_later(question: mcpool.IdentityQuestion) -> dict[str, str]:
        await asyncio.sleep(0)
        return identify(question)

    async def main() -> None:
        callback = identify_later if is_async else identify
        async with mcpool.Manager(servers, **options(on_identity=callback)) as manager:
            await manager.connect_all()

            async def call(user: str) -> None:
                USER.set(user)
                assert (await manager.call_tool("a", "echo", {"text": user})).text == user
                (tool,) = (tool for tool in manager.get_tools() if tool.raw_name == "echo")
                assert (await tool.execute({"text": user})).text.count(user) == 1

            await asyncio.gather(*(call(user) for user in ("ann", "bob", "eve")))
            assert states(manager) == dict.fromkeys(("ann", "bob", "eve"), "connected")

    bounded(main())
    assert asked == [mcpool.IdentityQuestion("a", "echo")] * 6


def test_the_blocking_manager_asks_on_the_thread_that_calls(servers: dict[str, Any]) -> None:
    async def identify(question: mcpool.IdentityQuestion) -> dict[str, str]:
        return {"identity": USER.get()}

    USER.set("ann")
    with mcpool.blocking.Manager(servers, **options(on_identity=identify)) as manager:
        manager.connect_all()
        assert manager.call_tool("a", "echo", {"text": "hi"}).text == "hi"
        assert manager.call_tool("a", "echo", {"text": "hi"}, identity="bob").text == "hi"
        assert states(manager) == {"ann": "connected", "bob": "connected"}


@pytest.mark.parametrize(
    "answer",
    [True, "ann", 7, ["ann"], {"identity": 1}, {"identity": ""}, {"headers": {"X": 1}}, {"user": "ann"}],
)
def test_an_answer_that_is_no_caller_fails_the_call(
    servers: dict[str, Any], tmp_path: Path, answer: object
) -> None:
    async def main() -> None:
        async with mcpool.Manager(servers, **options(on_identity=lambda question: answer)) as manager:
            await manager.connect_all()
            with pytest.raises(mcpool.AuthFailedError) as caught:
                await manager.call_tool("a", "echo", {"text": "hi"})
            assert (caught.value.executed, caught.value.server) == ("no", "a")

    bounded(main())
    assert not [entry for entry in read_journal(tmp_path / "a.jsonl") if entry.get("method") == "tools/call"]


def test_a_callback_that_raises_is_in_the_log(
    servers: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    def identify(question: mcpool.IdentityQuestion) -> dict[str, str]:
        raise LookupError("nobody is logged in")

    async def main() -> None:
        async with mcpool.Manager(servers, **options(on_identity=identify)) as manager:
            await manager.connect_all()
            with pytest.raises(mcpool.AuthFailedError):
                await manager.call_tool("a", "echo", {"text": "hi"})

    with caplog.at_level(logging.WARNING, logger="mcpool"):
        bounded(main())
    assert "nobody is logged in" in caplog.text


def test_a_cancelled_call_ends_its_question(servers: dict[str, Any]) -> None:
    async def main() -> None:
        asked, ended = asyncio.Event(), asyncio.Event()

        async def hangs(question: mcpool.IdentityQuestion) -> None:
            asked.set()
            try:
                await asyncio.Event().wait()
            finally:
                ended.set()

        async with mcpool.Manager(servers, **options(on_identity=hangs)) as manager:
            await manager.connect_all()
            call = asyncio.ensure_future(manager.call_tool("a", "echo", {"text": "hi"}))
            await asked.wait()
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            await ended.wait()

    bounded(main())


def test_a_manager_that_its_callback_refers_to_is_collected(servers: dict[str, Any]) -> None:
    class Owner:
        def __init__(self) -> None:
            self.manager = mcpool.Manager(servers, **options(on_identity=self.identify))

        def identify(self, question: mcpool.IdentityQuestion) -> None:
            return None

    owner = weakref.ref(Owner())
    gc.collect()
    assert owner() is None


@pytest.mark.parametrize(
    "wrong", [{"identity": 1}, {"headers": ["a"]}, {"headers": {"X-A": 1}}, {"identity": ""}]
)
def test_an_option_that_cannot_be_used_is_refused_by_name(servers: dict[str, Any], wrong: Any) -> None:
    async def main() -> None:
        async with mcpool.Manager(servers, **options()) as manager:
            await manager.connect_all()
            with pytest.raises(mcpool.InvalidArgumentsError, match=next(iter(wrong))):
                await manager.call_tool("a", "echo", {"text": "hi"}, **wrong)

    with pytest.raises(mcpool.ConfigInvalidError, match=next(iter(wrong))):
        mcpool.Manager(servers, **options(**wrong))
    bounded(main())
