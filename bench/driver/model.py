"""The words of the benchmark: who takes part, what is measured, what is aimed at. No behaviour but a comparison."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Contestant:
    label: str
    language: str  # "Python", "Node" or "C"
    script: str
    ours: bool = False
    extra: bool = False  # shown, but the goals are not for it
    env: dict[str, str] = field(default_factory=dict)
    module: str = ""  # what a program imports to use it


@dataclass(frozen=True)
class Metric:
    key: str
    label: str
    unit: str


@dataclass(frozen=True)
class Goal:
    sense: str  # "<", "≤", "≥", ">"
    limit: float
    text: str

    def met(self, value: float) -> bool:
        if self.sense == "<":
            return value < self.limit
        if self.sense == ">":
            return value > self.limit
        return value <= self.limit if self.sense == "≤" else value >= self.limit


@dataclass(frozen=True)
class Work:
    key: str
    title: str
    kind: str  # names a class in `kinds.py`
    contestants: list[Contestant]
    metrics: list[Metric]
    goals: dict[tuple[str, str | None], Goal]
    concurrency: int = 1
    http: bool = False
    one_core: bool = False  # client and server on the same CPU
