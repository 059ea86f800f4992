"""What every kind of work has: one contestant, its processes, and three steps.

`start` once, `sample` once per round, `finish` at the end.
"""

from __future__ import annotations

import json
from typing import Any

from .model import Contestant, Work
from .processes import Process, sweep
from .setup import BENCH, Place

# By the metric's key: a figure, or the word for having none ("never"). "note" goes to the end of the row.
Sample = dict[str, float | str]


class Kind:
    """One contestant in one work."""

    def __init__(self, place: Place, work: Work, contestant: Contestant, full: bool) -> None:
        self.place, self.work, self.contestant, self.full = place, work, contestant, full
        self.processes: list[Process] = []

    def start(self) -> None: ...

    def sample(self) -> Sample:
        raise NotImplementedError

    def finish(self) -> Sample:
        """What is known only at the end."""
        return {}

    def close(self, patience: float = 10) -> None:
        while self.processes:
            self.processes.pop().close(patience)
        sweep()

    def stdio(self, *knobs: str) -> dict[str, Any]:
        return {"command": self.place.fixture, "args": ["stdio", *knobs]}

    def http(self, *knobs: str) -> dict[str, Any]:
        return {"url": self.served("http", *knobs)}

    def network(self, transport: str) -> dict[str, Any]:
        return {"type": transport, "url": self.served(transport)}

    def served(self, transport: str, *knobs: str) -> str:
        process = Process([self.place.fixture, transport, "--port", "0", *knobs])
        self.processes.append(process)
        url: str = process.line(20)["url"]
        return url

    def program(self, script: str) -> list[str]:
        if self.contestant.language == "Python":
            python = self.place.pythons.get(self.contestant.venv, self.place.python)
            return [python, str(BENCH / "workers" / "python" / script)]
        return [self.place.node, str(BENCH / "workers" / "node" / script)]

    def worker(self, server: dict[str, Any] | None, env: dict[str, str] | None = None) -> Process:
        command = [*self.program(self.contestant.script), json.dumps(server)]
        worker = Process(command, {**self.contestant.env, **(env or {})}, self.work.one_core)
        self.processes.append(worker)
        worker.line(60)
        return worker
