"""The workflows do nothing that cannot be tried here: each step is a pinned action or a make target."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from fixture_server import ROOT

WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
MAKEFILES = [ROOT / "Makefile", *sorted((ROOT / "make").glob("*.mk"))]
TARGETS = {
    target
    for makefile in MAKEFILES
    for line in re.findall(r"^([\w -]+):(?!=)", makefile.read_text(), re.MULTILINE)
    for target in line.split()
}


def test_there_are_workflows() -> None:
    assert [path.stem for path in WORKFLOWS] == ["audit", "docs", "packages", "release", "test"]


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_every_action_is_pinned_to_a_commit(workflow: Path) -> None:
    for action, rest in re.findall(r"\buses: (\S+)(.*)$", workflow.read_text(), re.MULTILINE):
        if not action.startswith("./"):
            assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", action), action
            assert re.fullmatch(r" # v\d+\.\d+\.\d+", rest), action


def test_an_action_has_one_commit_everywhere() -> None:
    pins: dict[str, set[str]] = {}
    for workflow in WORKFLOWS:
        for action, pin in re.findall(r"\buses: (\S+)@(.+)$", workflow.read_text(), re.MULTILINE):
            pins.setdefault(action, set()).add(pin)
    assert [action for action, commits in pins.items() if len(commits) != 1] == []


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_every_command_is_a_target_of_the_makefile(workflow: Path) -> None:
    text = workflow.read_text()
    for command in re.findall(r"\brun: (.+)$", text, re.MULTILINE):
        program, *targets = command.split()
        assert program == "make", command
        if targets == ["$TARGETS"]:
            targets = [
                name
                for names in re.findall(r"^ +targets: (.+)$", text, re.MULTILINE)
                for name in names.split()
            ]
        assert targets
        assert set(targets) <= TARGETS, command


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_may_do_nothing_that_a_job_does_not_ask_for(workflow: Path) -> None:
    text = workflow.read_text()
    assert "\npermissions: {}\n" in text
    assert "pull_request_target" not in text
    assert text.count("actions/checkout@") == text.count("persist-credentials: false")
