"""The scripted server of `tests/fixture`, and what its journal tells of its processes."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(os.environ.get("MCPOOL_FIXTURE") or ROOT / "target" / "debug" / "mcpool-fixture")
PATIENCE = 60.0


def stdio(*knobs: str, journal: Path | None = None, **fields: Any) -> dict[str, Any]:
    """The definition of a server that runs the fixture over stdio."""
    notes = ["--journal", str(journal)] if journal else []
    return {"command": str(PROGRAM), "args": ["stdio", *knobs, *notes], **fields}


def config(**servers: dict[str, Any]) -> dict[str, Any]:
    """A config of these servers."""
    return {"mcpServers": servers}


@contextlib.contextmanager
def web(*knobs: str, transport: str = "http") -> Iterator[str]:
    """Runs the fixture over a network and gives its URL."""
    command = [str(PROGRAM), transport, *knobs]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            yield json.loads(process.stdout.readline())["url"]
        finally:
            process.kill()


def read_journal(file: Path) -> list[dict[str, Any]]:
    """The happenings so far; a line that is just being written is left out."""
    if not file.exists():
        return []
    lines = file.read_text().splitlines(keepends=True)
    return [json.loads(line) for line in lines if line.endswith("\n")]


def processes(file: Path) -> list[int]:
    """Every process that the journal names."""
    return [entry["pid"] for entry in read_journal(file) if "pid" in entry]


def lives(pid: int) -> bool:
    """Whether the process runs; a zombie that waits for its parent is no process any more."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return not stat.rpartition(")")[2].strip().startswith("Z")


def until(condition: Callable[[], object], patience: float = PATIENCE) -> bool:
    """Waits for the condition, and says whether it came true in time."""
    deadline = time.monotonic() + patience
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.005)
    return True


def all_gone(*journals: Path) -> bool:
    """Whether every process of these journals ends, and at least one was there."""
    pids = [pid for file in journals for pid in processes(file)]
    return bool(pids) and until(lambda: not any(lives(pid) for pid in pids))
