"""Tasks: kept and waited for in another process, and those of a server that others wrote."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys

import mcpool
import mcpool.blocking
import pytest
from fixture_server import config, stdio, until, web
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


LATE = """
import json, sys

def answer(message, **answer):
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}), flush=True)

called = None
for line in sys.stdin:
    message = json.loads(line)
    match message["method"]:
        case "server/discover":
            answer(message, result={"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}})
        case "tools/list":
            answer(message, result={"tools": [{"name": "work"}]})
        case "tools/call":
            called = message
        case "notifications/cancelled":
            answer(called, result={"resultType": "task", "taskId": "late", "status": "working"})
        case "tasks/cancel":
            print(message["params"]["taskId"], file=sys.stderr, flush=True)
            sys.exit(1)
"""


def test_a_task_that_comes_after_its_call_was_given_up_is_cancelled() -> None:
    server = {"command": sys.executable, "args": ["-c", LATE], "protocol": "2026-07-28", "restart": "never"}
    with mcpool.blocking.Manager(config(s=server), cache_dir=False) as manager:
        manager.connect_all()
        with pytest.raises(mcpool.ToolTimeoutError):
            manager.call_tool("s", "work", timeout=0.2)
        assert until(lambda: manager.status()[0].state == "failed")
        assert "late" in (manager.status()[0].error.stderr or "")


def test_the_everything_server_asks_in_a_task() -> None:
    async def main() -> None:
        async def elicit(request: mcpool.ElicitationRequest) -> dict[str, object]:
            asked.append(request.message)
            return {"action": "accept", "content": {"interpretation": "snake"}}

        async def never(request: mcpool.ElicitationRequest) -> dict[str, object]:
            raise AssertionError(f"the other manager is asked: {request}")

        asked: list[str] = []
        servers = config(s=node("server-everything", "stdio", timeout=180_000))
        async with (
            mcpool.Manager(servers, cache_dir=False, on_elicitation=elicit) as manager,
            mcpool.Manager(servers, cache_dir=False, on_elicitation=never) as other,
        ):
            await manager.connect_all()
            await other.connect_all()
            events = manager.events()
            query = {"topic": "python", "ambiguous": True}
            # With calls of both managers under way, only the task says whose question it is.
            plain = asyncio.create_task(other.call_tool("s", "simulate-research-query", {"topic": "rust"}))
            result = await manager.call_tool("s", "simulate-research-query", query, timeout=30)
            assert "python (snake)" in result.text and "python" in asked[0]
            assert "rust" in (await plain).text
            await manager.close()
            seen = [event.data["status"] async for event in events if event.type == "task"]
            assert {"working", "input_required"} <= set(seen)

    asyncio.run(main())
