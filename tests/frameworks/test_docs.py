"""The examples of docs/adapters.md that begin with `# with <framework>`, each in its framework's environment.

`example(script)` of tests/frameworks/test_<framework>.py gives the names that they take for granted, with a
model or a client that follows the script.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
import sys
from typing import Any

import pytest
from fixture_server import ROOT
from script import Script

PAGE = ROOT / "docs" / "adapters.md"
CONFIG = {"mcpServers": {"demo": {"command": sys.executable, "args": ["-m", "mcpool", "demo-server"]}}}
BLOCK = re.compile(r"^```python\n(# with (\w+)\n.*?)^```", re.DOTALL | re.MULTILINE)


def examples() -> list[Any]:
    """Those for this environment, of which one is CrewAI's own."""
    alone = importlib.util.find_spec("crewai") is not None
    found = [(name, block) for block, name in BLOCK.findall(PAGE.read_text()) if (name == "crewai") is alone]
    return [pytest.param(*each, id=f"{each[0]}-{number}") for number, each in enumerate(found)]


def test_the_page_has_examples_for_this_environment() -> None:
    assert examples()


@pytest.mark.parametrize(("framework", "block"), examples())
def test_an_example_runs(framework: str, block: str, capsys: pytest.CaptureFixture[str]) -> None:
    script = Script([("mcp_demo_add", {"a": 2, "b": 40})], "It is 42.")
    given = importlib.import_module(f"test_{framework}").example(script)
    exec(compile(block, str(PAGE), "exec"), {"__name__": "__main__", "CONFIG": CONFIG, **given})
    assert script.spoken()
    assert "It is 42." in capsys.readouterr().out
