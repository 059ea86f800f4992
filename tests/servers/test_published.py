"""Servers that others published, over each transport that they speak: `published/servers.json`."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import mcpool
import pytest
from fixture_server import ROOT, config, until
from mcpool.blocking import Manager
from real_server import SERVERS, RealServer, environment

PUBLISHED = SERVERS / "published"
TABLE = json.loads((PUBLISHED / "servers.json").read_text())
CASES = [
    pytest.param(server, transport, id=f"{server['name']}-{transport}")
    for server in TABLE
    for transport in server["transports"]
]
DIFF = """diff --git a/one.txt b/one.txt
--- a/one.txt
+++ b/one.txt
@@ -1 +1 @@
-one
+two
"""
PAGE = '<mxfile><diagram id="1" name="First page"><mxGraphModel/></diagram></mxfile>'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The working directory of a server: a repository with one commit and some files."""
    (tmp_path / "home").mkdir()
    (tmp_path / "note.md").write_text("# Note\n\nThere is a needle here.\n")
    (tmp_path / "change.diff").write_text(DIFF)
    (tmp_path / "page.drawio").write_text(PAGE)
    who = ["-c", "user.name=Test", "-c", "user.email=test@example.org"]
    for words in (["init", "--quiet"], ["add", "note.md"], ["commit", "--quiet", "-m", "The first commit"]):
        subprocess.run(["git", "-C", str(tmp_path), *who, *words], check=True, capture_output=True)
    return tmp_path


def program(server: dict[str, Any]) -> Path:
    places = {
        "npm": PUBLISHED / "node_modules" / ".bin",
        "reference": SERVERS / "node_modules" / ".bin",
        "tests": ROOT / ".venv" / "bin",
    }
    found = (places.get(server["from"]) or environment(server["from"])) / server["program"]
    assert found.exists(), f"{found} is missing: `make test-servers` installs it"
    # Some npm programs look for their files beside the path that they were started by.
    return found.resolve() if found.parent.name == ".bin" else found


def filled(value: Any, **known: object) -> Any:
    """The value with `{name}` replaced in each of its texts."""
    if isinstance(value, str):
        return re.sub(r"\{(\w+)\}", lambda found: str(known.get(found[1], found[0])), value)
    if isinstance(value, list):
        return [filled(entry, **known) for entry in value]
    if isinstance(value, dict):
        return {name: filled(entry, **known) for name, entry in value.items()}
    return value


@contextlib.contextmanager
def started(server: dict[str, Any], transport: str, folder: Path, mark: str) -> Iterator[dict[str, Any]]:
    """The definition of a server; one over a network is started, and killed at the end."""
    how = server["transports"][transport]
    command = [str(program(server)), *how["args"]]
    env = {"HOME": str(folder / "home"), "MARK": mark, **server.get("env", {}), **how.get("env", {})}
    if transport == "stdio":
        words, env = filled(command, dir=folder), filled(env, dir=folder)
        yield {"command": words[0], "args": words[1:], "env": env, "cwd": str(folder)}
        return
    web = RealServer(
        lambda port: filled(command, dir=folder, port=port),
        "http://127.0.0.1:{port}" + how["path"],
        transport,
        lambda port: filled(env, dir=folder, port=port),
        folder,
    )
    with web:
        yield {**web.definition(), "headers": how.get("headers", {})}


def marked(mark: str) -> list[str]:
    """The processes with this mark in their environment: a server's and all that it started."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if mark.encode() in (process / "environ").read_bytes() and process.name != str(os.getpid()):
                found.append((process / "cmdline").read_text().replace("\0", " "))
    return found


def check_call(manager: Manager, call: dict[str, Any], folder: Path) -> None:
    """A tool that cannot work here has to say so; how it says it is the server's choice."""
    try:
        result = manager.call_tool("s", call["tool"], filled(call["arguments"], dir=folder))
    except mcpool.ToolFailedError:
        assert "fails" in call
    else:
        assert result.is_error == ("fails" in call), result.text
        assert call.get("answer", "") in result.text


@pytest.mark.parametrize(("server", "transport"), CASES)
def test_it_is_listed_and_called_and_leaves_no_process(
    server: dict[str, Any], transport: str, folder: Path
) -> None:
    mark = f"mcpool-test-{uuid.uuid4()}"
    with started(server, transport, folder, mark) as definition:
        with Manager(config(s=definition), cache_dir=False) as manager:
            report = manager.connect_all()
            assert report.connected == ["s"], report.failed
            status = manager.status()[0]
            known = (status.transport, status.protocol_version, status.server_name)
            assert known == (transport, server["protocol"], server["server"])
            assert server["call"]["tool"] in {tool.raw_name for tool in manager.get_tools()}
            check_call(manager, server["call"], folder)
            assert marked(mark)
        assert transport != "stdio" or until(lambda: not marked(mark), 30), marked(mark)
    assert until(lambda: not marked(mark), 30), marked(mark)


def listed(file: Path) -> dict[str, str]:
    """The packages of a list and their versions, as far as its first empty line."""
    lines = file.read_text().partition("\n\n")[0].splitlines()
    return dict(line.split("==") for line in lines if "==" in line)


@pytest.mark.parametrize("group", ["npm", "current", "mcp1", "fastmcp2"])
def test_the_table_has_what_the_lists_install(group: str) -> None:
    if group == "npm":
        installed = json.loads((PUBLISHED / "package.json").read_text())["dependencies"]
    else:
        installed = listed(PUBLISHED / f"{group}.txt")
    assert installed == {row["package"]: row["version"] for row in TABLE if row["from"] == group}
