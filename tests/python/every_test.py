"""What every test needs, of us and of each framework: the fixture, its own cache, no keychain, Ctrl-C."""

from __future__ import annotations

import os
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from fixture_server import PROGRAM


def pytest_sessionstart(session: pytest.Session) -> None:
    if not PROGRAM.is_file():
        pytest.exit(f"{PROGRAM} is missing: build it with `make fixture`", returncode=1)
    # What a shell starts in the background ignores Ctrl-C, and so would all that the tests start.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ["MCPOOL_KEYCHAIN"] = "off"


@pytest.fixture(scope="session", autouse=True)
def caches() -> Iterator[Path]:
    """No test reads or writes the user's own cache, nor does any process that a test starts."""
    # A host that a test has left behind may still be writing.
    with tempfile.TemporaryDirectory(prefix="mcpool-test-cache-", ignore_cleanup_errors=True) as folder:
        os.environ["MCPOOL_CACHE_DIR"] = folder
        yield Path(folder)


@pytest.fixture(autouse=True)
def cache(caches: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One for each test: a server that another test has left there is not waited for when it is late."""
    monkeypatch.setenv("MCPOOL_CACHE_DIR", tempfile.mkdtemp(dir=caches))
