"""The Python programs of examples/ run as a user runs them.

`test_notebook.py` runs the notebook, `tests/node` the Node programs, `core/tests` the Rust program.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import mcpool
import pytest
from fixture_server import ROOT
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


def test_the_web_service_serves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MCPOOL_CACHE_DIR", str(tmp_path))
    spec = importlib.util.spec_from_file_location("web_service", EXAMPLES / "web_service.py")
    assert spec is not None and spec.loader is not None
    service = importlib.util.module_from_spec(spec)
    # Annotations are looked up here.
    monkeypatch.setitem(sys.modules, "web_service", service)
    spec.loader.exec_module(service)
    with TestClient(service.app) as client:
        assert client.get("/health").json() == {"demo": "connected"}
        assert "mcp_demo_add" in client.get("/tools").json()
        answer = client.post("/tools/mcp_demo_add", json={"a": 2, "b": 40}).json()
        assert (answer["structured"], answer["is_error"]) == ({"sum": 42}, False)
        assert client.post("/tools/mcp_demo_dance", json={}).status_code == 404
