"""Tasks: kept and waited for in another process, and those of a server that others wrote."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys

import mcpool
import mcpool.blocking
from fixture_server import config, stdio, web
from test_real_servers import node

LATER = """
import json, sys
from mcpool.blocking import Manager

server, task_id = json.loads(sys.argv[1]), sys.argv[2]
with Manager({"mcpServers": {"s": server}}, cache_dir=False) as manager:
    manager.connect_all()
    print(manager.call_tool("s", "task", resume_task=task_id).text)
"""


def test_another_process_waits_for_a_task() -> None:
    with web("--era", "stateless", "--tasks") as url:
        server = {"url": url, "protocol": "2026-07-28"}
        with mcpool.blocking.Manager(config(s=server), cache_dir=False) as manager:
            manager.connect_all()
            plan = {"steps": 2, "ms": 100, "text": "painted"}
            task = manager.call_tool("s", "task", plan, return_task=True).task
            assert task is not None and task.status == "working" and task.raw["createdAt"]
        command = [sys.executable, "-c", LATER, json.dumps(server), task.task_id]
        later = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60)
        assert later.stdout.strip() == "painted"


def test_a_script_can_look_at_a_task_and_cancel_it() -> None:
    with mcpool.blocking.Manager(config(s=stdio("--tasks")), cache_dir=False) as manager:
        manager.connect_all()
        task = manager.call_tool("s", "task", {"steps": 1000, "ms": 100}, return_task=True).task
        assert task is not None and manager.get_task("s", task.task_id).status == "working"
        assert manager.cancel_task("s", task.task_id) is None
        assert manager.get_task("s", task.task_id).status == "cancelled"


def test_the_everything_server_asks_in_a_task() -> None:
    async def main() -> None:
        async def elicit(request: mcpool.ElicitationRequest) -> dict[str, object]:
            asked.append(request.message)
            return {"action": "accept", "content": {"interpretation": "snake"}}

        asked: list[str] = []
        server = node("server-everything", "stdio", timeout=180_000)
        async with mcpool.Manager(config(s=server), cache_dir=False, on_elicitation=elicit) as manager:
            await manager.connect_all()
            events = manager.events()
            query = {"topic": "python", "ambiguous": True}
            result = await manager.call_tool("s", "simulate-research-query", query, timeout=30)
            assert "python (snake)" in result.text and "python" in asked[0]
            await manager.close()
            seen = [event.data["status"] async for event in events if event.type == "task"]
            assert {"working", "input_required"} <= set(seen)

    asyncio.run(main())
