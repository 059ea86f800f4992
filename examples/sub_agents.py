"""Sub-agents: each has a manager of its own, and all of them share the connections of their parent."""

from __future__ import annotations

import asyncio
import sys

import mcpool

CONFIG = {"mcpServers": {"demo": {"command": sys.executable, "args": ["-m", "mcpool", "demo-server"]}}}


async def sub_agent(parent: mcpool.Manager, name: str) -> str:
    """Works with a child of the manager. Closing the child leaves the connection to the others."""
    async with parent.child() as manager:
        await manager.connect_all()  # returns at once: the server is connected already
        result = await manager.call_tool("demo", "greet", {"name": name})
        return result.text


async def main() -> None:
    """Runs three sub-agents at the same time."""
    async with mcpool.Manager(CONFIG) as manager:
        await manager.connect_all()
        await manager.wait_for("demo")  # connect_all does not wait for it if its tools are in the cache
        greetings = await asyncio.gather(*(sub_agent(manager, name) for name in ("Ada", "Grace", "Edsger")))
        print(greetings)
        (status,) = manager.status()
        print("state:", status.state, "restarts:", status.restarts, "calls:", status.calls.ok)


asyncio.run(main())
