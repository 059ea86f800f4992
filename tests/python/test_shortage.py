"""A process without descriptors is told so by its first verbs, and the next ones work."""

from __future__ import annotations

import subprocess
import sys

import pytest
from fixture_server import PROGRAM

HOST = """
import asyncio, os, resource, sys
import mcpool, mcpool.blocking, mcpool._bridge, mcpool._logs
from mcpool import LimitExceededError

resource.setrlimit(resource.RLIMIT_NOFILE, (100, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
config = {"mcpServers": {"a": {"command": sys.argv[1], "args": ["stdio"]}}}

def take(left):
    "Takes every descriptor but so many."
    taken = []
    try:
        while True:
            taken.append(os.open("/dev/null", os.O_RDONLY))
    except OSError:
        for one in taken[:left]:
            os.close(one)
    return taken[left:]

def give(taken):
    for one in taken:
        os.close(one)
"""

ASYNC = """
async def main():
    manager = mcpool.Manager(config, cache_dir=False)
    for left in (0, 4):  # None for the mailbox; then enough for it alone.
        taken = take(left)
        try:
            await manager.connect("a")
        except LimitExceededError as error:
            print(left, bool(error.hint))
        give(taken)
    taken = take(0)
    await mcpool.Manager(config, cache_dir=False).close()
    give(taken)
    await manager.connect("a")
    print((await manager.call_tool("a", "echo", {"text": "x"})).text)
    await manager.close()

asyncio.run(main())
"""

BLOCKING = """
manager = mcpool.blocking.Manager(config, cache_dir=False)
for left in (0, 4):
    taken = take(left)
    try:
        manager.connect("a")
    except LimitExceededError as error:
        print(left, bool(error.hint))
    give(taken)
taken = take(0)
mcpool.blocking.Manager(config, cache_dir=False).close()
give(taken)
manager.connect("a")
print(manager.call_tool("a", "echo", {"text": "x"}).text)
manager.close()
"""


@pytest.mark.parametrize("script", [ASYNC, BLOCKING], ids=["async", "blocking"])
def test_a_shortage_of_descriptors_is_an_error_and_passes(script: str) -> None:
    words = [sys.executable, "-c", HOST + script, str(PROGRAM)]
    host = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert host.stdout.split("\n") == ["0 True", "4 True", "x", ""], host.stderr
