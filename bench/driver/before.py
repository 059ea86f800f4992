"""An older build of mcpool beside this one, on the call path: both faces, in the same turns, with goals of its own.

A build is a directory that `bench/keep` made: `python/mcpool` and `node`.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from .model import Contestant, Goal, Work

LABEL = "mcpool before"
CALL_PATH = ("calls", "big")
AS_FAST = Goal("≥", 0.95, "≥ 0.95 ×")
AS_SHORT = Goal("≤", 1.05, "≤ 1.05 ×")
GOALS = {"calls_s": AS_FAST, "cpu_us": AS_SHORT, "p50_us": AS_SHORT, "call_ms": AS_SHORT}


def environment(build: Path) -> dict[str, str]:
    """What makes a worker load this build."""
    return {"PYTHONPATH": str(build / "python"), "BENCH_MCPOOL_NODE": str(build / "node")}


def of_build(works: list[Work], build: Path) -> list[Work]:
    """The same works with this build as ours."""
    env = environment(build)
    return [
        replace(work, contestants=[replace(c, env={**c.env, **env}) if c.ours else c for c in work.contestants])
        for work in works
    ]


def beside(works: list[Work], build: Path) -> list[Work]:
    """The works of the call path with this build as one more peer; the others as they are."""
    return [_beside(work, build) if work.kind in CALL_PATH else work for work in works]


def ours_only(works: list[Work]) -> list[Work]:
    """The works without the others: more rounds in the same time."""
    kept = [(work, [c for c in work.contestants if c.ours or c.label == LABEL]) for work in works]
    return [replace(work, contestants=contestants) for work, contestants in kept]


def _beside(work: Work, build: Path) -> Work:
    ours = next(c for c in work.contestants if c.ours)
    before = Contestant(LABEL, ours.language, ours.script, env=environment(build))
    goals = {(m.key, LABEL): GOALS[m.key] for m in work.metrics if m.key in GOALS}
    return replace(work, contestants=[ours, before, *work.contestants[1:]], goals={**work.goals, **goals})
