"""Under trio, the async manager says at once what to use instead, and the blocking one works in a thread."""

from __future__ import annotations

import functools
from typing import Any

import anyio
import mcpool
import mcpool.blocking
import pytest
import trio
from fixture_server import config, stdio

NOTHING: dict[str, Any] = {"mcpServers": {}}


def assert_names_the_way_out(error: BaseException) -> None:
    for word in ("asyncio", "trio", "mcpool.blocking"):
        assert word in str(error), error


async def every_way_in() -> None:
    manager = mcpool.Manager(NOTHING)
    with pytest.raises(RuntimeError) as entered:
        async with manager:
            raise AssertionError("entered")
    assert_names_the_way_out(entered.value)
    for verb in (
        manager.connect_all,
        functools.partial(manager.call, "mcp_a_echo"),
        manager.close,
        manager.events().__anext__,
        mcpool.discover,
        functools.partial(mcpool.config.remove, "a"),
    ):
        with pytest.raises(RuntimeError) as called:
            await verb()
        assert_names_the_way_out(called.value)
    with pytest.raises(RuntimeError) as discovered:
        async with mcpool.Manager.discover():
            raise AssertionError("entered")
    assert_names_the_way_out(discovered.value)


def test_trio_is_told_to_use_asyncio_or_the_blocking_manager() -> None:
    trio.run(every_way_in)


def test_anyio_on_trio_is_told_the_same() -> None:
    anyio.run(every_way_in, backend="trio")


def test_anyio_on_asyncio_works() -> None:
    async def use() -> str:
        async with mcpool.Manager(config(a=stdio()), cache_dir=False) as manager:
            await manager.connect_all()
            return (await manager.call_tool("a", "echo", {"text": "asyncio"})).text

    assert anyio.run(use, backend="asyncio") == "asyncio"


def test_the_blocking_manager_works_in_a_thread_of_trio() -> None:
    async def use() -> str:
        with mcpool.blocking.Manager(config(a=stdio()), cache_dir=False) as manager:
            await trio.to_thread.run_sync(manager.connect_all)
            call = functools.partial(manager.call_tool, "a", "echo", {"text": "trio"})
            return (await trio.to_thread.run_sync(call)).text

    assert trio.run(use) == "trio"


def test_without_any_loop_the_error_names_asyncio_too() -> None:
    waiting = mcpool.Manager(NOTHING).connect_all()
    with pytest.raises(RuntimeError, match=r"asyncio\.run.*mcpool\.blocking"):
        waiting.send(None)
