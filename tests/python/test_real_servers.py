"""Servers that others wrote, from npm and PyPI: listed, called, and refused what they refuse."""

from __future__ import annotations

import asyncio
import contextlib
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import mcpool
import mcpool.blocking
import pytest
from fixture_server import ROOT, config, lives, until
from real_server import everything as web

INSTALLED = ROOT / "tests" / "servers" / "node_modules" / "@modelcontextprotocol"
Manager = mcpool.blocking.Manager


def node(package: str, *args: str, **fields: Any) -> dict[str, Any]:
    """The definition of a server that npm has installed."""
    program = INSTALLED / package / "dist" / "index.js"
    assert program.is_file(), f"{program} is missing: `npm install --no-package-lock` in tests/servers"
    return {"command": shutil.which("node"), "args": [str(program), *args], **fields}


def python(module: str, *args: str) -> dict[str, Any]:
    """The definition of a server that pip has installed."""
    return {"command": sys.executable, "args": ["-m", module, *args]}


def connect(**servers: dict[str, Any]) -> Iterator[Manager]:
    """A manager with these servers connected; afterwards their processes must be gone."""
    # Without a cache it waits for servers that are slow to start, and on a busy machine all of them are.
    patient = {name: {"timeout": 180_000, **definition} for name, definition in servers.items()}
    with Manager(config(**patient), cache_dir=False) as manager:
        report = manager.connect_all()
        assert report.connected == list(servers), report.failed
        pids = [status.pid for status in manager.status() if status.pid]
        yield manager
    assert until(lambda: not any(lives(pid) for pid in pids))


def raw_names(manager: Manager) -> set[str]:
    return {tool.raw_name for tool in manager.get_tools()}


# By `type: "http"` it is found to speak only the older transport.
OVER_A_NETWORK = {
    "http": ("streamableHttp", "/mcp", "http"),
    "sse": ("sse", "/sse", "sse"),
    "fallback": ("sse", "/sse", "http"),
}


@pytest.fixture(scope="module")
def definitions() -> Iterator[dict[str, dict[str, Any]]]:
    """The everything server over each transport."""
    with contextlib.ExitStack() as stack:
        started = {name: stack.enter_context(web(*how)) for name, how in OVER_A_NETWORK.items()}
        found = {name: server.definition() for name, server in started.items()}
        yield {"stdio": node("server-everything", "stdio"), **found}


@pytest.fixture(params=["stdio", *OVER_A_NETWORK])
def definition(request: pytest.FixtureRequest, definitions: dict[str, Any]) -> dict[str, Any]:
    return definitions[request.param]


@pytest.fixture
def everything(definition: dict[str, Any]) -> Iterator[Manager]:
    yield from connect(everything=definition)


def test_everything_lists_and_answers(everything: Manager) -> None:
    assert {"echo", "get-sum", "get-tiny-image", "get-structured-content"} <= raw_names(everything)
    status = everything.status()[0]
    assert status.server_name == "mcp-servers/everything" and status.instructions
    assert everything.call_tool("everything", "echo", {"message": "héllo"}).text == "Echo: héllo"
    assert "42" in everything.call("mcp_everything_get_sum", {"a": 40, "b": 2}).text
    image = everything.call_tool("everything", "get-tiny-image")
    assert [block["type"] for block in image.content] == ["text", "image", "text"]
    structured = everything.call_tool("everything", "get-structured-content", {"location": "Chicago"})
    assert set(structured.structured) >= {"temperature", "conditions", "humidity"}
    links = everything.call_tool("everything", "get-resource-links", {"count": 2})
    assert [block["type"] for block in links.content].count("resource_link") == 2


def test_everything_refuses_what_is_wrong(everything: Manager) -> None:
    with pytest.raises(mcpool.ToolRejectedError):
        everything.call_tool("everything", "no-such-tool")
    # Whether a wrong argument is a failed result or a refused request is the server's choice.
    try:
        result = everything.call_tool("everything", "get-sum", {"a": "forty", "b": 2})
    except mcpool.ToolFailedError as error:
        assert error.rpc is not None and error.rpc.code == -32602
    else:
        assert result.is_error
    assert everything.call_tool("everything", "echo", {"message": "after"}).text == "Echo: after"


def test_everything_reports_progress_and_can_be_cancelled(definition: dict[str, Any]) -> None:
    told: list[mcpool.Progress] = []

    async def main() -> None:
        async with mcpool.Manager(config(everything=definition)) as manager:
            await manager.connect_all()
            tool = "trigger-long-running-operation"
            arguments = {"duration": 0.3, "steps": 3}
            result = await manager.call_tool("everything", tool, arguments, on_progress=told.append)
            assert not result.is_error
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(
                    manager.call_tool("everything", tool, {"duration": 60, "steps": 2}), 0.2
                )
            assert (await manager.call_tool("everything", "echo", {"message": "x"})).text == "Echo: x"

    asyncio.run(main())
    assert [(progress.progress, progress.total) for progress in told] == [(1, 3), (2, 3), (3, 3)]


@pytest.fixture
def filesystem(tmp_path: Path) -> Iterator[Manager]:
    (tmp_path / "note.txt").write_text("first line\nsecond line\n")
    yield from connect(files=node("server-filesystem", str(tmp_path)))


def test_filesystem_reads_and_writes(filesystem: Manager, tmp_path: Path) -> None:
    assert {"read_text_file", "write_file", "list_directory"} <= raw_names(filesystem)
    note = filesystem.call_tool("files", "read_text_file", {"path": str(tmp_path / "note.txt")})
    assert note.text == "first line\nsecond line\n"
    written = filesystem.call_tool(
        "files", "write_file", {"path": str(tmp_path / "new.txt"), "content": "ünï"}
    )
    assert not written.is_error
    assert (tmp_path / "new.txt").read_text() == "ünï"
    listed = filesystem.call("mcp_files_list_directory", {"path": str(tmp_path)}).text
    assert "[FILE] note.txt" in listed and "[FILE] new.txt" in listed
    outside = filesystem.call_tool("files", "read_text_file", {"path": "/etc/hostname"})
    assert outside.is_error and "Access denied" in outside.text


def test_filesystem_without_its_directory_tells_why(tmp_path: Path) -> None:
    servers = config(files=node("server-filesystem", str(tmp_path / "nowhere")))
    with Manager(servers) as manager:
        report = manager.connect_all()
        error = report.failed["files"]
        assert type(error) is mcpool.ConnectFailedError
        assert "nowhere" in (error.stderr or "")


def test_memory_remembers(tmp_path: Path) -> None:
    definition = node("server-memory", env={"MEMORY_FILE_PATH": str(tmp_path / "memory.jsonl")})
    for manager in connect(memory=definition):
        assert {"create_entities", "read_graph", "search_nodes"} <= raw_names(manager)
        entity = {"name": "mcpool", "entityType": "library", "observations": ["pools connections"]}
        created = manager.call_tool("memory", "create_entities", {"entities": [entity]})
        assert not created.is_error
        graph = json.loads(manager.call("mcp_memory_read_graph").content[0]["text"])
        assert graph["entities"][0]["name"] == "mcpool"
        found = manager.call_tool("memory", "search_nodes", {"query": "pools"})
        assert found.structured["entities"] == graph["entities"]
        try:
            wrong = manager.call_tool("memory", "create_entities", {"entities": "none"})
        except mcpool.ToolFailedError as error:
            assert error.rpc is not None and error.rpc.code == -32602
        else:
            assert wrong.is_error
        manager.disconnect("memory")
        manager.connect("memory")
        assert "mcpool" in manager.call("mcp_memory_read_graph").text


def test_time_tells_the_time() -> None:
    for manager in connect(time=python("mcp_server_time", "--local-timezone", "UTC")):
        assert raw_names(manager) == {"get_current_time", "convert_time"}
        now = json.loads(manager.call_tool("time", "get_current_time", {"timezone": "UTC"}).text)
        assert now["timezone"] == "UTC"
        zones = {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}
        converted = json.loads(manager.call("mcp_time_convert_time", zones).text)
        assert converted["time_difference"] == "+9.0h"
        try:
            wrong = manager.call_tool("time", "get_current_time", {"timezone": "Nowhere/City"})
        except mcpool.ToolFailedError as error:
            assert error.rpc is not None and "Nowhere/City" in error.rpc.message
        else:
            assert wrong.is_error


def test_git_sees_a_repository(tmp_path: Path) -> None:
    def git(*args: str) -> None:
        who = ["-c", "user.name=Test", "-c", "user.email=test@example.org"]
        subprocess.run(["git", "-C", str(tmp_path), *who, *args], check=True, capture_output=True)

    git("init", "--initial-branch=main")
    (tmp_path / "file.txt").write_text("one\n")
    git("add", "file.txt")
    git("commit", "-m", "The first commit")
    (tmp_path / "file.txt").write_text("two\n")
    for manager in connect(git=python("mcp_server_git", "--repository", str(tmp_path))):
        assert {"git_status", "git_log", "git_diff_unstaged"} <= raw_names(manager)
        repository = {"repo_path": str(tmp_path)}
        assert "file.txt" in manager.call_tool("git", "git_status", repository).text
        assert "The first commit" in manager.call("mcp_git_log", repository).text
        assert "+two" in manager.call_tool("git", "git_diff_unstaged", repository).text
        try:
            wrong = manager.call_tool("git", "git_status", {"repo_path": str(tmp_path / "nowhere")})
        except mcpool.ToolFailedError as error:
            assert error.rpc is not None
        else:
            assert wrong.is_error


def test_all_of_them_work_in_one_manager(tmp_path: Path, definitions: dict[str, Any]) -> None:
    servers = {
        "web": definitions["http"],
        "sse": definitions["sse"],
        "everything": node("server-everything", "stdio"),
        "files": node("server-filesystem", str(tmp_path)),
        "memory": node("server-memory", env={"MEMORY_FILE_PATH": str(tmp_path / "memory.jsonl")}),
        "time": python("mcp_server_time", "--local-timezone", "UTC"),
        "git": python("mcp_server_git"),
    }
    for manager in connect(**servers):
        names = [tool.name for tool in manager.get_tools()]
        assert len(set(names)) == len(names) == sum(status.tool_count for status in manager.status())
        assert {tool.server for tool in manager.get_tools()} == set(servers)
        assert manager.call("mcp_web_echo", {"message": "x"}).text == "Echo: x"
