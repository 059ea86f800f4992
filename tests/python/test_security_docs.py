"""The security model names a test for each attack; each of them is there."""

from __future__ import annotations

import re

from fixture_server import ROOT

ROWS = re.findall(r"^\|[^|]+\|[^|]+\| (`.+`) \|$", (ROOT / "docs/security.md").read_text(), re.MULTILINE)


def test_the_tests_of_the_security_model_exist() -> None:
    names = {name for row in ROWS for name in re.findall(r"`(\w+)`", row)}
    assert len(names) > 15
    sources = [*(ROOT / "core").rglob("*.rs"), *(ROOT / "tests/python").glob("test_*.py")]
    code = "\n".join(path.read_text() for path in sources if "target" not in path.parts)
    functions = set(re.findall(r"\b(?:fn|def) (\w+)", code))
    scenarios = {path.stem for path in (ROOT / "tests/scenarios").glob("*.json")}
    hazards = {path.stem for path in (ROOT / "core/tests").glob("*.rs")}
    assert names - functions - scenarios - hazards == set()
