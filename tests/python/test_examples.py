"""The Python programs of examples/ run as a user runs them.

`test_notebook.py` runs the notebook, `tests/node` the Node programs, `core/tests` the Rust program.
"""

from __future__ import annotations

import importlib.util
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import mcpool
import pytest
import uvicorn
from fixture_server import ROOT, config, read_journal, stdio, until
from starlette.testclient import TestClient
from user_home import user_env

EXAMPLES = ROOT / "examples"
SCRIPTS = {
    "agent_loop.py": ["ready: ['demo']", "failed", "answer: It is 42."],
    "sub_agents.py": ["Hello, Grace!", "restarts: 0 calls: 3"],
}
# The notebook starts the one server; the test below starts the other.
IMPORTED = {"picture_server.py", "web_service.py"}


def test_every_program_is_run_and_listed() -> None:
    assert {path.name for path in EXAMPLES.glob("*.py")} == SCRIPTS.keys() | IMPORTED
    page = (EXAMPLES / "README.md").read_text()
    programs = [*EXAMPLES.glob("*.py"), *EXAMPLES.glob("*.mts"), *EXAMPLES.glob("*.ipynb")]
    assert [path.name for path in programs if path.name not in page] == []


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_runs(name: str, tmp_path: Path) -> None:
    env = {**user_env(tmp_path), "PYTHONPATH": str(Path(mcpool.__file__).parents[1])}
    command = [sys.executable, str(EXAMPLES / name)]
    ran = subprocess.run(command, capture_output=True, text=True, env=env, cwd=tmp_path, timeout=120)
    assert (ran.returncode, ran.stderr) == (0, "")
    for words in SCRIPTS[name]:
        assert words in ran.stdout


@pytest.fixture
def service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module of the web service."""
    monkeypatch.setenv("MCPOOL_CACHE_DIR", str(tmp_path))
    spec = importlib.util.spec_from_file_location("web_service", EXAMPLES / "web_service.py")
    assert spec is not None and spec.loader is not None
    service = importlib.util.module_from_spec(spec)
    # Annotations are looked up here.
    monkeypatch.setitem(sys.modules, "web_service", service)
    spec.loader.exec_module(service)
    return service


def test_the_web_service_serves(service: Any) -> None:
    with TestClient(service.app) as client:
        assert client.get("/health").json() == {"demo": "connected"}
        assert "mcp_demo_add" in client.get("/tools").json()
        answer = client.post("/tools/mcp_demo_add", json={"a": 2, "b": 40}).json()
        assert (answer["structured"], answer["isError"]) == ({"sum": 42}, False)


def test_the_web_service_tells_what_is_wrong(service: Any) -> None:
    with TestClient(service.app) as client:
        unknown = client.post("/tools/mcp_demo_ad", json={})
        said = {
            "code": "TOOL_REJECTED",
            "message": 'There is no tool "mcp_demo_ad"',
            "hint": 'did you mean "mcp_demo_add"?',
        }
        assert (unknown.status_code, unknown.json()) == (404, said)
        for body in ("[1]", "null", "{"):
            bad = client.post("/tools/mcp_demo_add", content=body)
            assert (bad.status_code, bad.json()["code"]) == (400, "INVALID_ARGUMENTS"), body
        assert client.get("/tools/mcp_demo_add").status_code == 405
        assert client.get("/nothing").status_code == 404


def test_an_aborted_request_of_the_web_service_cancels_its_call(service: Any, tmp_path: Path) -> None:
    service.CONFIG = config(demo=stdio(journal=tmp_path / "journal"))

    def received(method: str) -> bool:
        return any(entry.get("method") == method for entry in read_journal(tmp_path / "journal"))

    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = uvicorn.Server(uvicorn.Config(service.app, log_level="warning"))
        thread = threading.Thread(target=server.run, args=[[listener]])
        thread.start()
        with socket.create_connection(listener.getsockname()) as client:
            body = b'{"ms": 60000}'
            head = f"POST /tools/mcp_demo_sleep HTTP/1.1\r\nHost: a\r\nContent-Length: {len(body)}"
            client.sendall(head.encode() + b"\r\nContent-Type: application/json\r\n\r\n" + body)
            assert until(lambda: received("tools/call"))
            assert not received("notifications/cancelled")
        assert until(lambda: received("notifications/cancelled"))
        server.should_exit = True
        thread.join()
