"""Every process of the benchmark: workers that are asked line by line, one-shot programs, HTTP servers.

Owns their ends: each is started in a session of its own, ended by `close`, and whatever a killed worker leaves
behind comes back to the driver (it is their subreaper) and is ended by `sweep`. A process that misbehaves
raises `Failed` with a reason fit for the table.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import select
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping
from typing import Any

Answer = dict[str, Any]
PR_SET_CHILD_SUBREAPER = 36
_running: dict[int, Process] = {}


class Failed(Exception):
    """A contestant could not do its work; the text is shown in the table."""


class Process:
    """A child with a line protocol on its pipes."""

    def __init__(self, command: list[str], env: Mapping[str, str] | None = None, one_core: bool = False) -> None:
        self.stderr = tempfile.TemporaryFile()  # noqa: SIM115 (lives as long as the child)
        self.pending = b""
        allowed = os.sched_getaffinity(0)
        try:
            if one_core:  # inherited by the child and by the servers it starts
                os.sched_setaffinity(0, {max(allowed)})
            self.child = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self.stderr,
                env={**os.environ, **(env or {})},
                start_new_session=True,
            )
        except OSError as error:
            self.stderr.close()
            raise Failed(f"{command[0]}: {error.strerror}") from error
        finally:
            os.sched_setaffinity(0, allowed)
        _running[self.child.pid] = self

    def line(self, timeout: float) -> Answer:
        """The next line, as JSON."""
        assert self.child.stdout
        pipe, deadline = self.child.stdout.fileno(), time.monotonic() + timeout
        while b"\n" not in self.pending:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([pipe], [], [], left)[0]:
                raise Failed(f"no answer in {timeout:.0f} s")
            got = os.read(pipe, 1 << 16)
            if not got:
                raise Failed(self.last_words())
            self.pending += got
        line, _, self.pending = self.pending.partition(b"\n")
        try:
            answer: Answer = json.loads(line)
        except ValueError:
            raise Failed(f"not an answer: {line[:80]!r}") from None
        if "error" in answer:
            raise Failed(str(answer["error"]))
        return answer

    def ask(self, work: Mapping[str, Any], timeout: float = 120) -> Answer:
        assert self.child.stdin
        try:
            self.child.stdin.write(json.dumps(work).encode() + b"\n")
            self.child.stdin.flush()
        except OSError:
            raise Failed(self.last_words()) from None
        return self.line(timeout)

    def last_words(self) -> str:
        """Why it ended: the last line it wrote to stderr that looks like a reason."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.child.wait(5)
        self.stderr.seek(0)
        lines = self.stderr.read().decode(errors="replace").splitlines()
        lines = [line.strip(" |+-") for line in lines if line.strip(" |+-")]
        errors = [line for line in lines if "Error" in line.split(":")[0]]
        return (errors or lines or [f"ended with {self.child.returncode}"])[-1]

    def close(self, patience: float = 10) -> None:
        """Ends it: end of input first, then its whole group."""
        _running.pop(self.child.pid, None)
        with contextlib.suppress(OSError):
            if self.child.stdin:
                self.child.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.child.wait(patience)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.child.pid, signal.SIGKILL)
        self.child.wait()
        if self.child.stdout:
            self.child.stdout.close()
        self.stderr.close()


def once(command: list[str], env: Mapping[str, str] | None = None, timeout: float = 60) -> Answer:
    """Runs a program that prints one answer."""
    process = Process(command, env)
    try:
        return process.line(timeout)
    finally:
        process.close()


def adopt_orphans() -> None:
    """Makes this process the parent of whatever its workers leave behind."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def sweep() -> int:
    """Ends the orphans that came to us; says how many there were."""
    ended = 0
    while orphans := [pid for pid in _children() if pid not in _running]:
        for pid in orphans:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, 0)
            ended += 1
    return ended


def close_all() -> None:
    for process in list(_running.values()):
        process.close(patience=1)
    sweep()


def _children() -> list[int]:
    me, found = os.getpid(), []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            with contextlib.suppress(OSError), open(f"/proc/{entry}/stat", encoding="utf-8") as stat:
                # The name in the second field may hold spaces and brackets; the parent comes after the last one.
                if int(stat.read().rpartition(")")[2].split()[1]) == me:
                    found.append(int(entry))
    return found
