"""A notebook: cells await at their top level, in the kernel's running loop, and share one manager."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import nbformat
import pytest
from fixture_server import ROOT, all_gone, config, processes, stdio
from markup import Markup, is_harmless
from notebooks import execute, notebook, use_kernel

CELLS = [
    "import json, mcpool\nservers = json.loads({servers!r})",
    "manager = mcpool.Manager(servers)\n(await manager.connect_all()).connected",
    "(await manager.call_tool('a', 'echo', {'text': 'from a cell'})).text",
    "(await manager.call('mcp_a_echo', {'text': 'by name'})).text",
    "import asyncio\ncalls = [manager.call_tool('a', 'echo', {'text': str(n)}) for n in range(3)]\n"
    "[result.text for result in await asyncio.gather(*calls)]",
    "def block():\n  with mcpool.blocking.Manager(servers) as plain:\n"
    "    plain.connect_all()\n    print(plain.call_tool('a', 'echo', {'text': 'blocking'}).text)\n"
    "await asyncio.to_thread(block)",
    "await manager.close()\nmanager.status()[0].state",
]
BLOCKING = (
    "import mcpool.blocking\nwith mcpool.blocking.Manager(servers) as plain:\n"
    "    plain.connect_all()\n    print(plain.call_tool('a', 'echo', {'text': 'blocking'}).text)"
)
ANSWERS = ["['a']", "'from a cell'", "'by name'", "['0', '1', '2']", "blocking\n", "'disconnected'"]


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A kernel of this very interpreter, and a place of its own."""
    use_kernel(tmp_path, monkeypatch)
    return tmp_path


def shown(cells: list[str], where: Path) -> list[str]:
    """What each cell showed."""
    return [
        "".join(output.get("text") or output["data"]["text/plain"] for output in cell.outputs)
        for cell in execute(notebook(*cells), where).cells
    ]


def test_one_manager_serves_every_cell(kernel: Path) -> None:
    journal = kernel / "a.jsonl"
    first = CELLS[0].format(servers=json.dumps(config(a=stdio(journal=journal))))
    assert shown([first, *CELLS[1:]], kernel) == ["", *ANSWERS]
    assert len(processes(journal)) == 1 and all_gone(journal)


def test_a_cell_that_blocks_the_kernels_loop_is_warned(kernel: Path) -> None:
    cells = [CELLS[0].format(servers=json.dumps(config(a=stdio()))), BLOCKING]
    _, said = shown(cells, kernel)
    assert "blocking\n" in said and "RuntimeWarning" in said and "mcpool.Manager" in said


def test_a_kernel_that_ends_leaves_no_server(kernel: Path) -> None:
    journal = kernel / "a.jsonl"
    servers = json.dumps(config(a=stdio("--ignore-eof", journal=journal)))
    assert shown([CELLS[0].format(servers=servers), CELLS[1]], kernel) == ["", "['a']"]
    assert len(processes(journal)) == 1 and all_gone(journal)


def data(cell: Any) -> dict[str, str]:
    """All that a cell showed, by kind."""
    found: dict[str, str] = {}
    for output in cell.outputs:
        assert output.output_type in ("execute_result", "display_data", "stream"), output
        for kind, value in output.get("data", {"stream": output.get("text", "")}).items():
            found[kind] = found.get(kind, "") + str(value)
    return found


def test_the_tour_shows_what_it_says(tour: Any) -> None:
    outputs = [data(cell) for cell in tour.cells if cell.cell_type == "code"]
    pages = [Markup(output["text/html"]) for output in outputs if "text/html" in output]
    assert all(is_harmless(page) for page in pages)
    said = [page.text() for page in pages]
    for number, words in enumerate(
        (
            "2 of 3 servers connected",
            "2 connected",
            "7 tools",
            "mcp_demo_add",
            "Hello, Ada!",
            "A sine wave with 3 periods",
            "structured",
            "is_error",
            "TOOL_REJECTED",
            "3 disconnected",
        )
    ):
        assert words in said[number], (number, said[number])
    assert len(pages) == 10 and len(pages[5].all("img")) == 1
    plain = "".join(output.get("stream", "") + output.get("text/plain", "") for output in outputs)
    for words in (
        "48 points",
        "CONNECTION_LOST retryable: True",
        "'A sine wave with 1 periods'",
        "pictures reconnecting",
        "pictures connected",
        "('Hello, another loop!', \"Hello, the notebook's loop!\")",
        "'Hello, plain code!'",
    ):
        assert words in plain, words
    assert [output for output in outputs if "application/vnd.jupyter.widget-view+json" in output]


def test_the_tour_is_committed_without_outputs() -> None:
    content = nbformat.read(ROOT / "examples" / "tour.ipynb", 4)  # type: ignore[no-untyped-call]
    code = [cell for cell in content.cells if cell.cell_type == "code"]
    assert code and not any(cell.outputs or cell.execution_count for cell in code)
