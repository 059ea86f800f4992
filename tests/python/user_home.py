"""A home, a project and an environment of a test's own."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import mcpool
from fixture_server import config


def user_env(home: Path) -> dict[str, str]:
    """For a command that is run for a user of the test's own: nothing of whoever runs the tests."""
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH", "VIRTUAL_ENV") if name in os.environ}
    own = {"HOME": str(home), "MCPOOL_CACHE_DIR": str(home / "cache"), "MCPOOL_KEYCHAIN": "off"}
    return {**kept, **own}


class UserHome:
    """What discovery, trust and editing see in place of this machine."""

    def __init__(self, directory: Path) -> None:
        self.home = directory / "home"
        self.project = directory / "project"
        self.home.mkdir()
        self.project.mkdir()
        env = {"PATH": os.environ["PATH"], "HOME": str(self.home)}
        self.host_env: mcpool.HostEnv = {"env": env, "home": self.home}

    def user(self, **servers: dict[str, Any]) -> Path:
        """The user's servers, in a product's file."""
        return _write(self.home / ".cursor" / "mcp.json", config(**servers))

    def of_project(self, **servers: dict[str, Any]) -> Path:
        """The project's servers."""
        return _write(self.project / ".mcp.json", config(**servers))

    @property
    def options(self) -> dict[str, Any]:
        """For a manager that is made by discovery, on a pool of its own."""
        where = {"cwd": self.project, "host_env": self.host_env}
        return {**where, "pool": mcpool.Pool(), "cache_dir": False}


def _write(file: Path, document: object) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(document))
    return file
