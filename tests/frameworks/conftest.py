"""What the tests of every framework need: what every test does, and no network."""

from __future__ import annotations

import os
import socket
from typing import Any

import pytest
from every_test import cache, caches, pytest_sessionstart

__all__ = ["cache", "caches", "pytest_sessionstart"]

# Read when a framework is imported.
os.environ.update(
    ANONYMIZED_TELEMETRY="False",
    CREWAI_DISABLE_TELEMETRY="true",
    DO_NOT_TRACK="1",
    LANGSMITH_TRACING="false",
    OPENAI_AGENTS_DISABLE_TRACING="1",
    OTEL_SDK_DISABLED="true",
)


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Models are scripted: a framework that asks for an address outside this machine fails its test."""
    resolve = socket.getaddrinfo

    def only_here(host: Any, *args: Any, **options: Any) -> Any:
        if host not in (None, "localhost", "127.0.0.1", "::1"):
            raise AssertionError(f"the network was asked for {host}")
        return resolve(host, *args, **options)

    monkeypatch.setattr(socket, "getaddrinfo", only_here)
