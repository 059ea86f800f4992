"""What a run needs before it can begin: the peers from the registries, the C floor, the fixture server."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

BENCH = Path(__file__).resolve().parent.parent
ROOT = BENCH.parent
PEERS = BENCH / ".peers"
OWN_VENVS = ("langchain",)


class NotReady(Exception):
    """Something is missing without which nothing can be measured."""


@dataclass(frozen=True)
class Place:
    """Where the programs of this run are."""

    python: str
    pythons: dict[str, str]  # of the peers that have an environment of their own
    node: str
    fixture: str
    connect: str  # the C floor


def install_peers(own_python: str | None) -> None:
    """Installs the pinned peers, unless this very set is there already. An interpreter that was given by hand
    is left as it is."""
    PEERS.mkdir(exist_ok=True)
    if own_python is None:
        _install_python("venv", "requirements.txt")
    for name in OWN_VENVS:
        _install_python(f"venv-{name}", f"requirements-{name}.txt")
    if not _same(PEERS / "node.stamp", BENCH / "package.json"):
        _say("installing the Node peers")
        shutil.copy(BENCH / "package.json", PEERS / "package.json")
        quiet = ["--no-package-lock", "--no-audit", "--no-fund", "--loglevel=error"]
        _do(["npm", "install", *quiet, "--prefix", str(PEERS)])
        _stamp(PEERS / "node.stamp", BENCH / "package.json")


def _install_python(venv: str, requirements: str) -> None:
    stamp = PEERS / ("python.stamp" if venv == "venv" else f"{venv}.stamp")
    if _same(stamp, BENCH / requirements):
        return
    _say(f"installing the Python peers of {requirements}")
    _do([sys.executable, "-m", "venv", str(PEERS / venv)])
    pip = [_interpreter(venv), "-m", "pip", "install", "--disable-pip-version-check"]
    _do([*pip, "--quiet", "-r", str(BENCH / requirements)])
    _stamp(stamp, BENCH / requirements)


def _interpreter(venv: str) -> str:
    return str(PEERS / venv / "bin" / "python")


def prepare(own_python: str | None) -> Place:
    connect = PEERS / "connect"
    _do([os.environ.get("CC", "cc"), "-O2", "-o", str(connect), str(BENCH / "floor" / "connect.c")])
    node = shutil.which("node")
    if not node:
        raise NotReady("node is not on the PATH")
    return Place(
        python=own_python or _interpreter("venv"),
        pythons={name: _interpreter(f"venv-{name}") for name in OWN_VENVS},
        node=node,
        fixture=_fixture(),
        connect=str(connect),
    )


def _fixture() -> str:
    given = os.environ.get("MCPOOL_FIXTURE")
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    places = [target / profile / "mcpool-fixture" for profile in ("release", "bench-build")]
    for place in [Path(given)] if given else places:
        if os.access(place, os.X_OK):
            return str(place.resolve())
    looked = given or ", ".join(str(place) for place in places)
    raise NotReady(f"no fixture server: build mcpool-fixture in a release profile (looked at {looked})")


def _do(command: list[str]) -> None:
    try:
        subprocess.run(command, check=True, stdout=sys.stderr)
    except (OSError, subprocess.CalledProcessError) as error:
        raise NotReady(f"{command[0]}: {error}") from error


def _same(stamp: Path, source: Path) -> bool:
    return stamp.exists() and stamp.read_text() == _digest(source)


def _stamp(stamp: Path, source: Path) -> None:
    stamp.write_text(_digest(source))


def _digest(source: Path) -> str:
    return hashlib.sha256(source.read_bytes()).hexdigest()


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
