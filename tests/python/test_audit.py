"""The audit tells a finding from a service that did not answer, and never takes silence for a good answer."""

from __future__ import annotations

import json
import sys

import pytest
from fixture_server import ROOT

sys.path.append(str(ROOT / "release"))
from audit import Answer, Ran, judge_crates, judge_npm, judge_pip, judge_policy

WEAK = {"name": "urllib3", "version": "1.0", "vulns": [{"id": "PYSEC-1"}]}
GOOD = {"name": "idna", "version": "3.20", "vulns": []}
SKIPPED = {"name": "idna", "skip_reason": "could not be audited"}


def pip(*packages: object) -> Ran:
    return Ran(0, json.dumps({"dependencies": packages}), "")


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (judge_policy(Ran(0, "", "")), Answer()),
        (judge_policy(Ran(4, "", "error[rejected]")), Answer(found="error[rejected]")),
        (judge_policy(Ran(101, "", "")), Answer(found="it ended with 101 and said nothing")),
        (judge_crates(Ran(0, "", "")), Answer()),
        (judge_crates(Ran(1, "", "error[vulnerability]")), Answer(found="error[vulnerability]")),
        (
            judge_crates(Ran(1, "", "failed to fetch advisory database")),
            Answer(unasked="failed to fetch advisory database"),
        ),
        (judge_npm(Ran(0, '{"vulnerabilities": {}}', "")), Answer()),
        (
            judge_npm(Ran(1, '{"vulnerabilities": {"x": {"severity": "high", "range": "<2"}}}', "")),
            Answer(found="x: high, <2"),
        ),
        (
            judge_npm(Ran(1, '{"message": "405 Method Not Allowed"}', "")),
            Answer(unasked="405 Method Not Allowed"),
        ),
        (judge_npm(Ran(0, "", "")), Answer(unasked="it ended with 0 and said nothing")),
        (judge_npm(Ran(1, "", "npm: not found")), Answer(unasked="npm: not found")),
        (judge_pip(pip(GOOD)), Answer()),
        (judge_pip(pip(GOOD, WEAK)), Answer(found="urllib3 1.0: PYSEC-1")),
        (judge_pip(pip(SKIPPED)), Answer(unasked="could not be audited")),
        (judge_pip(pip({"name": "mcpool", "skip_reason": "not published"})), Answer()),
        (judge_pip(Ran(1, "", "ConnectionError")), Answer(unasked="ConnectionError")),
    ],
)
def test_an_answer_is_read_as_what_it_is(answer: Answer, expected: Answer) -> None:
    assert answer == expected
