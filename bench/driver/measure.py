"""The turns: one contestant at a time, all of them in every round.

Every round begins with another contestant, so that slow changes of the machine meet them all alike. A contestant
that fails is out of that work, with its reason; the others go on.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field

from .kind import Sample
from .kinds import KINDS
from .model import Work
from .processes import Failed
from .setup import Place


@dataclass
class Measured:
    """What came out of a work: per contestant the samples of its rounds, or why it has none."""

    work: Work
    samples: dict[str, list[Sample]] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)


def measure(place: Place, work: Work, rounds: int, full: bool) -> Measured:
    measured = Measured(work)
    kinds = {c.label: KINDS[work.kind](place, work, c, full) for c in work.contestants}

    def attempt(label: str, step: Callable[[str], None]) -> None:
        if label in measured.failed:
            return
        try:
            step(label)
        except Failed as failure:
            measured.failed[label] = str(failure)[:200]
            print(f"  {label} failed: {measured.failed[label]}", file=sys.stderr, flush=True)
            kinds[label].close()

    def start(label: str) -> None:
        kinds[label].start()

    def sample(label: str) -> None:
        measured.samples.setdefault(label, []).append(kinds[label].sample())

    def finish(label: str) -> None:
        measured.samples[label][0].update(kinds[label].finish())

    labels = list(kinds)
    try:
        for label in labels:
            attempt(label, start)
        for turn in range(rounds):
            shift = turn % len(labels)
            for label in labels[shift:] + labels[:shift]:
                attempt(label, sample)
        for label in labels:
            attempt(label, finish)
    finally:
        for kind in kinds.values():
            kind.close()
    return measured
