"""Each mistake of a newcomer gets a message that names it and the way out."""

from __future__ import annotations

import asyncio
import functools
import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mcpool
import mcpool.blocking
import pytest
from fixture_server import config, read_journal, stdio


def test_a_path_in_place_of_a_config_names_from_file() -> None:
    for path in ("mcp.json", Path("some") / "servers.yaml"):
        for manager in (mcpool.Manager, mcpool.blocking.Manager):
            wrong: Any = path
            with pytest.raises(mcpool.ConfigInvalidError, match=r"Manager\.from_file") as refused:
                manager(wrong)
            assert str(path) in refused.value.message


@pytest.mark.parametrize(
    ("option", "value", "expected"),
    [
        ("gate", "soon", "a number of seconds, not a str"),
        ("restart_wait", [1], "a number of seconds, not a list"),
        ("gate", -1, "a number of seconds, from 0 to 1e19"),
        ("gate", 1e300, "a number of seconds, from 0 to 1e19"),
        ("wrap", 1, "true or false, not a number"),
        ("connect_concurrency", True, "0 or more, not a bool"),
    ],
)
def test_an_option_of_the_wrong_type_is_named_with_what_it_must_be_and_what_it_is(
    option: str, value: object, expected: str
) -> None:
    options: Any = {option: value}
    with pytest.raises(mcpool.ConfigInvalidError) as refused:
        mcpool.Manager(config(a=stdio()), **options)
    assert f'"{option}"' in refused.value.message
    assert refused.value.message.endswith(expected)


def test_an_option_of_a_call_of_the_wrong_type_is_named() -> None:
    async def main() -> None:
        async with mcpool.Manager(config(a=stdio())) as manager:
            await manager.connect_all()
            wrong: Any = {"max_total_timeout": "soon"}
            with pytest.raises(mcpool.InvalidArgumentsError, match=r'"max_total_timeout".*not a str'):
                await manager.call_tool("a", "echo", {}, **wrong)

    asyncio.run(main())


def test_an_error_shows_its_text_or_else_its_message() -> None:
    text = 'Server "a": The server exited'
    told = mcpool.ConnectionLostError("The server exited", server="a", hint="look", text=text)
    assert str(told) == f"{text} (look)"
    assert str(pickle.loads(pickle.dumps(told))) == str(told)
    assert str(mcpool.ClosedError("The manager is closed")) == "The manager is closed"


def test_an_error_of_the_core_names_its_server() -> None:
    async def main() -> None:
        broken = {"command": "no-such-program -m x", "restart": "never"}
        async with mcpool.Manager(config(broken=broken, a=stdio())) as manager:
            report = await manager.connect_all()
            assert str(report.failed["broken"]).count('"broken"') == 1
            with pytest.raises(mcpool.ToolRejectedError, match='"mcp_a_echo"'):
                await manager.call("echo", {"text": "x"})

    asyncio.run(main())


class Reporter:
    async def __call__(self, progress: mcpool.Progress) -> None: ...


async def report(progress: mcpool.Progress, more: object = None) -> None: ...


@pytest.mark.parametrize("function", [report, functools.partial(report, more=1), Reporter()])
def test_an_async_function_for_progress_is_refused_before_the_call(function: Any, tmp_path: Path) -> None:
    def check(error: mcpool.McpoolError | None) -> None:
        assert isinstance(error, mcpool.InvalidArgumentsError) and error.executed == "no"
        assert (
            error.message == 'The option "on_progress" of a call must be a plain function, not an async one'
        )
        assert error.hint is not None and "awaits" in error.hint

    journal = tmp_path / "a.jsonl"
    servers, given = config(a=stdio(journal=journal)), {"steps": 1, "ms": 0}
    with mcpool.blocking.Manager(servers, pool=mcpool.Pool()) as manager:
        manager.connect_all()
        for call in (
            functools.partial(manager.call, "mcp_a_progress"),
            functools.partial(manager.call_tool, "a", "progress"),
        ):
            with pytest.raises(mcpool.InvalidArgumentsError) as refused:
                call(given, on_progress=function)
            check(refused.value)
        tool = manager.get_tool("mcp_a_progress")
        check(tool.execute_blocking(given, on_progress=function).error)

    async def main() -> None:
        async with mcpool.Manager(servers, pool=mcpool.Pool()) as manager:
            await manager.connect_all()
            for call in (
                manager.call("mcp_a_progress", given, on_progress=function),
                manager.call_tool("a", "progress", given, on_progress=function),
            ):
                with pytest.raises(mcpool.InvalidArgumentsError) as refused:
                    await call
                check(refused.value)
            output = await manager.get_tool("mcp_a_progress").execute(given, on_progress=function)
            check(output.error)

    asyncio.run(main())
    assert not [entry for entry in read_journal(journal) if entry.get("tool") == "progress"]


def wrong_names(manager: Any, tool: mcpool.Tool) -> list[tuple[Callable[[], Any], str]]:
    """Verbs with something else in place of a name, and what they say."""
    server = "The name of the server must be a text, not "
    name = "The name of the tool must be a text, not "
    takes = "call() takes tool.name, call_tool() takes tool.raw_name"
    status = manager.status("a")
    return [
        (lambda: manager.connect(None), f"{server}None"),
        (lambda: manager.connect(status), f"{server}a ServerStatus"),
        (lambda: manager.wait_for(7), f"{server}an int"),
        (lambda: manager.disconnect(b"a"), f"{server}a bytes"),
        (lambda: manager.authorize(None), f"{server}None"),
        (lambda: manager.forget_auth(None), f"{server}None"),
        (lambda: manager.accept_drift(None), f"{server}None"),
        (lambda: manager.accept_drift("a", tool), f"{name}a Tool ({takes})"),
        (lambda: manager.status(7), f"{server}an int"),
        (lambda: manager.get_tool(None), f"{name}None"),
        (lambda: manager.call(tool), f"{name}a Tool ({takes})"),
        (lambda: manager.call(None, {}), f"{name}None"),
        (lambda: manager.call_tool(tool, {}), f"{server}a Tool (tool.server is one)"),
        (lambda: manager.call_tool("a", tool), f"{name}a Tool ({takes})"),
        (lambda: manager.complete_auth(None), "The redirect URL must be a text, not None"),
        (lambda: manager.search_tools(None), "The query must be a text, not None"),
    ]


def test_something_else_in_place_of_a_name_is_named() -> None:
    servers = config(a=stdio())

    with mcpool.blocking.Manager(servers) as manager:
        manager.connect_all()
        for call, expected in wrong_names(manager, manager.get_tool("mcp_a_echo")):
            with pytest.raises(TypeError) as refused:
                call()
            assert str(refused.value) == expected

    async def main() -> None:
        async with mcpool.Manager(servers) as manager:
            await manager.connect_all()
            for call, expected in wrong_names(manager, manager.get_tool("mcp_a_echo")):
                with pytest.raises(TypeError) as refused:
                    await call()
                assert str(refused.value) == expected

    asyncio.run(main())


def test_something_else_in_place_of_a_name_in_a_config_is_named(tmp_path: Path) -> None:
    wrong: Any = None
    expected = "The name of the server must be a text, not None"
    with pytest.raises(TypeError, match=expected):
        mcpool.blocking.config.remove(wrong, file=tmp_path / "mcp.json")
    with pytest.raises(TypeError, match=expected):
        asyncio.run(mcpool.config.add(wrong, {}, file=tmp_path / "mcp.json"))


def test_a_keyword_that_is_not_known_is_named_as_before() -> None:
    wrong: Any = {"timeuot": 1}
    with mcpool.blocking.Manager(config(a=stdio())) as manager, pytest.raises(TypeError, match="timeuot"):
        manager.call("mcp_a_echo", {}, **wrong)


def test_what_looks_like_our_own_words_is_a_users_data() -> None:
    with mcpool.blocking.Manager(config(a=stdio())) as manager:
        manager.connect_all()
        for meta in ({"$noJson": "a"}, {"\0noJson": "a", "b": 1}):
            sent = json.loads(manager.call_tool("a", "meta", meta=meta).text)
            assert sent.items() >= meta.items()
