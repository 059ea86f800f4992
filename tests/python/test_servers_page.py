"""The examples of docs/servers.md, each with its own web server, worker or test runner."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import mcpool
import pytest
from fixture_server import ROOT, config, read_journal, stdio, until
from user_home import user_env

PAGE = (ROOT / "docs/servers.md").read_text()
BLOCKS = dict(re.findall(r"^```python\n# with ([\w -]+)\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE))
CONFIG = re.findall(r"^```python\n(import sys\n\nCONFIG = .*?)^```", PAGE, re.DOTALL | re.MULTILINE)[0]
PATIENCE = 60.0
CELERY = """
broker_url = "filesystem://"
broker_transport_options = {"data_folder_in": "q", "data_folder_out": "q", "control_folder": "q"}
result_backend = "file://results"
"""


@pytest.fixture
def place(tmp_path: Path) -> Callable[[str], Path]:
    """Writes a block as the module `main`; gives its directory."""

    def write(block: str) -> Path:
        (tmp_path / "main.py").write_text(f"{CONFIG}\n{BLOCKS[block]}")
        return tmp_path

    return write


def environment(place: Path) -> dict[str, str]:
    path = os.pathsep.join([str(Path(mcpool.__file__).parents[1]), str(place)])
    return {**user_env(place / "home"), "PYTHONPATH": path}


@contextmanager
def started(place: Path, *words: str) -> Iterator[subprocess.Popen[str]]:
    """A program that is told to end, and must end by itself with all that it started."""
    with (place / "log").open("w") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", *words],
            cwd=place,
            env=environment(place),
            stdout=log,
            stderr=log,
            text=True,
            start_new_session=True,
        )
    try:
        yield process
        process.send_signal(signal.SIGTERM)
        process.wait(PATIENCE)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    assert servers_of(place) == [], "servers were left"


def servers_of(place: Path) -> list[str]:
    """The demo servers whose environment is this test's."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            line, env = (entry / "cmdline").read_bytes(), (entry / "environ").read_bytes()
        except OSError:
            continue
        if b"demo-server" in line and str(place / "home").encode() in env:
            found.append(entry.name)
    return found


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def answers(port: int, process: subprocess.Popen[str], log: Path, path: str = "/") -> str:
    """The answer, as soon as the service is there."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=PATIENCE) as answer:
                return str(answer.read().decode())
        except (urllib.error.URLError, ConnectionError) as error:
            gone = process.poll() is not None or time.monotonic() > deadline
            if gone or isinstance(error, urllib.error.HTTPError):
                pytest.fail(f"{error}\n{log.read_text()}")
            time.sleep(0.05)


@pytest.mark.parametrize(
    ("block", "words"),
    [
        ("uvicorn", ["uvicorn", "main:app", "--port"]),
        ("gunicorn", ["gunicorn", "main:app", "--workers=2", "--bind=127.0.0.1:"]),
        ("gunicorn --preload", ["gunicorn", "main:app", "--workers=2", "--preload", "--bind=127.0.0.1:"]),
        ("gunicorn", ["gunicorn", "main:app", "--worker-class=gevent", "--bind=127.0.0.1:"]),
    ],
    ids=["uvicorn", "gunicorn", "gunicorn-preload", "gunicorn-gevent"],
)
def test_a_web_server_serves(block: str, words: list[str], place: Callable[[str], Path]) -> None:
    home, port = place(block), free_port()
    last = words[-1] + str(port) if words[-1].endswith(":") else words[-1]
    more = [str(port)] if last == words[-1] else []
    with started(home, *words[:-1], last, *more) as process:
        for _ in range(4):
            assert "Hello, Ada!" in answers(port, process, home / "log")


def test_a_request_that_is_aborted_cancels_its_call(place: Callable[[str], Path]) -> None:
    home, port = place("uvicorn"), free_port()
    (home / "tools.json").write_text(json.dumps([{"name": "greet", "inputSchema": {"type": "object"}}]))
    knobs = ["--hang=tools/call", "--tools-file", str(home / "tools.json")]
    hanging = config(demo=stdio(*knobs, journal=home / "journal"))
    with (home / "main.py").open("a") as module:
        module.write(f"{BLOCKS['fastapi']}\n\nCONFIG = {hanging}\n")

    def received(method: str) -> bool:
        return any(entry.get("method") == method for entry in read_journal(home / "journal"))

    with started(home, "uvicorn", "main:app", "--port", str(port)) as process:
        answers(port, process, home / "log", "/docs")
        with socket.create_connection(("127.0.0.1", port)) as client:
            client.sendall(b"GET /greetings/Ada HTTP/1.1\r\nHost: here\r\n\r\n")
            assert until(lambda: received("tools/call"))
            assert not received("notifications/cancelled")
        assert until(lambda: received("notifications/cancelled"))
    assert "Traceback" not in (home / "log").read_text()


def test_a_request_that_is_not_aborted_is_answered(place: Callable[[str], Path]) -> None:
    home, port = place("uvicorn"), free_port()
    with (home / "main.py").open("a") as module:
        module.write(BLOCKS["fastapi"])
    with started(home, "uvicorn", "main:app", "--port", str(port)) as process:
        assert "Hello, Grace!" in answers(port, process, home / "log", "/greetings/Grace")


@pytest.mark.parametrize("pool", ["prefork", "solo", "threads", "gevent"])
def test_celery_works_in_its_processes(pool: str, place: Callable[[str], Path]) -> None:
    home = place("celery")
    with (home / "main.py").open("a") as module:
        module.write("\n\napp.config_from_object('celeryconfig')\n")
    (home / "celeryconfig.py").write_text(CELERY)
    for directory in ("q", "results"):
        (home / directory).mkdir()
    ask = "from main import greet; print([greet.delay(n).get(timeout=60) for n in ('Ada', 'Grace')])"
    with started(home, "celery", "-A", "main", "worker", "-P", pool, "-c", "2", "-l", "warning"):
        command = [sys.executable, "-c", ask]
        ran = subprocess.run(
            command, cwd=home, env=environment(home), capture_output=True, text=True, timeout=2 * PATIENCE
        )
        assert "['Hello, Ada!', 'Hello, Grace!']" in ran.stdout, ran.stderr + (home / "log").read_text()


def test_pytest_runs_with_one_manager(place: Callable[[str], Path]) -> None:
    home = place("pytest")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "main.py"]
    ran = subprocess.run(
        command, cwd=home, env=environment(home), capture_output=True, text=True, timeout=PATIENCE
    )
    assert "2 passed" in ran.stdout, ran.stdout + ran.stderr


def test_gevent_runs_calls_side_by_side(place: Callable[[str], Path]) -> None:
    home = place("gevent")
    command = [sys.executable, "main.py"]
    ran = subprocess.run(
        command, cwd=home, env=environment(home), capture_output=True, text=True, timeout=PATIENCE
    )
    assert (ran.stdout, ran.returncode) == ("['Hello, Ada!', 'Hello, Grace!']\n", 0), ran.stderr


def test_trio_calls_in_threads(place: Callable[[str], Path]) -> None:
    home = place("trio")
    command = [sys.executable, "main.py"]
    ran = subprocess.run(
        command, cwd=home, env=environment(home), capture_output=True, text=True, timeout=PATIENCE
    )
    assert (ran.stdout, ran.returncode) == ("Hello, Ada!\n", 0), ran.stderr


def test_every_block_has_its_test() -> None:
    forks = {"gunicorn", "gunicorn --preload", "celery"}
    assert set(BLOCKS) == {"uvicorn", "fastapi", *forks, "pytest", "gevent", "trio"}
