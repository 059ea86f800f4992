"""One build serves every CPython from 3.10 to 3.13: each that the machine has is tried."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import mcpool
import pytest
from fixture_server import PROGRAM, all_gone

VERSIONS = ("3.10", "3.11", "3.12", "3.13")
SCRIPT = """
import asyncio, platform, sys
import mcpool, mcpool.blocking

journal, program = sys.argv[1:]
servers = {"mcpServers": {"a": {"command": program, "args": ["stdio", "--journal", journal]}}}

async def main():
    async with mcpool.Manager(servers) as manager:
        await manager.connect_all()
        print((await manager.call_tool("a", "echo", {"text": "async"})).text)

async def eager():
    if hasattr(asyncio, "eager_task_factory"):
        asyncio.get_running_loop().set_task_factory(asyncio.eager_task_factory)
    async with mcpool.Manager(servers) as manager:
        await manager.connect_all()
        tasks = [asyncio.create_task(manager.call_tool("a", "echo", {"text": str(n)})) for n in range(50)]
        assert [(await task).text for task in tasks] == [str(n) for n in range(50)]
        task = asyncio.create_task(manager.call_tool("a", "sleep", {"ms": 60000}))
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()

asyncio.run(main())
asyncio.run(eager())
with mcpool.blocking.Manager(servers) as manager:
    manager.connect_all()
    print(manager.call("mcp_a_echo", {"text": "blocking"}).text)
    try:
        manager.call_tool("a", "sleep", {"ms": 60000}, timeout=0.1)
    except TimeoutError as error:
        print(error.code)
print(platform.python_implementation(), platform.python_version())
"""


def interpreters() -> dict[str, Path]:
    """One interpreter of each version that this machine has."""
    running = "{}.{}".format(*sys.version_info)
    found = {running: Path(sys.executable)} if running in VERSIONS else {}
    for version in VERSIONS:
        installed = Path.home().glob(f".pyenv/versions/{version}.*/bin/python{version}")
        named = shutil.which(f"python{version}")
        for candidate in [*sorted(installed), *([Path(named)] if named else [])]:
            if works(candidate, version):
                found.setdefault(version, candidate)
    return found


def works(interpreter: Path, version: str) -> bool:
    """Whether it is what its name says; a shim may lead nowhere."""
    ran = subprocess.run([interpreter, "--version"], capture_output=True, text=True)
    return ran.returncode == 0 and re.match(rf"Python {re.escape(version)}\.", ran.stdout) is not None


INTERPRETERS = interpreters()


def test_there_is_an_interpreter_to_try() -> None:
    assert INTERPRETERS


@pytest.mark.parametrize("version", INTERPRETERS)
def test_the_package_works_under(version: str, tmp_path: Path) -> None:
    journal = tmp_path / "a.jsonl"
    env = {**os.environ, "PYTHONPATH": str(Path(mcpool.__file__).parents[1])}
    # The package and nothing else of the environment that runs the tests.
    command = [str(INTERPRETERS[version]), "-W", "error", "-c", SCRIPT, str(journal), str(PROGRAM)]
    ran = subprocess.run(command, capture_output=True, text=True, env=env, timeout=60)
    assert ran.returncode == 0, ran.stderr
    lines = ran.stdout.splitlines()
    assert lines[:3] == ["async", "blocking", "TOOL_TIMEOUT"]
    assert lines[3].startswith(f"CPython {version}.")
    assert ran.stderr == ""
    assert all_gone(journal)
