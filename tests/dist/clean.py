"""Environments that have nothing but what a test puts into them."""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DIST = ROOT / "dist"
HERE = Path(__file__).parent


def run(command: Sequence[str | Path], home: Path, path: list[Path]) -> subprocess.CompletedProcess[str]:
    """Runs a program with only `path` to find others on, so without a compiler, and a new home directory."""
    home.mkdir(exist_ok=True)
    env = {
        "HOME": str(home),
        "PATH": os.pathsep.join(map(str, path)),
        "MCPOOL_KEYCHAIN": "off",
        "LANG": "C.UTF-8",
    }
    return subprocess.run(command, cwd=home, env=env, capture_output=True, text=True, timeout=120)


def succeed(command: Sequence[str | Path], home: Path, path: list[Path]) -> str:
    ended = run(command, home, path)
    assert ended.returncode == 0, f"{command} ended with {ended.returncode}:\n{ended.stdout}{ended.stderr}"
    return ended.stdout
