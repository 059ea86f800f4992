"""The examples of the README are run: every Python block that begins with `# run`."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import mcpool
import pytest
from fixture_server import ROOT

README = ROOT / "README.md"


def examples() -> list[str]:
    """The blocks to run."""
    if not README.exists():
        return []
    blocks = re.findall(r"^```python\n(.*?)^```", README.read_text(), re.DOTALL | re.MULTILINE)
    return [block for block in blocks if block.startswith("# run")]


def test_the_readme_has_examples_to_run() -> None:
    assert examples()


@pytest.mark.parametrize("example", examples())
def test_an_example_runs(example: str, tmp_path: Path) -> None:
    # The command line that an example may name is the one beside this interpreter.
    search = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    env = {**os.environ, "PATH": search, "PYTHONPATH": str(Path(mcpool.__file__).parents[1])}
    command = [sys.executable, "-c", example]
    ran = subprocess.run(command, capture_output=True, text=True, env=env, cwd=tmp_path, timeout=120)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout
    assert ran.stderr == ""
