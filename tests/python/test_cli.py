"""The command line as pip installs it: the same commands, exit codes and documents as from everywhere."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from fixture_server import all_gone, config, processes, stdio, until
from user_home import user_env

PATIENCE = 30
COMMANDS = [[sys.executable, "-m", "mcpool"], [str(Path(sys.executable).with_name("mcpool"))]]


@pytest.fixture(params=COMMANDS, ids=["module", "script"])
def command(request: pytest.FixtureRequest) -> list[str]:
    return list(request.param)


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    return user_env(tmp_path)


def run(command: list[str], env: dict[str, str], *args: str) -> tuple[int, Any]:
    project = Path(env["HOME"]) / "project"
    project.mkdir(exist_ok=True)
    ran = subprocess.run(
        [*command, *args, "--json"], env=env, cwd=project, capture_output=True, text=True, timeout=PATIENCE
    )
    assert ran.stderr == ""
    return ran.returncode, json.loads(ran.stdout)


def test_every_command_answers_with_a_document(
    command: list[str], env: dict[str, str], tmp_path: Path
) -> None:
    file = tmp_path / "mcp.json"
    file.write_text(json.dumps(config(s=stdio(), broken={"command": "no-such-program"})))
    named = ["-c", str(file)]

    def facts(*args: str, code: int = 0) -> Any:
        ended, document = run(command, env, *args)
        assert ended == code, (args, document)
        return document

    assert [server["name"] for server in facts("list", *named)["servers"]] == ["s", "broken"]
    assert facts("status", *named, code=1)["servers"][0]["state"] == "connected"
    assert facts("tools", *named, code=1)["failed"]["broken"]["code"] == "CONNECT_FAILED"
    assert facts("tools", "--partial", *named)["failed"]["broken"]["code"] == "CONNECT_FAILED"
    assert facts("tools", "s", *named, "--openai")[0]["type"] == "function"
    assert "input_schema" in facts("tools", "s", *named, "--anthropic")[0]
    assert facts("call", "s", "echo", "text=hi", *named)["content"][0]["text"] == "hi"
    assert facts("resources", "s", *named)["resources"] == []
    assert facts("prompts", "--partial", *named)["failed"]["broken"]["code"] == "CONNECT_FAILED"
    assert facts("read", "s", "x://y", *named, code=1)["error"]["code"] == "TOOL_FAILED"
    assert facts("prompt", "s", "x", *named, code=1)["error"]["code"] == "TOOL_FAILED"
    assert facts("test", "s", *named)["ok"] is True
    assert facts("test", "broken", *named, code=1)["ok"] is False
    assert facts("doctor", *named, code=1)["ok"] is False
    assert facts("disable", "broken", *named)["disabled"] == "broken"
    assert facts("doctor", *named)["ok"] is True
    assert facts("enable", "broken", *named)["enabled"] == "broken"
    assert facts("remove", "broken", *named)["removed"] == "broken"
    assert facts("add", "new", "--url", "https://example.com/mcp")["added"] == "new"
    assert facts("discover")["servers"][0]["name"] == "new"
    assert facts("trust") == {"untrusted": []}
    assert "properties" in facts("schema")
    assert facts("completions", "bash")["shell"] == "bash"
    assert facts("demo")["calls"][0]["text"] == "Hello, Ada!"
    assert facts("nonsense", code=2)["error"]["code"] == "USAGE"
    assert facts("remove", "nobody", code=1)["error"]["code"] == "SERVER_NOT_FOUND"


def test_an_interrupt_ends_it_with_130_and_leaves_nothing(
    command: list[str], env: dict[str, str], tmp_path: Path
) -> None:
    journal, file = tmp_path / "journal.jsonl", tmp_path / "mcp.json"
    file.write_text(json.dumps(config(s=stdio("--hang", "initialize", "--ignore-eof", journal=journal))))
    with subprocess.Popen([*command, "tools", "-c", str(file)], env=env) as process:
        assert until(lambda: processes(journal))
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 130
    assert all_gone(journal)


def test_words_that_are_no_text_are_refused(command: list[str], env: dict[str, str]) -> None:
    line = [*map(os.fsencode, command), b"tools", b"--search", b"\xff"]
    ran = subprocess.run(line, env=env, capture_output=True, text=True, timeout=PATIENCE)
    assert (ran.returncode, ran.stdout, ran.stderr) == (2, "", "error: an argument is not UTF-8\n")


@pytest.mark.parametrize("verb", ["add", "discover", "status", "tools", "trust"])
def test_help_shows_no_escapes(verb: str, env: dict[str, str]) -> None:
    ran = subprocess.run(
        [*COMMANDS[0], verb, "--help"], env=env, capture_output=True, text=True, timeout=PATIENCE
    )
    assert ran.returncode == 0 and "\\" not in ran.stdout, ran.stdout
