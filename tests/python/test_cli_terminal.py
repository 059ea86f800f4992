"""The command line at a real terminal: tables fit, progress vanishes, Ctrl-C works, nobody steers it."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fixture_server import PROGRAM, all_gone, config, processes, read_journal, stdio, until
from user_home import user_env

MCPOOL = [sys.executable, "-m", "mcpool"]
PATIENCE = 20.0
COLOUR = re.compile(r"\x1b\[\d*m")
WIPE = "\r\x1b[2K"


class Terminal:
    """A command with a terminal of its own; stdout may go elsewhere."""

    def __init__(
        self, args: list[str], env: dict[str, str], columns: int = 80, stdout: int | None = None
    ) -> None:
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        self.seen = b""

        def take_terminal() -> None:
            # The terminal turns Ctrl-C into a signal for those whose terminal it is.
            fcntl.ioctl(slave, termios.TIOCSCTTY, 0)

        self.process = subprocess.Popen(
            [*MCPOOL, *args],
            stdin=slave,
            stdout=slave if stdout is None else stdout,
            stderr=slave,
            env=env,
            start_new_session=True,
            preexec_fn=take_terminal,
        )
        os.close(slave)

    def read(self, until: Callable[[str], bool] | None = None) -> str:
        """What was written so far, once that is enough; without a condition, everything until the end."""
        deadline = time.monotonic() + PATIENCE
        while until is None or not until(self.text()):
            left = deadline - time.monotonic()
            assert left > 0, f"it did not come: {self.text()!r}"
            if not select.select([self.master], [], [], left)[0]:
                continue
            try:
                chunk = os.read(self.master, 65536)
            except OSError:
                chunk = b""
            if not chunk:
                assert until is None, f"it ended: {self.text()!r}"
                break
            self.seen += chunk
        return self.text()

    def text(self) -> str:
        return self.seen.decode(errors="replace")

    def type(self, keys: bytes) -> None:
        os.write(self.master, keys)

    def end(self) -> int:
        self.read()
        return self.process.wait(PATIENCE)


def on_screen(written: str) -> list[str]:
    """The lines that are left, as a terminal would show them."""
    lines, line = [], ""
    for piece in re.split(r"(\r\n|\r\x1b\[2K|\x1b\[\d*m)", written):
        if piece == "\r\n":
            lines.append(line)
            line = ""
        elif piece == WIPE:
            line = ""
        elif not COLOUR.fullmatch(piece):
            line += piece
    return [*lines, line] if line else lines


Open = Callable[..., Terminal]


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    return {**user_env(tmp_path), "TERM": "xterm-256color"}


@pytest.fixture
def terminal(env: dict[str, str]) -> Iterator[Open]:
    """Runs a command at a terminal; it is ended with the test in any case."""
    opened: list[Terminal] = []

    def open_one(*args: str, more: dict[str, str] | None = None, **options: Any) -> Terminal:
        opened.append(Terminal(list(args), {**env, **(more or {})}, **options))
        return opened[-1]

    yield open_one
    for one in opened:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(one.process.pid, signal.SIGKILL)
        one.process.wait()
        os.close(one.master)


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., str]:
    """Writes a config of these servers and gives its path."""

    def write_one(**servers: dict[str, Any]) -> str:
        file = tmp_path / "servers.json"
        file.write_text(json.dumps(config(**servers)))
        return str(file)

    return write_one


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_tables_fit_the_terminal(terminal: Open, write: Callable[..., str], columns: int) -> None:
    long = "a-server-with-a-name-that-is-rather-long"
    file = write(**{long: stdio("--name", "日本語" * 30), "b": stdio()})
    for command in ("tools", "status", "list"):
        one = terminal(command, "--config", file, columns=columns)
        assert one.end() == 0
        lines = on_screen(one.text())
        assert len(lines) >= 3
        assert all(width(line) <= columns for line in lines), lines


def width(text: str) -> int:
    return sum(2 if "\u2e80" <= letter <= "\u9fff" else 1 for letter in text)


@pytest.fixture
def gate(tmp_path: Path) -> Path:
    """A server that is held by it connects once it says something else."""
    gate = tmp_path / "gate"
    gate.write_text("hold")
    return gate


def test_progress_is_shown_and_wiped(terminal: Open, write: Callable[..., str], gate: Path) -> None:
    file = write(fast=stdio(), slow=stdio("--hold", f"initialize={gate}"))
    one = terminal("tools", "--config", file)
    one.read(lambda seen: "connecting 1/2 …" in seen)
    one.read(lambda seen: "slow: slow" in seen)
    gate.write_text("go")
    assert one.end() == 0
    assert not any("connecting" in line for line in on_screen(one.text())), one.text()
    assert "echo" in one.text()


def test_progress_is_not_for_pipes_nor_for_programs(
    terminal: Open, write: Callable[..., str], env: dict[str, str]
) -> None:
    file = write(slow=stdio("--slow", "initialize=400"))
    piped = subprocess.run(
        [*MCPOOL, "tools", "-c", file], env=env, capture_output=True, text=True, timeout=6 * PATIENCE
    )
    assert (piped.returncode, piped.stderr) == (0, "")
    assert "\x1b" not in piped.stdout
    one = terminal("tools", "-c", file, "--fresh", "--json")
    assert one.end() == 0
    assert "connecting" not in one.text()
    assert json.loads(one.text())["failed"] == {}


def test_stdout_may_be_a_file_while_progress_is_at_the_terminal(
    terminal: Open, write: Callable[..., str], gate: Path, tmp_path: Path
) -> None:
    file = write(slow=stdio("--hold", f"initialize={gate}"))
    with (tmp_path / "out").open("wb") as out:
        one = terminal("tools", "-c", file, stdout=out.fileno())
        one.read(lambda seen: "connecting slow" in seen)
        gate.write_text("go")
        assert one.end() == 0
    assert on_screen(one.text()) == []
    assert "\x1b" not in (tmp_path / "out").read_text()


def test_colours_are_for_terminals_that_want_them(terminal: Open, write: Callable[..., str]) -> None:
    file = write(b=stdio())
    cases = [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)]
    for more, coloured in cases:
        one = terminal("list", "-c", file, more=more)
        assert one.end() == 0
        assert bool(COLOUR.search(one.text())) is coloured, more


def test_ctrl_c_ends_and_leaves_nothing(terminal: Open, write: Callable[..., str], tmp_path: Path) -> None:
    journal = tmp_path / "journal.jsonl"
    stubborn = stdio("--hang", "initialize", "--ignore-eof", "--grandchild", journal=journal)
    file = write(fast=stdio(journal=journal), hangs=stubborn)
    for command in (["tools"], ["status"], ["test", "hangs"], ["doctor"], ["call", "hangs", "echo"]):
        journal.unlink(missing_ok=True)
        one = terminal(*command, "-c", file)
        assert until(lambda: any(hung(entry) for entry in read_journal(journal)))
        one.read(lambda seen: "connecting" in seen)
        one.type(b"\x03")
        # Within our patience, which is shorter than the server's timeout.
        assert one.end() == 130
        assert not any("connecting" in line for line in on_screen(one.text()))
        assert all_gone(journal)


def hung(entry: dict[str, Any]) -> bool:
    return entry.get("method") == "initialize"


def test_termination_is_orderly_too(terminal: Open, write: Callable[..., str], tmp_path: Path) -> None:
    journal = tmp_path / "journal.jsonl"
    file = write(hangs=stdio("--hang", "initialize", journal=journal))
    one = terminal("status", "-c", file)
    assert until(lambda: processes(journal))
    one.read(lambda seen: "connecting" in seen)
    one.process.send_signal(signal.SIGTERM)
    assert one.end() == 128 + signal.SIGTERM
    assert all_gone(journal)


def test_a_reader_that_has_had_enough_is_no_failure(write: Callable[..., str], env: dict[str, str]) -> None:
    file = write(many=stdio("--tools", "2000", "--tool-bytes", "400"))
    command = " ".join(["set -o pipefail;", *MCPOOL, "tools", "-c", file, "--json | head -1"])
    ran = subprocess.run(
        ["bash", "-c", command], env=env, capture_output=True, text=True, timeout=6 * PATIENCE
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "{\n", "")


def test_servers_cannot_steer_the_terminal(terminal: Open, write: Callable[..., str]) -> None:
    evil = "\x1b]0;owned\x07\x1b[2J\u202e\x9b31m"
    says = stdio("--name", evil, "--instructions", evil)
    dies = stdio("--stderr", evil, "--exit-at", "start")
    odd = {"command": str(PROGRAM), "args": ["stdio", evil], evil: evil}
    file = write(**{"says": says, "dies": dies, "odd": odd, evil: stdio()})
    for command in (
        ["status"],
        ["tools"],
        ["list"],
        ["doctor"],
        ["test", "says"],
        ["test", "dies"],
        ["status", "--json"],
    ):
        one = terminal(*command, "-c", file)
        one.end()
        text = COLOUR.sub("", one.text()).replace(WIPE, "")
        assert not re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e]", text), (command, text)
    one = terminal("call", "says", "echo", json.dumps({"text": evil}), "-c", file)
    one.end()
    assert "\x1b]0" not in one.text()


def test_offers_of_servers_cannot_steer_the_terminal(
    terminal: Open, write: Callable[..., str], tmp_path: Path
) -> None:
    evil = "\x1b]0;owned\x07\x1b[2J\u202e\x9b31m\U000e0041\u2028"
    content = {"type": "text", "text": evil}
    offers = {
        "resources/list": {"resources": [{"uri": evil, "name": evil, "mimeType": evil, "description": evil}]},
        "resources/templates/list": {"resourceTemplates": [{"uriTemplate": evil, "title": evil}]},
        "resources/read": {"contents": [{"uri": evil, "text": evil}]},
        "prompts/list": {"prompts": [{"name": evil, "arguments": [{"name": evil}]}]},
        "prompts/get": {"description": evil, "messages": [{"role": evil, "content": content}]},
    }
    answers = tmp_path / "answers.json"
    answers.write_text(json.dumps(offers))
    file = write(s=stdio("--offers", "--offers-file", str(answers)))
    for command in (["resources"], ["prompts"], ["read", "s", "x"], ["prompt", "s", "x"]):
        for more in ([], ["--json"]):
            one = terminal(*command, *more, "-c", file)
            assert one.end() == 0
            text = COLOUR.sub("", one.text()).replace(WIPE, "")
            hidden = r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2028\U000e0041]"
            assert not re.search(hidden, text), (command, text)


def test_bytes_of_a_resource_are_not_for_terminals(
    terminal: Open, write: Callable[..., str], tmp_path: Path
) -> None:
    file, out = write(s=stdio("--offers")), tmp_path / "bytes"
    one = terminal("read", "s", "fixture://bytes", "-c", file)
    assert one.end() == 2
    assert "--out" in one.text() and "\x00" not in one.text()
    one = terminal("read", "s", "fixture://bytes", "-c", file, "--out", str(out))
    assert one.end() == 0
    assert out.read_bytes() == b"\x00\x01\x02"


@pytest.mark.parametrize("answer, code", [(b"n\n", 1), (b"\n", 1), (b"\x04", 1), (b"y\n", 0)])
def test_trust_is_asked_for_after_everything_was_shown(
    terminal: Open, tmp_path: Path, answer: bytes, code: int
) -> None:
    program = "x" * 300
    project = tmp_path / "project"
    project.mkdir()
    (project / ".mcp.json").write_text(
        json.dumps({"mcpServers": {"a": {"command": program, "args": ["--token", "$(id)\u202e"]}}})
    )
    screen = terminal("trust", str(project / ".mcp.json"), columns=40)
    shown = screen.read(lambda text: "[y/N]" in text)
    assert program in shown
    assert "$(id)\\u{202e}" in shown
    screen.type(answer)
    assert screen.end() == code
    listed = terminal("trust", "--list")
    assert listed.end() == 0
    assert (".mcp.json" in listed.text()) == (code == 0)


def own_servers(env: dict[str, str]) -> dict[str, Any]:
    file = Path(env["HOME"]) / ".config/mcpool/mcp.json"
    servers: dict[str, Any] = json.loads(file.read_text())["mcpServers"] if file.exists() else {}
    return servers


def converse(screen: Terminal, *turns: tuple[str, str]) -> None:
    """Waits for each question and types its answer."""
    seen = 0
    for question, answer in turns:
        text = screen.read(lambda text, q=question, at=seen: q in text[at:])  # type: ignore[misc]
        seen = text.index(question, seen) + len(question)
        screen.type(answer.encode() + b"\n")


def test_add_asks_shows_tests_and_writes(terminal: Open, env: dict[str, str]) -> None:
    screen = terminal("add")
    converse(
        screen,
        ("Name:", "a b"),
        ("Name:", "echo"),
        ("Where:", ""),
        ("Transport:", "tcp"),
        ("Transport:", ""),
        ("Command, with its arguments:", "'unclosed"),
        ("Command, with its arguments:", f"{PROGRAM} stdio --name 'an echo'"),
        ("Variable", "nonsense"),
        ("Variable", "TOKEN=geheim-12345"),
        ("Variable", ""),
        ("Connect it once", "y"),
    )
    assert screen.end() == 0, screen.text()
    text = COLOUR.sub("", screen.text())
    assert "may only contain" in text
    assert "a quote is not closed" in text
    assert text.index("This goes into") < text.index('"echo" connected') < text.index('Added "echo"')
    assert text.count("geheim-12345") == 1, "only as it was typed"
    assert own_servers(env) == {
        "echo": {
            "command": str(PROGRAM),
            "args": ["stdio", "--name", "an echo"],
            "env": {"TOKEN": "geheim-12345"},
        }
    }
    again = terminal("add", "echo")
    again.read(lambda text: "Where:" in text)
    again.type(b"\n")
    assert again.end() == 1
    assert "already exists" in again.text()


def test_add_asks_for_what_is_missing_only(terminal: Open, env: dict[str, str]) -> None:
    file = Path(env["HOME"]) / "mine.yaml"
    screen = terminal("add", "docs", "--file", str(file), "--transport", "sse")
    converse(
        screen,
        ("URL:", "ftp://example.com"),
        ("URL:", "http://127.0.0.1:9/sse"),
        ("Header", "X-Team: core"),
        ("Header", ""),
        ("Connect it once", ""),
        ("Add it anyway?", "y"),
    )
    assert screen.end() == 0, screen.text()
    assert not any(question in screen.text() for question in ("Where:", "Transport:"))
    assert all(line in file.read_text() for line in ("type: sse", 'url: "http://127.0.0.1:9/sse"'))


@pytest.mark.parametrize("keys", [b"\x04", b"\x03"])
@pytest.mark.parametrize("answered", [0, 1, 3, 5])
def test_add_that_is_given_up_writes_and_starts_nothing(
    terminal: Open, env: dict[str, str], tmp_path: Path, keys: bytes, answered: int
) -> None:
    journal = tmp_path / "journal.jsonl"
    turns = [
        ("Name:", "echo"),
        ("Where:", ""),
        ("Transport:", ""),
        ("Command", f"{PROGRAM} stdio --journal {journal}"),
        ("Variable", ""),
        ("Connect it once", ""),
    ]
    screen = terminal("add")
    converse(screen, *turns[:answered])
    screen.read(lambda text: turns[answered][0] in text)
    screen.type(keys)
    assert screen.end() in (1, 128 + signal.SIGINT, -signal.SIGINT)
    assert own_servers(env) == {}
    assert not journal.exists()


def test_add_never_asks_where_nobody_answers(env: dict[str, str]) -> None:
    for args in (["add"], ["add", "x"], ["add", "--json"]):
        ran = subprocess.run(
            [*MCPOOL, *args],
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=6 * PATIENCE,
        )
        assert ran.returncode == 2, args
        assert "Name:" not in ran.stderr
