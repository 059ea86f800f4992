"""Servers that get lost or into trouble: how soon the next call goes well, how long the others wait.

Figures here may be words: a client that does not come back in time has no figure.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from .kind import Kind, Sample

SCRIPTS = Path(__file__).parent.parent / "servers"
PATIENCE_S = 3
HANGING = EXITING = 5


class Recovering(Kind):
    """`kill -9` of an idle server, then calls until one goes well. Every sample has a new connection, whose start
    is measured too: a second loss of the same one is met with a delay, by design."""

    def start(self) -> None:
        self.connected = self.worker(None)
        self.sample()

    def sample(self) -> Sample:
        took = self.connected.ask({"work": "recover", "server": self.stdio(), "patience_s": PATIENCE_S})
        start_ms = took["start_s"] * 1e3
        if took["recovery_s"] is None:
            return {"recovery_ms": "never", "start_ms": start_ms, "over_ms": "never", "why": took["why"]}
        recovery_ms = took["recovery_s"] * 1e3
        return {"recovery_ms": recovery_ms, "start_ms": start_ms, "over_ms": recovery_ms - start_ms}


class Troubled(Kind):
    """Many servers at once, some of which hang and some of which exit, each time in a new process."""

    def start(self) -> None:
        self.scratch = Path(tempfile.mkdtemp(prefix="mcpool-bench-"))
        self.held = self.scratch / "held"
        self.cache = self.scratch / "cache"
        if self.work.cached and self.contestant.ours:
            self.connect_all()
        self.held.write_text("hold")

    def sample(self) -> Sample:
        if not self.work.cached:
            shutil.rmtree(self.cache, ignore_errors=True)
        took = self.connect_all()
        return {"wall_ms": took["word"] or took["wall_s"] * 1e3, "note": self.note(took)}

    def connect_all(self) -> dict[str, Any]:
        work = {"work": "trouble", "servers": self.servers(), "timeout_ms": self.work.timeout_ms}
        bound_s = self.bound_s()
        worker = self.worker(None, {"MCPOOL_CACHE_DIR": str(self.cache)})
        try:
            return worker.ask({**work, "bound_s": bound_s}, timeout=bound_s + 30)
        finally:
            super().close(patience=1)

    def bound_s(self) -> float:
        return 5 if self.work.timeout_ms is None else 5 + 5 * self.work.timeout_ms / 1000

    def servers(self) -> dict[str, Any]:
        healthy = self.work.servers - HANGING - EXITING
        return {
            **{f"healthy{index}": self.stdio() for index in range(healthy)},
            **{f"hanging{index}": self.stdio("--hold", f"initialize={self.held}") for index in range(HANGING)},
            **{f"exiting{index}": self.stdio("--exit-at", "start") for index in range(EXITING)},
        }

    def note(self, took: dict[str, Any]) -> str:
        healthy = [name for name in self.servers() if name.startswith("healthy")]
        told = f"tools of {len(set(took['live']).intersection(healthy))}/{len(healthy)} healthy"
        return f"{told}, {len(took['deferred'])} deferred" if took["deferred"] else told

    def close(self, patience: float = 10) -> None:
        super().close(patience)
        shutil.rmtree(self.scratch, ignore_errors=True)


class Interpreted(Troubled):
    """Many servers whose start is an interpreter's: more CPU than the machine has for all of them at once."""

    def bound_s(self) -> float:
        return 60

    def servers(self) -> dict[str, Any]:
        kinds = [(sys.executable, "plain.py"), ("node", "plain.mjs")]
        chosen = (kinds[index % len(kinds)] for index in range(self.work.servers))
        return {
            f"healthy{index}": {"command": program, "args": [str(SCRIPTS / script)]}
            for index, (program, script) in enumerate(chosen)
        }
