"""Every file of `tests/scenarios`, through the asyncio manager."""

from __future__ import annotations

from pathlib import Path

import pytest
import scenario
from fixture_server import ROOT

FILES = sorted((ROOT / "tests" / "scenarios").glob("*.json"))


def test_there_are_scenarios() -> None:
    assert FILES


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_scenario(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MCPOOL_SCENARIO", "outside")
    scenario.run(file, tmp_path)


def test_an_unknown_step_fails(tmp_path: Path) -> None:
    file = tmp_path / "unknown.json"
    file.write_text('{"config": {"mcpServers": {}}, "steps": [{"do": "dance"}]}')
    with pytest.raises(AssertionError, match="dance"):
        scenario.run(file, tmp_path)


def test_an_unknown_key_fails(tmp_path: Path) -> None:
    file = tmp_path / "unknown.json"
    file.write_text('{"config": {"mcpServers": {}}, "steps": [{"do": "tools", "colour": "blue"}]}')
    with pytest.raises(AssertionError, match="colour"):
        scenario.run(file, tmp_path)


@pytest.mark.parametrize(
    ("expected", "actual"),
    [("${any}", None), ("${has:b}", "a"), ({"a": 1}, {}), ([1], [1, 2]), (True, 1), (1, "1"), (None, 0)],
)
def test_what_differs_does_not_match(expected: object, actual: object) -> None:
    assert not scenario.matches(expected, actual)


@pytest.mark.parametrize(
    ("expected", "actual"),
    [("${any}", 0), ("${has:b}", "abc"), ({"a": 1}, {"a": 1.0, "b": 2}), ([], []), (None, None), ("x", "x")],
)
def test_what_is_alike_matches(expected: object, actual: object) -> None:
    assert scenario.matches(expected, actual)
