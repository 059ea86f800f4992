"""Floor: the least that an asyncio program can do over stdio: spawn, readline, json, a table of futures.

No errors, no timeouts, no cancellation, no notifications, no HTTP: not a client anybody should use.
"""

from __future__ import annotations

import asyncio
import json
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from harness import Pool, Server, main

LINE_LIMIT = 1 << 26


class Floor:
    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin and process.stdout
        self.process, self.stdin, self.stdout = process, process.stdin, process.stdout
        self.waiting: dict[int, asyncio.Future[Any]] = {}
        self.last = 0
        self.loop = asyncio.get_running_loop()
        self.reader = asyncio.create_task(self.read())
        self.tools: list[Any] = []

    async def read(self) -> None:
        while line := await self.stdout.readline():
            message = json.loads(line)
            waiting = self.waiting.pop(message.get("id"), None)
            if waiting:
                waiting.set_result(message["result"])

    def send(self, message: dict[str, Any]) -> None:
        self.stdin.write(json.dumps(message).encode() + b"\n")

    def request(self, method: str, params: dict[str, Any]) -> asyncio.Future[Any]:
        self.last += 1
        future = self.waiting[self.last] = self.loop.create_future()
        self.send({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params})
        return future

    def call(self, tool: str, arguments: dict[str, Any]) -> asyncio.Future[Any]:
        return self.request("tools/call", {"name": tool, "arguments": arguments})

    async def start(self) -> None:
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}}
        hello["clientInfo"] = {"name": "floor", "version": "0"}
        await self.request("initialize", hello)
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        self.tools = (await self.request("tools/list", {}))["tools"]

    async def end(self) -> None:
        self.stdin.close()
        await self.process.wait()
        await self.reader


async def connect(server: Server) -> Floor:
    process = await asyncio.create_subprocess_exec(
        server["command"], *server["args"], stdin=PIPE, stdout=PIPE, limit=LINE_LIMIT
    )
    floor = Floor(process)
    await floor.start()
    return floor


@asynccontextmanager
async def open_servers(servers: list[Server]) -> AsyncIterator[Pool]:
    floors = await asyncio.gather(*(connect(server) for server in servers))
    yield Pool(
        calls=[floor.call for floor in floors],
        text=lambda result: result["content"][0]["text"],
        tools=lambda: [tool for floor in floors for tool in floor.tools],
        name=lambda tool: tool["name"],
        schema=lambda tool: tool["inputSchema"],
    )
    await asyncio.gather(*(floor.end() for floor in floors))


main(open_servers)
