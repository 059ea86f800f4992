"""What all adapters promise: no framework is loaded unasked, and each has an extra."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import mcpool.adapters


def test_every_extra_is_for_an_adapter() -> None:
    folder = Path(mcpool.adapters.__file__).parent
    adapters = {file.stem.replace("_", "-") for file in folder.glob("[a-z]*.py")}
    project = (Path(__file__).parents[2] / "pyproject.toml").read_text()
    section = project.partition("[project.optional-dependencies]\n")[2].partition("\n[")[0]
    assert adapters <= set(re.findall(r"^([a-z-]+) = ", section, re.MULTILINE))


def test_importing_the_package_loads_no_framework() -> None:
    code = "import sys, mcpool, mcpool.adapters; print(*(name.partition('.')[0] for name in sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    frameworks = {"langchain_core", "agents", "pydantic_ai", "anthropic", "openai", "mcp", "pydantic"}
    assert not frameworks & set(loaded.stdout.split())
