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
    transport: str = ""  # in place of the work's own: "http", "sse" or "websocket"
    venv: str = ""  # its own, for a peer whose requirements do not go with the others'


@dataclass(frozen=True)
class Metric:
    key: str
    label: str
    unit: str
    alone: bool = False  # our own figure only, not set against the peers'


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
    servers: int = 1
    http: bool = False
    one_core: bool = False  # client and server on the same CPU
    timeout_ms: int | None = None  # what the clients are told; None leaves them their own
    cached: bool = False  # the servers have been listed in an earlier session
    most_rounds: int | None = None  # for works that take long and vary little
