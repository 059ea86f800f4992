"""Every file of `tests/scenarios`, through the asyncio manager."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import scenario
from fixture_server import ROOT
from scenario_steps import TABLE, variants

FILES = sorted((ROOT / "tests" / "scenarios").glob("*.json"))
RUNS = [(file, variant) for file in FILES for variant in variants(json.loads(file.read_text()))]
RUN_NAMES = [file.stem + (f"[{variant}]" if variant else "") for file, variant in RUNS]


def test_there_are_scenarios() -> None:
    assert FILES


def test_no_scenario_is_longer_than_150_lines() -> None:
    assert [file.stem for file in FILES if len(file.read_text().splitlines()) > 150] == []


@pytest.mark.parametrize(("file", "variant"), RUNS, ids=RUN_NAMES)
def test_scenario(file: Path, variant: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MCPOOL_SCENARIO", "outside")
    scenario.run(file, tmp_path, variant)


@pytest.mark.parametrize(
    ("step", "problem"),
    [
        ({"do": "dance"}, "dance"),
        ({"do": "tools", "colour": "blue"}, "colour"),
        ({"do": "connect"}, "server"),
        ({"do": "start", "as": "x", "step": {"do": "dance"}}, "dance"),
        ({"do": "parallel", "steps": [{"do": "tools", "colour": "blue"}]}, "colour"),
    ],
)
def test_a_step_that_is_not_in_the_table_fails(step: object, problem: str, tmp_path: Path) -> None:
    file = tmp_path / "unknown.json"
    content = {"about": "x", "spec": [], "config": {"mcpServers": {}}, "steps": [step]}
    file.write_text(json.dumps(content))
    with pytest.raises(AssertionError, match=problem):
        scenario.run(file, tmp_path)


@pytest.mark.parametrize(("transports", "problem"), [(["pigeon"], "pigeon"), ([], "empty")])
def test_transports_that_are_not_in_the_table_fail(
    transports: list[str], problem: str, tmp_path: Path
) -> None:
    file = tmp_path / "unknown.json"
    content = {"about": "x", "spec": [], "config": {"mcpServers": {}}, "steps": [], "transports": transports}
    file.write_text(json.dumps(content))
    with pytest.raises(AssertionError, match=problem):
        scenario.run(file, tmp_path, "stdio")


def test_a_fixture_runs_over_the_transport_that_it_names(tmp_path: Path) -> None:
    file = tmp_path / "fixtures.json"
    steps = [
        {"do": verb, "fixture": name}
        for name in ("plain", "http", "sse", "websocket")
        for verb in ("end_fixture", "start_fixture", "end_fixture")
    ]
    file.write_text(
        json.dumps(
            {
                "about": "x",
                "spec": [],
                "fixtures": {"plain": [], **{name: [name] for name in TABLE["transports"]}},
                "config": {"mcpServers": {"a": "${stdio:server}", "b": "${http:server}"}},
                "steps": [{"do": "connect_all", "expect": {"connected": ["a", "b"]}}, *steps],
            }
        )
    )
    scenario.run(file, tmp_path)


def test_a_whole_value_is_replaced_and_spread() -> None:
    names = {"dir": "/d", "web:server": {"url": "u", "type": "http"}}
    value = {"a": "${web:server}", "b": {"...": "${web:server}", "type": "x"}, "c": ["${dir}/f"]}
    server = {"url": "u", "type": "http"}
    assert scenario.fill(value, names) == {"a": server, "b": {"url": "u", "type": "x"}, "c": ["/d/f"]}


def test_every_step_of_the_table_is_used() -> None:
    def names(steps: list[dict[str, Any]]) -> set[str]:
        inner = [inner for step in steps for inner in [step.get("step"), *step.get("steps", [])] if inner]
        return {step["do"] for step in steps} | (names(inner) if inner else set())

    used = set[str]().union(*(names(json.loads(file.read_text())["steps"]) for file in FILES))
    assert used == TABLE["steps"].keys()


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
