"""What the tests of every framework need: the fixture's program, a cache of its own, and no network."""

from __future__ import annotations

import os
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fixture_server import PROGRAM

# Read when a framework is imported.
os.environ.update(
    ANONYMIZED_TELEMETRY="False",
    CREWAI_DISABLE_TELEMETRY="true",
    DO_NOT_TRACK="1",
    LANGSMITH_TRACING="false",
    OPENAI_AGENTS_DISABLE_TRACING="1",
    OTEL_SDK_DISABLED="true",
)


def pytest_sessionstart(session: pytest.Session) -> None:
    if not PROGRAM.is_file():
        pytest.exit(f"{PROGRAM} is missing: build it with `cargo build -p mcpool-fixture`", returncode=1)


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


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Models are scripted: a framework that asks for an address outside this machine fails its test."""
    resolve = socket.getaddrinfo

    def only_here(host: Any, *args: Any, **options: Any) -> Any:
        if host not in (None, "localhost", "127.0.0.1", "::1"):
            raise AssertionError(f"the network was asked for {host}")
        return resolve(host, *args, **options)

    monkeypatch.setattr(socket, "getaddrinfo", only_here)
