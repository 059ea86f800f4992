"""The same server on each library, over each transport, in each era of the protocol: `matrix/matrix.json`."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import mcpool
import pytest
from fixture_server import ROOT, config
from mcpool.blocking import Manager
from real_server import SERVERS, RealServer, environment, node

MATRIX = SERVERS / "matrix"
TABLE = json.loads((MATRIX / "matrix.json").read_text())
# The libraries for Python, and the environments that they are in
PYTHON = {
    "mcp1": "mcp1",
    "mcp2": "current",
    "fastmcp2": "fastmcp2",
    "fastmcp3": "mcp1",
    "fastmcp4": "current",
}
STATELESS = "2026-07-28"
WITHOUT_COMPLETION = ("fastmcp2", "fastmcp3")
TOOLS = {"echo", "count", "fail", "add", "log", "sample", "elicit", "roots"}


def command(library: str) -> list[str]:
    if library in PYTHON:
        words = [str(environment(PYTHON[library]) / "python"), str(MATRIX / "server.py"), library]
    elif library == "rmcp":
        words = [str(ROOT / "target" / "matrix-rmcp" / "debug" / "mcpool-matrix-rmcp")]
    else:
        words = [node(), str(MATRIX / f"{library}.mjs")]
    assert Path(words[0]).exists(), f"{words[0]} is missing: `make test-servers` builds it"
    return words


@contextlib.contextmanager
def started(row: dict[str, str]) -> Iterator[dict[str, Any]]:
    """The definition of the server of a row."""
    words, transport = command(row["library"]), row["transport"]
    protocol = {"protocol": row["era"]} if row["era"] == STATELESS else {}
    if transport == "stdio":
        yield {"command": words[0], "args": [*words[1:], "stdio"], **protocol}
        return
    path = "sse" if transport == "sse" else "mcp"
    url = "http://127.0.0.1:{port}/" + path
    with RealServer(lambda port: [*words, transport, str(port)], url, transport) as server:
        yield {**server.definition(), **protocol}


@pytest.fixture(params=TABLE["rows"], ids=lambda row: "-".join(row.values()))
def row(request: pytest.FixtureRequest) -> dict[str, str]:
    return request.param


@contextlib.contextmanager
def connected(row: dict[str, str], **options: Any) -> Iterator[Manager]:
    with started(row) as definition, Manager(config(s=definition), cache_dir=False, **options) as manager:
        report = manager.connect_all()
        assert report.connected == ["s"], report.failed
        yield manager


@pytest.fixture
def manager(row: dict[str, str]) -> Iterator[Manager]:
    with connected(row) as manager:
        yield manager


def test_its_tools_are_listed_and_called(manager: Manager, row: dict[str, str]) -> None:
    status = manager.status()[0]
    known = (status.transport, status.protocol_version, status.server_name)
    assert known == (row["transport"], row["era"], "matrix")
    own = {"work"} if row["library"] == "rmcp" else set()
    assert {tool.raw_name for tool in manager.get_tools()} == TOOLS | own
    assert manager.call_tool("s", "echo", {"text": "héllo"}).text == "héllo"
    failed = manager.call_tool("s", "fail", {"message": "it is broken"})
    assert failed.is_error and "it is broken" in failed.text
    assert manager.call_tool("s", "add", {"a": 40, "b": 2}).structured == {"sum": 42}
    told: list[mcpool.Progress] = []
    assert manager.call_tool("s", "count", {"steps": 3}, on_progress=told.append).text == "3"
    assert [(at.progress, at.total) for at in told] == [(1, 3), (2, 3), (3, 3)]
    events = manager.events(timeout=30)
    if row["era"] == STATELESS:
        # There a server sends no log messages unasked.
        manager.set_log_level("s", "info")
    manager.call_tool("s", "log", {"text": "a line"})
    logged = next(event.data for event in events if event.type == "log")
    assert (logged["origin"], logged["level"], logged["data"]) == ("server", "info", "a line")
    with pytest.raises(mcpool.ToolRejectedError):
        manager.call_tool("s", "no-such-tool")


def test_its_resources_and_prompts_are_listed_and_read(manager: Manager, row: dict[str, str]) -> None:
    assert [resource.uri for resource in manager.list_resources("s")] == ["matrix://note"]
    assert [it.uri_template for it in manager.list_resource_templates("s")] == ["matrix://greeting/{name}"]
    for uri, text in [("matrix://note", "a note"), ("matrix://greeting/Ada", "Hello, Ada")]:
        assert [content.text for content in manager.read_resource("s", uri)] == [text]
    (prompt,) = manager.list_prompts("s")
    assert (prompt.name, [argument.name for argument in prompt.arguments]) == ("greet", ["name"])
    filled = manager.get_prompt("s", "greet", {"name": "Ada"})
    assert [message.text for message in filled.messages] == ["Greet Ada"]
    with pytest.raises(mcpool.ToolFailedError):
        manager.read_resource("s", "matrix://nothing/here")
    if row["library"] not in WITHOUT_COMPLETION:
        assert manager.complete("s", "name", "A", prompt="greet").values == ["Ada", "Alan"]


def test_its_questions_are_answered(row: dict[str, str]) -> None:
    asked: list[str] = []

    def sample(request: mcpool.SamplingRequest) -> str:
        asked.append(request.server)
        return "a word"

    def elicit(request: mcpool.ElicitationRequest) -> dict[str, Any]:
        asked.append(request.mode)
        return {"action": "accept", "content": {"name": "Ada"}}

    options = {"on_sampling": sample, "on_elicitation": elicit, "roots": ["/srv/matrix"]}
    with connected(row, **options) as manager:
        assert "a word" in manager.call_tool("s", "sample", timeout=30).text
        assert "Ada" in manager.call_tool("s", "elicit", timeout=30).text
        assert "file:///srv/matrix" in manager.call_tool("s", "roots", timeout=30).text
    assert asked == ["s", "form"]


@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_its_tasks_are_waited_for(transport: str) -> None:
    def elicit(request: mcpool.ElicitationRequest) -> dict[str, Any]:
        return {"action": "accept", "content": {"name": "Ada"}}

    row = {"library": "rmcp", "transport": transport, "era": STATELESS}
    with connected(row, on_elicitation=elicit) as manager:
        assert "Ada" in manager.call_tool("s", "work", timeout=30).text
        task = manager.call_tool("s", "work", return_task=True).task
        assert task is not None
        assert "Ada" in manager.call_tool("s", "work", resume_task=task.task_id, timeout=30).text
        manager.cancel_task("s", task.task_id)
    with connected(row) as manager, pytest.raises(mcpool.ToolRejectedError):
        manager.call_tool("s", "work", timeout=30)


def test_a_question_that_nobody_answers_ends_the_call(manager: Manager) -> None:
    for tool in ("sample", "elicit", "roots"):
        # Whether that is a failed result or a refused request is the library's choice.
        with contextlib.suppress(mcpool.ToolFailedError, mcpool.ToolRejectedError):
            assert manager.call_tool("s", tool, timeout=30).is_error
    assert manager.call_tool("s", "echo", {"text": "after"}).text == "after"
