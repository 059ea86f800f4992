"""Under trio, the async manager says at once what to use instead, and the blocking one works in a thread."""

from __future__ import annotations

import functools
import warnings
from pathlib import Path
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
        await trio.to_thread.run_sync(manager.connect_all)
        call = functools.partial(manager.call_tool, "a", "echo", {"text": "trio"})
        said = (await trio.to_thread.run_sync(call)).text
        await trio.to_thread.run_sync(manager.close)
        return said

    manager = mcpool.blocking.Manager(config(a=stdio()), cache_dir=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert trio.run(use) == "trio"


def test_the_blocking_manager_in_a_task_of_trio_works_and_warns_where_it_is_used(tmp_path: Path) -> None:
    manager = mcpool.blocking.Manager(config(a=stdio()), cache_dir=False)
    file = tmp_path / "mcp.json"

    async def use() -> None:
        manager.connect_all()
        for text in ("x", "y"):
            assert manager.call_tool("a", "echo", {"text": text}).text == text
        manager.call("mcp_a_echo", {"text": "z"})
        manager.get_tool("mcp_a_echo").execute_blocking({"text": "z"})
        list(manager.events(timeout=0.01))
        manager.disconnect("a")
        manager.reload(NOTHING)
        mcpool.blocking.discover(tmp_path)
        mcpool.blocking.trusted()
        mcpool.blocking.config.add("a", {"command": "x"}, file=file)
        manager.close()

    with manager, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        trio.run(use)
    lines = {warning.lineno for warning in caught}
    assert len(caught) == len(lines) == 11, "once for each place"
    assert {warning.filename for warning in caught} == {__file__}
    for warning in caught:
        assert warning.category is RuntimeWarning
        assert "trio" in str(warning.message) and "trio.to_thread.run_sync" in str(warning.message)


def test_a_trio_that_is_only_loaded_warns_of_nothing() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with mcpool.blocking.Manager(NOTHING) as manager:
            manager.connect_all()


def test_without_any_loop_the_error_names_asyncio_too() -> None:
    waiting = mcpool.Manager(NOTHING).connect_all()
    with pytest.raises(RuntimeError, match=r"asyncio\.run.*mcpool\.blocking"):
        waiting.send(None)
