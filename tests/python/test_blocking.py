"""The manager for plain scripts: the same verbs, each of which waits."""

from __future__ import annotations

import asyncio
import threading
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import mcpool
import mcpool.blocking
import pytest
from fixture_server import config, lives, processes, read_journal, stdio, until


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    return tmp_path / "a.jsonl"


@pytest.fixture
def manager(journal: Path) -> Iterator[mcpool.blocking.Manager]:
    with mcpool.blocking.Manager(config(a=stdio(journal=journal))) as manager:
        yield manager
    assert until(lambda: not any(lives(pid) for pid in processes(journal)))


def test_every_verb_waits_for_its_answer(manager: mcpool.blocking.Manager) -> None:
    assert manager.connect_all().connected == ["a"]
    manager.wait_for("a", timeout=5)
    assert "mcp_a_echo" in [tool.name for tool in manager.get_tools()]
    assert manager.call_tool("a", "echo", {"text": "one"}).text == "one"
    assert manager.call("mcp_a_echo", {"text": "two"}, timeout=5).text == "two"
    assert manager.call_tool("a", "meta", meta={"trace": 1}).text.startswith('{"trace":1,')
    assert manager.status()[0].calls.ok == 3
    manager.disconnect("a")
    assert manager.get_tools() == []
    manager.connect("a")
    manager.disconnect_all()
    assert manager.status()[0].state == "disconnected"
    assert manager.warnings == []


def test_errors_are_the_classes_of_the_package(manager: mcpool.blocking.Manager) -> None:
    manager.connect_all()
    with pytest.raises(mcpool.ToolRejectedError) as rejected:
        manager.call_tool("a", "ehco", {})
    assert rejected.value.hint is not None and "echo" in rejected.value.hint
    with pytest.raises(mcpool.ToolFailedError) as failed:
        manager.call_tool("a", "rpc_error", {"code": -7, "message": "no"})
    assert failed.value.rpc is not None
    assert (failed.value.rpc.code, failed.value.rpc.message) == (-7, "no")
    assert failed.value.rpc.data == {"why": "asked"}
    with pytest.raises(TimeoutError):
        manager.call_tool("a", "sleep", {"ms": 60_000}, timeout=0.1)
    with pytest.raises(mcpool.InvalidArgumentsError):
        manager.call_tool("a", "echo", ["text"])  # type: ignore[arg-type]
    with pytest.raises(mcpool.InvalidArgumentsError):
        manager.call_tool("a", "echo", {"text": object()})
    with pytest.raises(mcpool.InvalidArgumentsError):
        manager.call_tool("a", "echo", {"text": float("nan")})
    with pytest.raises(mcpool.InvalidArgumentsError):
        manager.call_tool("a", "echo", {"text": "x"}, timeout=-1)
    with pytest.raises(mcpool.ServerNotFoundError):
        manager.connect("b")
    manager.close()
    with pytest.raises(mcpool.ClosedError):
        manager.call_tool("a", "echo", {"text": "x"})


def test_a_config_that_is_none_is_refused_at_once() -> None:
    for text in ("{", "[]", "{}", '{"mcpServers": []}'):
        with pytest.raises(mcpool.ConfigInvalidError):
            mcpool.blocking.Manager(text)
        with pytest.raises(mcpool.ConfigInvalidError):
            mcpool.Manager(text)
    with pytest.raises(mcpool.ConfigInvalidError):
        mcpool.Manager({"mcpServers": {}}, naming="shouting")


def test_a_config_with_something_that_is_no_json_is_invalid() -> None:
    with pytest.raises(mcpool.ConfigInvalidError):
        mcpool.Manager({"mcpServers": {"a": {"command": object()}}})
    with pytest.raises(mcpool.ConfigInvalidError):
        mcpool.Manager({"mcpServers": {1: {"command": "x"}}})


def test_a_config_may_be_json_text(journal: Path) -> None:
    import json

    with mcpool.blocking.Manager(json.dumps(config(a=stdio(journal=journal)))) as manager:
        assert manager.connect_all().connected == ["a"]


def test_a_timeout_of_ages_is_a_long_time(manager: mcpool.blocking.Manager) -> None:
    manager.connect_all()
    for ages in (1e9, 18_446_744_073_709.6, 1e15):
        assert manager.call_tool("a", "sleep", {"ms": 200}, timeout=ages).text == "slept"


def test_naming_may_be_a_function(journal: Path) -> None:
    servers = config(a=stdio(journal=journal))
    with mcpool.blocking.Manager(servers, naming=lambda server, tool: f"{server}-{tool}".upper()) as manager:
        manager.connect_all()
        assert "A-ECHO" in [tool.name for tool in manager.get_tools()]
        assert manager.call("A-ECHO", {"text": "x"}).text == "x"


def test_a_naming_function_that_raises_costs_no_tool(journal: Path) -> None:
    def naming(server: str, tool: str) -> str:
        raise LookupError(tool)

    with mcpool.blocking.Manager(config(a=stdio(journal=journal)), naming=naming) as manager:
        manager.connect_all()
        tools = manager.get_tools()
        assert len(tools) == manager.status()[0].tool_count > 0
        echo = next(tool for tool in tools if tool.raw_name == "echo")
        assert manager.call(echo.name, {"text": "x"}).text == "x"


def test_threads_share_one_manager(manager: mcpool.blocking.Manager, journal: Path) -> None:
    def work(name: int) -> None:
        manager.connect_all()
        for number in range(50):
            text = f"{name} {number}"
            assert manager.call_tool("a", "echo", {"text": text}).text == text

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(work, range(8)))
    assert len(processes(journal)) == 1


def test_a_wait_lets_other_threads_run(manager: mcpool.blocking.Manager, journal: Path) -> None:
    manager.connect_all()
    ended = threading.Event()

    def wait() -> None:
        with pytest.raises(mcpool.ConnectionLostError):
            manager.call_tool("a", "sleep", {"ms": 60_000})
        ended.set()

    waiter = threading.Thread(target=wait)
    waiter.start()
    assert until(lambda: any(entry["event"] == "ran" for entry in read_journal(journal)))
    assert manager.call_tool("a", "echo", {"text": "meanwhile"}).text == "meanwhile"
    manager.disconnect("a")
    assert ended.wait(10)
    waiter.join()


def test_inside_a_running_loop_it_works_and_warns_where_it_is_used(
    manager: mcpool.blocking.Manager,
) -> None:
    async def main() -> None:
        manager.connect_all()
        for text in ("x", "y"):
            assert manager.call_tool("a", "echo", {"text": text}).text == text
        (tool,) = (tool for tool in manager.get_tools() if tool.raw_name == "echo")
        assert tool.execute_blocking({"text": "z"}).result is not None
        await asyncio.to_thread(manager.call_tool, "a", "echo", {"text": "in a thread"})

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        asyncio.run(main())
    sites = {(warning.filename, warning.lineno): str(warning.message) for warning in caught}
    assert len(caught) == len(sites) == 3, "once for each place"
    assert {file for file, _ in sites} == {__file__}
    for message in sites.values():
        assert "mcpool.Manager" in message and "asyncio.to_thread" in message


def test_a_warning_that_is_an_error_is_raised_before_anything_is_sent(
    manager: mcpool.blocking.Manager, journal: Path
) -> None:
    manager.connect_all()

    async def main() -> None:
        manager.call_tool("a", "count")

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RuntimeWarning):
            asyncio.run(main())
    assert manager.call_tool("a", "count").text == "1"


def test_adapters_do_not_warn_on_behalf_of_their_framework(manager: mcpool.blocking.Manager) -> None:
    manager.connect_all()
    code = compile("tool.execute_blocking({'text': 'x'})", "an adapter", "exec")

    async def main() -> None:
        tool = manager.get_tool("mcp_a_echo")
        exec(code, {"tool": tool, "__name__": "mcpool.adapters.some_framework"})

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        asyncio.run(main())


def test_progress_comes_on_the_waiting_thread_before_the_result(manager: mcpool.blocking.Manager) -> None:
    manager.connect_all()
    told: list[tuple[float, int]] = []

    def note(progress: mcpool.Progress) -> None:
        told.append((progress.progress, threading.get_ident()))

    manager.call_tool("a", "progress", {"steps": 5, "ms": 1}, on_progress=note)
    assert told == [(float(step), threading.get_ident()) for step in range(1, 6)]
    told.clear()
    manager.call("mcp_a_progress", {"steps": 2, "ms": 0}, on_progress=note)
    assert len(told) == 2
    manager.get_tool("mcp_a_progress").execute_blocking({"steps": 1, "ms": 0}, on_progress=note)
    assert len(told) == 3
    manager.call_tool("a", "progress", {"steps": 1, "ms": 0}, on_progress=None)


def test_a_function_for_progress_that_fails_does_not_fail_the_call(
    manager: mcpool.blocking.Manager, monkeypatch: pytest.MonkeyPatch
) -> None:
    manager.connect_all()
    reported: list[Any] = []
    monkeypatch.setattr("sys.unraisablehook", reported.append)

    def fail(progress: mcpool.Progress) -> None:
        raise ValueError(progress.progress)

    assert not manager.call_tool("a", "progress", {"steps": 2, "ms": 0}, on_progress=fail).is_error
    assert [type(report.exc_value) for report in reported] == [ValueError, ValueError]

    def interrupt(progress: mcpool.Progress) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        manager.call_tool("a", "progress", {"steps": 60_000, "ms": 1}, on_progress=interrupt)
    with pytest.raises(mcpool.InvalidArgumentsError):
        manager.call_tool("a", "echo", {"text": "x"}, on_progress=7)  # type: ignore[arg-type]


def test_a_flood_of_progress_is_bounded_and_the_newest_is_kept(manager: mcpool.blocking.Manager) -> None:
    manager.connect_all()
    told: list[float] = []
    manager.call_tool("a", "progress", {"steps": 20_000, "ms": 0}, on_progress=lambda it: told.append(it[0]))
    assert told[-1] == 20_000 and told == sorted(told)


def test_events_come_until_nothing_came_for_a_while(manager: mcpool.blocking.Manager) -> None:
    events = manager.events(timeout=5)
    manager.connect_all()
    first = [next(events) for _ in range(3)]
    assert [event.type for event in first] == ["status", "status", "tools_changed"]
    assert [event.seq for event in first] == [1, 2, 3]
    assert {event.server for event in first} == {"a"}
    assert list(manager.events(timeout=0.05)) == []
    assert events.lost == 0


def test_a_slow_reader_is_told_how_much_it_lost(manager: mcpool.blocking.Manager) -> None:
    events = manager.events(timeout=0.2)
    manager.connect_all()
    for _ in range(800):
        manager.call_tool("a", "log", {"level": "info", "text": "x" * 60_000})
    told, *others = events
    assert told.type == "lost" and told.data["count"] == told.seq == events.lost > 0
    assert len(others) + events.lost == others[-1].seq


def test_results_are_what_the_server_wrote(manager: mcpool.blocking.Manager) -> None:
    manager.connect_all()
    text = '{"b":[],"content":[],"a":123456789012345678901234567890,"n":1.50}'
    result = manager.call_tool("a", "raw", {"json": text})
    assert result.json == text
    assert list(result.raw) == ["b", "content", "a", "n"]
    assert result.raw["a"] == 123456789012345678901234567890
    assert result.raw is result.raw
    assert result.structured is None and not result.is_error and result.content == []


def test_arguments_keep_their_values(manager: mcpool.blocking.Manager) -> None:
    manager.connect_all()
    for text in ("", "ünï", "a\nb\r\tc", '"quoted\\"', "\u2028", "\x00", "😀"):
        assert manager.call_tool("a", "echo", {"text": text}).content[0]["text"] == text


def test_meta_keeps_its_values(manager: mcpool.blocking.Manager) -> None:
    manager.connect_all()
    meta = {"big": 2**70, "float": 0.1, "list": [1, (2, 3)], "none": None, "true": True, "": {}}
    expected = '{"big":1180591620717411303424,"float":0.1,"list":[1,[2,3]],"none":null,"true":true,"":{},'
    assert manager.call_tool("a", "meta", meta=meta).text.startswith(expected)


def test_arguments_may_be_any_mapping(manager: mcpool.blocking.Manager) -> None:
    from collections import ChainMap, OrderedDict
    from types import MappingProxyType

    manager.connect_all()
    for mapping in (OrderedDict(text="x"), MappingProxyType({"text": "x"}), ChainMap({"text": "x"})):
        assert manager.call_tool("a", "echo", mapping).text == "x"


def test_arguments_that_change_while_they_are_read_are_those_of_the_begin(
    manager: mcpool.blocking.Manager,
) -> None:
    from collections import UserDict

    class Grows(UserDict[str, int]):
        def __iter__(self) -> Iterator[str]:
            arguments["added"] = 1
            return super().__iter__()

    manager.connect_all()
    arguments: dict[str, object] = {"text": "x", "changes": Grows(a=1)}
    assert manager.call_tool("a", "echo", arguments).text == "x"
    assert "added" in arguments


def test_the_list_of_tools_is_the_callers_own(manager: mcpool.blocking.Manager) -> None:
    manager.connect_all()
    tools = manager.get_tools()
    assert [tool.name for tool in tools] == sorted(tool.name for tool in tools)
    tools.clear()
    assert manager.get_tools()
    echo = next(tool for tool in manager.get_tools() if tool.raw_name == "echo")
    assert "mcp_a_echo" in repr(echo)
    assert echo.raw["name"] == "echo"
    assert len(echo.fingerprint) == 64
    assert echo.icons is None
