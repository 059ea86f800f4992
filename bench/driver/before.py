"""An older build of mcpool beside this one: both faces, in the same turns, with goals of its own.

A build is a directory that `bench/keep` made: `python/mcpool` and `node`.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from .model import Contestant, Goal, Work

LABELS = {"Python": "mcpool before", "Node": "before (Node)"}
# What a program loads and how it is asked is the same in both builds.
COMPARED = ("calls", "big", "showing", "listing", "gathering", "idling", "recovering")
AS_FAST = Goal("≥", 0.95, "≥ 0.95 ×")
AS_SHORT = Goal("≤", 1.05, "≤ 1.05 ×")
# Whole processes and single moments vary more than many calls in a row.
AS_SMALL = Goal("≤", 1.1, "≤ 1.1 ×")
GOALS = {
    "calls_s": AS_FAST,
    **dict.fromkeys(("cpu_us", "p50_us", "call_ms"), AS_SHORT),
    **dict.fromkeys(("connection_kb", "unread_kb", "idle_ms", "peak_mb", "peak_later_mb"), AS_SMALL),
    **dict.fromkeys(("chain_ms", "names_ms", "schemas_ms", "wall_ms", "recovery_ms", "first_wall_ms"), AS_SMALL),
}


def environment(build: Path) -> dict[str, str]:
    """What makes a worker load this build."""
    return {"PYTHONPATH": str(build / "python"), "BENCH_MCPOOL_NODE": str(build / "node")}


def of_build(works: list[Work], build: Path) -> list[Work]:
    """The same works with this build as ours."""
    env = environment(build)
    return [
        replace(work, contestants=[replace(c, env={**c.env, **env}) if _is_mcpool(c) else c for c in work.contestants])
        for work in works
    ]


def _is_mcpool(contestant: Contestant) -> bool:
    return contestant.ours or contestant.script.startswith("mcpool")


def beside(works: list[Work], build: Path) -> list[Work]:
    """The works with this build as one more peer, where it can do them."""
    return [_beside(work, build) if work.kind in COMPARED else work for work in works]


def ours_only(works: list[Work]) -> list[Work]:
    """The works without the others: more rounds in the same time."""
    kept = [(work, [c for c in work.contestants if _is_mcpool(c) or c.label in LABELS.values()]) for work in works]
    return [replace(work, contestants=contestants) for work, contestants in kept]


def _beside(work: Work, build: Path) -> Work:
    ours = [c for c in work.contestants if c.ours and not c.extra]
    before = [replace(c, label=LABELS[c.language], ours=False, env=environment(build)) for c in ours]
    goals = {(m.key, c.label): GOALS[m.key] for m in work.metrics if m.key in GOALS for c in before}
    return replace(work, contestants=[*work.contestants, *before], goals={**work.goals, **goals})
