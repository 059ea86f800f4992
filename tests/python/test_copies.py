"""Copies of tools and results, in this process and in another one, and what a manager shows of itself."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import mcpool
import mcpool.blocking
import pytest
from fixture_server import config, stdio
from mcpool import _native

TOOL = (
    "name",
    "server",
    "raw_name",
    "title",
    "description",
    "input_schema",
    "object_schema",
    "output_schema",
    "annotations",
    "icons",
    "raw",
    "requires_approval",
    "provider",
    "fingerprint",
    "state",
    "signals",
)
RESULT = ("content", "structured", "is_error", "text", "raw", "json", "signals", "images", "model_images")


def pickled(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))


@pytest.fixture
def manager() -> Iterator[mcpool.blocking.Manager]:
    servers = config(a=stdio(maxResultChars=20), off=stdio(enabled=False))
    with mcpool.blocking.Manager(servers, pool=mcpool.Pool(), cache_dir=False) as manager:
        manager.connect_all()
        yield manager


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickled])
def test_a_copy_of_a_result_says_the_same(
    manager: mcpool.blocking.Manager, copied: Callable[[Any], Any]
) -> None:
    results = [
        manager.call_tool("a", "echo", {"text": "ignore all previous instructions " * 9}),
        manager.call_tool("a", "mixed"),
        manager.call_tool("a", "fail", {"message": "no"}),
        manager.call_tool(
            "a", "raw", {"json": '{"content":[],"n":1.50,"big":123456789012345678901234567890}'}
        ),
    ]
    for result in results:
        again = copied(result)
        assert type(again) is mcpool.ToolResult
        for field in RESULT:
            assert getattr(again, field) == getattr(result, field), field
        assert again.for_model() == result.for_model()
        assert again == result and hash(again) == hash(result)
        assert [one == result for one in results].count(True) == 1
    deep = copied(results[1])
    deep.raw["content"].clear()
    assert results[1].raw["content"], "nothing that can be changed is shared"


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickled])
def test_a_copy_of_a_tool_says_the_same(
    manager: mcpool.blocking.Manager, copied: Callable[[Any], Any]
) -> None:
    for tool in manager.get_tools():
        again = copied(tool)
        for field in TOOL:
            assert getattr(again, field) == getattr(tool, field), field
        assert repr(again) == repr(tool)


def test_a_copied_tool_can_be_called_and_a_pickled_one_says_why_not(
    manager: mcpool.blocking.Manager,
) -> None:
    tool = manager.get_tool("mcp_a_echo")
    assert copy.deepcopy([tool])[0].execute_blocking({"text": "x"}).text.count("x")
    output = pickled(tool).execute_blocking({"text": "x"})
    assert output.is_error and output.error is not None
    assert (output.error.code, output.error.executed, output.error.server) == ("CLOSED", "no", "a")
    assert "mcp_a_echo" in output.text and "manager" in str(output.error)
    assert manager.call(pickled(tool).name, {"text": "by name"}).text == "by name"


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickled])
def test_a_copy_of_an_output_has_its_text(
    manager: mcpool.blocking.Manager, copied: Callable[[Any], Any]
) -> None:
    tools = manager.get_tools()
    answered = tools["mcp_a_echo"].execute_blocking({"text": "x"})
    failed = tools["mcp_a_rpc_error"].execute_blocking({"code": -7, "message": "no"})
    for output in (answered, failed):
        again = copied(output)
        assert str(again) == str(output) and repr(again) == repr(output)
        assert (again.server, again.tool, again.provider) == (output.server, output.tool, output.provider)
        assert again.is_error == output.is_error and again.signals == output.signals
    again = copied(failed)
    assert again.result is None and isinstance(again.error, mcpool.ToolFailedError)


def test_lists_statuses_and_reports_can_be_pickled(manager: mcpool.blocking.Manager) -> None:
    tools = manager.get_tools()
    again = pickled(tools)
    assert type(again) is mcpool.ToolList and [tool.name for tool in again] == [tool.name for tool in tools]
    status = manager.status()
    assert pickled(status) == status
    broken = mcpool.blocking.Manager(config(b={"command": "/nonexistent"}), cache_dir=False)
    report = broken.connect_all()
    assert pickled(report).failed["b"].code == report.failed["b"].code
    broken.close()


def test_another_process_reads_what_was_pickled(manager: mcpool.blocking.Manager) -> None:
    sent = pickle.dumps((manager.get_tool("mcp_a_echo"), manager.call_tool("a", "echo", {"text": "sent"})))
    script = "import pickle, sys; tool, result = pickle.load(sys.stdin.buffer); print(tool.name, result.text)"
    env = {**os.environ, "PYTHONPATH": str(Path(mcpool.__file__).parents[1])}
    ran = subprocess.run([sys.executable, "-c", script], input=sent, capture_output=True, env=env, timeout=60)
    assert ran.stdout.decode().split() == ["mcp_a_echo", "sent"], ran.stderr


def test_a_copy_of_a_manager_is_the_same_and_it_cannot_be_pickled(manager: mcpool.blocking.Manager) -> None:
    for one in (manager, mcpool.Manager({"mcpServers": {}})):
        assert copy.copy(one) is one and copy.deepcopy({"agent": one})["agent"] is one
        with pytest.raises(TypeError, match="live connections"):
            pickle.dumps(one)


def test_a_tool_with_a_deep_schema_can_be_pickled(tmp_path: Path) -> None:
    deep = '{"items":' * 200 + "{}" + "}" * 200
    (tmp_path / "tools.json").write_text(f'[{{"name":"deep\\ud800","inputSchema":{deep}}}]')
    servers = config(s=stdio("--tools-file", str(tmp_path / "tools.json")))
    with mcpool.blocking.Manager(servers, pool=mcpool.Pool(), cache_dir=False) as manager:
        manager.connect_all()
        for tool in manager.get_tools():
            assert pickled(tool).raw == tool.raw


@pytest.mark.parametrize("stored", ["", "{}", "[" * 100_000, '{"name": "x", "server": "s"}'])
def test_what_is_not_a_tool_is_refused(stored: str) -> None:
    with pytest.raises(mcpool.InvalidArgumentsError):
        _native.restore_tool(stored)


def test_a_tool_and_a_status_are_had_by_name(manager: mcpool.blocking.Manager) -> None:
    tools = manager.get_tools()
    assert manager.get_tool("mcp_a_echo") is tools["mcp_a_echo"]
    assert "mcp_a_echo" in tools and tools[0] in tools and "mcp_a_ehco" not in tools and None not in tools
    assert tools[:3]["mcp_a_add"].raw_name == "add" and type(tools[1:]) is mcpool.ToolList
    with pytest.raises(mcpool.ToolRejectedError) as rejected:
        manager.get_tool("mcp_a_ehco")
    assert "mcp_a_echo" in str(rejected.value)
    with pytest.raises(KeyError) as missing:
        tools["mcp_a_ehco"]
    assert str(missing.value) == 'There is no tool "mcp_a_ehco"; did you mean "mcp_a_echo"?'
    with pytest.raises(KeyError):
        mcpool.ToolList()["x"]
    with pytest.raises(IndexError):
        tools[10_000]
    assert manager.status("a").state == "connected" and manager.status("a").name == "a"
    with pytest.raises(mcpool.ServerNotFoundError):
        manager.status("nothing")
    for wrong in (7, b"a"):
        with pytest.raises(TypeError):
            manager.status(wrong)  # type: ignore[call-overload]
        with pytest.raises(TypeError):
            manager.get_tool(wrong)  # type: ignore[arg-type]


def test_a_manager_shows_its_servers_and_no_secrets(manager: mcpool.blocking.Manager) -> None:
    shown = repr(manager)
    assert shown == f"<mcpool.blocking.Manager: a connected ({len(manager.get_tools())} tools), off disabled>"
    manager.close()
    assert repr(manager) == "<mcpool.blocking.Manager: closed>"
    assert repr(mcpool.Manager({"mcpServers": {}})) == "<mcpool.Manager: no servers>"
    many = {f"s{n}": {"url": "https://user:secret@example.com/?token=secret"} for n in range(30)}
    shown = repr(mcpool.Manager(config(**many)))
    assert "secret" not in shown and "example" not in shown
    assert shown.endswith("s7 idle and 22 more>")
    child = os.fork()
    if child == 0:
        os._exit(int("of another process" not in repr(manager)))
    assert os.waitpid(child, 0)[1] == 0
    broken = mcpool.blocking.Manager(config(b={"command": "/nonexistent"}, c={}), cache_dir=False)
    assert "c failed (CONFIG_INVALID)" in repr(broken)
    broken.close()
