"""What every test needs: the fixture's program, and nothing left behind."""

from __future__ import annotations

import pytest
from fixture_server import PROGRAM


def pytest_sessionstart(session: pytest.Session) -> None:
    if not PROGRAM.is_file():
        pytest.exit(f"{PROGRAM} is missing: build it with `cargo build -p mcpool-fixture`", returncode=1)
