"""A new user's first program, with nothing but the installed package: connect, call, kill, look at HTML."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import mcpool
import mcpool.blocking

CONFIG = {"mcpServers": {"demo": {"command": sys.executable, "args": ["-m", "mcpool", "demo-server"]}}}


async def exercise() -> None:
    async with mcpool.Manager(CONFIG) as manager:
        report = await manager.connect_all()
        assert report.connected == ["demo"], report
        tools = manager.get_tools()
        assert "mcp_demo_add" in [tool.name for tool in tools]
        result = await manager.call_tool("demo", "add", {"a": 2, "b": 40})
        assert result.structured == {"sum": 42}, result
        pid = manager.status()[0].pid
        assert pid is not None
        events = manager.events()
        os.kill(pid, signal.SIGKILL)
        async for event in events:
            if event.type == "status" and event.data["state"] == "reconnecting":
                break
        again = await manager.call_tool("demo", "greet", {"name": "Ada"})
        assert again.text == "Hello, Ada!", again
        for shown in (manager, manager.status()[0], tools, tools[0]):
            assert "<" in shown._repr_html_()


def exercise_blocking() -> None:
    with mcpool.blocking.Manager(CONFIG) as manager:
        manager.connect_all()
        assert manager.call_tool("demo", "greet", {"name": "Ada"}).text == "Hello, Ada!"


def exercise_command() -> None:
    command = Path(sys.executable).with_name("mcpool")
    shown = subprocess.run([command, "--version"], check=True, capture_output=True, text=True).stdout
    assert shown.split() == ["mcpool", mcpool.__version__], shown
    demo = subprocess.run([command, "demo"], check=True, capture_output=True, text=True).stdout
    assert "Hello, Grace!" in demo, demo


asyncio.run(exercise())
exercise_blocking()
exercise_command()
print("done", mcpool.__version__, sys.version.split()[0])
