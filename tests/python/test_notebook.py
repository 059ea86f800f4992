"""A notebook: cells await at their top level, in the kernel's running loop, and share one manager."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import mcpool
import nbformat
import pytest
from fixture_server import all_gone, config, processes, stdio
from nbclient import NotebookClient

CELLS = [
    "import sys; sys.path.insert(0, {package!r})\nimport json, mcpool\nservers = json.loads({servers!r})",
    "manager = mcpool.Manager(servers)\n(await manager.connect_all()).connected",
    "(await manager.call_tool('a', 'echo', {'text': 'from a cell'})).text",
    "(await manager.call('mcp_a_echo', {'text': 'by name'})).text",
    "import asyncio\ncalls = [manager.call_tool('a', 'echo', {'text': str(n)}) for n in range(3)]\n"
    "[result.text for result in await asyncio.gather(*calls)]",
    "import mcpool.blocking\nwith mcpool.blocking.Manager(servers) as plain:\n"
    "    plain.connect_all()\n    print(plain.call_tool('a', 'echo', {'text': 'blocking'}).text)",
    "await manager.close()\nmanager.status()[0].state",
]
ANSWERS = ["['a']", "'from a cell'", "'by name'", "['0', '1', '2']", "blocking\n", "'disconnected'"]


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A kernel of this very interpreter, in a place of its own."""
    spec = tmp_path / "jupyter" / "kernels" / "mcpool-test"
    spec.mkdir(parents=True)
    command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    fields = {"argv": command, "display_name": "test", "language": "python"}
    (spec / "kernel.json").write_text(json.dumps(fields))
    for variable in ("JUPYTER_PATH", "JUPYTER_DATA_DIR"):
        monkeypatch.setenv(variable, str(tmp_path / "jupyter"))
    monkeypatch.setenv("JUPYTER_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "runtime"))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    return "mcpool-test"


def execute(cells: list[str], kernel: str) -> list[str]:
    """What each cell showed."""
    code = [nbformat.v4.new_code_cell(cell) for cell in cells]  # type: ignore[no-untyped-call]
    notebook = nbformat.v4.new_notebook(cells=code)  # type: ignore[no-untyped-call]
    NotebookClient(notebook, timeout=60, kernel_name=kernel).execute()
    return [
        "".join(output.get("text") or output["data"]["text/plain"] for output in cell.outputs)
        for cell in notebook.cells
    ]


def test_one_manager_serves_every_cell(kernel: str, tmp_path: Path) -> None:
    journal = tmp_path / "a.jsonl"
    servers = json.dumps(config(a=stdio(journal=journal)))
    package = str(Path(mcpool.__file__).parents[1])
    first = CELLS[0].format(package=package, servers=servers)
    assert execute([first, *CELLS[1:]], kernel) == ["", *ANSWERS]
    assert len(processes(journal)) == 1 and all_gone(journal)


def test_a_kernel_that_ends_leaves_no_server(kernel: str, tmp_path: Path) -> None:
    journal = tmp_path / "a.jsonl"
    servers = json.dumps(config(a=stdio("--ignore-eof", journal=journal)))
    package = str(Path(mcpool.__file__).parents[1])
    assert execute([CELLS[0].format(package=package, servers=servers), CELLS[1]], kernel) == ["", "['a']"]
    assert len(processes(journal)) == 1 and all_gone(journal)
