"""Notebooks for tests: a kernel of this very interpreter, execution, and the page of the outputs."""

from __future__ import annotations

import copy
import json
import sys
from pathlib import Path
from typing import Any

import mcpool
import nbformat
import pytest
from nbclient import NotebookClient
from nbconvert import HTMLExporter

KERNEL = "mcpool-test"


def make_kernel(folder: Path) -> dict[str, str]:
    """Writes the kernel's description; gives the environment in which it is the one that is found."""
    spec = folder / "jupyter" / "kernels" / KERNEL
    spec.mkdir(parents=True)
    command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    # The kernel finds the package where this interpreter does, wherever it runs.
    env = {"PYTHONPATH": str(Path(mcpool.__file__).parents[1])}
    fields = {"argv": command, "display_name": "test", "language": "python", "env": env}
    (spec / "kernel.json").write_text(json.dumps(fields))
    return {
        "JUPYTER_PATH": str(folder / "jupyter"),
        "JUPYTER_DATA_DIR": str(folder / "jupyter"),
        "JUPYTER_CONFIG_DIR": str(folder / "config"),
        "JUPYTER_RUNTIME_DIR": str(folder / "runtime"),
        "IPYTHONDIR": str(folder / "ipython"),
    }


def use_kernel(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes it the kernel of whatever is executed."""
    for name, value in make_kernel(folder).items():
        monkeypatch.setenv(name, value)


def notebook(*cells: str) -> Any:
    """A notebook of these code cells."""
    code = [nbformat.v4.new_code_cell(cell) for cell in cells]  # type: ignore[no-untyped-call]
    metadata = {"kernelspec": {"name": KERNEL, "display_name": "test", "language": "python"}}
    return nbformat.v4.new_notebook(cells=code, metadata=metadata)  # type: ignore[no-untyped-call]


def execute(content: Any, where: Path) -> Any:
    """Runs all cells in a kernel; a cell that raises fails the test."""
    resources = {"metadata": {"path": str(where)}}
    NotebookClient(content, timeout=120, kernel_name=KERNEL, resources=resources).execute()
    return content


def page(content: Any, theme: str = "light") -> str:
    """The notebook as a page of its own, which needs nothing from elsewhere."""
    exporter = HTMLExporter(theme=theme)  # type: ignore[no-untyped-call]
    # What shows widgets in a page is a program from elsewhere.
    content = copy.deepcopy(content)
    content.metadata.pop("widgets", None)
    for address in (
        "require_js_url",
        "jquery_url",
        "mathjax_url",
        "mermaid_js_url",
        "jupyter_widgets_base_url",
    ):
        setattr(exporter, address, "")
    html, _ = exporter.from_notebook_node(content)
    return str(html)
