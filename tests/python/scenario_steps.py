"""Which steps a scenario may have, and which keys a step takes: `tests/scenario-steps.json`."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from fixture_server import ROOT

TABLE = json.loads((ROOT / "tests" / "scenario-steps.json").read_text())
TRANSPORTS = TABLE["transports"]


def check_scenario(scenario: dict[str, Any]) -> None:
    """Refuses unknown steps, unknown keys and missing keys, before the first step runs."""
    rule = TABLE["scenario"]
    check_keys("the scenario", scenario, rule["required"], rule["optional"])
    for variant in variants(scenario):
        assert variant is None or variant.split(" ")[0] in TRANSPORTS, f"there is no transport {variant!r}"
    assert scenario.get("transports") != [], "transports is empty"
    for step in scenario["steps"]:
        check_step(step)


# On Linux, the tests run so too.
IS_PORTABLE = sys.platform != "linux" or os.environ.get("MCPOOL_PORTABLE") == "1"


def variants(scenario: dict[str, Any]) -> list[str | None]:
    """The transports of a scenario; None stands for a scenario without them. Empty if it is not run here."""
    if IS_PORTABLE and scenario.get("linux_only"):
        return []
    return scenario.get("transports") or [None]


def is_without_manager(step: dict[str, Any]) -> bool:
    """Whether a step is about no manager."""
    return bool(TABLE["steps"][step["do"]].get("without_manager", False))


def check_step(step: dict[str, Any]) -> None:
    rule = TABLE["steps"].get(step["do"])
    assert rule is not None, f"there is no step {step['do']!r}"
    options = TABLE["call_options"] if rule.get("is_call") else []
    optional = [*rule.get("optional", []), *options, *TABLE["every_step"]]
    check_keys(step["do"], step, rule.get("required", []), optional)
    for inner in [*([step["step"]] if "step" in step else []), *step.get("steps", [])]:
        check_step(inner)


def check_keys(what: str, given: dict[str, Any], required: list[str], optional: list[str]) -> None:
    unknown = given.keys() - {*required, *optional}
    assert not unknown, f"{what}: unknown keys {unknown}"
    missing = set(required) - given.keys()
    assert not missing, f"{what} needs {missing}"
