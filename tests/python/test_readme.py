"""The examples of the README and of docs/ are run: every Python block that begins with `# run`."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import mcpool
import pytest
from fixture_server import ROOT
from user_home import user_env

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def examples(page: Path) -> list[str]:
    """The blocks to run."""
    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)
    return [block for block in blocks if block.startswith("# run")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_has_examples_to_run(page: Path) -> None:
    assert examples(page)


@pytest.mark.parametrize("example", [block for page in PAGES for block in examples(page)])
def test_an_example_runs(example: str, tmp_path: Path) -> None:
    # What the machine's user has configured is nobody's business here.
    env = user_env(tmp_path / "home")
    # The command line that an example may name is the one beside this interpreter.
    env["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), env["PATH"]])
    env["PYTHONPATH"] = str(Path(mcpool.__file__).parents[1])
    command = [sys.executable, "-c", example]
    ran = subprocess.run(command, capture_output=True, text=True, env=env, cwd=tmp_path, timeout=120)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout
    assert ran.stderr == ""
