"""What the tests of servers need: what every test does, and a network that ends at this machine."""

from __future__ import annotations

import socket

import pytest
from every_test import cache, caches
from every_test import pytest_sessionstart as start

__all__ = ["cache", "caches"]


def pytest_sessionstart(session: pytest.Session) -> None:
    start(session)
    interfaces = {name for _, name in socket.if_nameindex()}
    if interfaces != {"lo"}:
        # Some servers listen on all interfaces, and none may need anything from outside.
        pytest.exit("run it in a network with only loopback: `make test-servers`", returncode=1)
