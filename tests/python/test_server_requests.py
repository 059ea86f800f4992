"""Functions that answer requests of servers: what ends them, and what they leave behind."""

from __future__ import annotations

import asyncio
from typing import Any

import mcpool
import pytest
from fixture_server import config, stdio

ASK = {"method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 1}}


@pytest.mark.parametrize("ended_by", ["the call", "the limit", "the manager"])
def test_a_function_whose_answer_is_not_wanted_any_more_is_cancelled(ended_by: str) -> None:
    async def main() -> None:
        began, cancelled = asyncio.Event(), asyncio.Event()

        async def sample(_request: mcpool.SamplingRequest) -> str:
            began.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                cancelled.set()
                raise
            return ""

        limit = 0.2 if ended_by == "the limit" else 60
        options: dict[str, Any] = {"on_sampling": sample, "server_request_timeout": limit, "cache_dir": False}
        definition = stdio("--era", "stateless", "--offers", protocol="2026-07-28")
        async with mcpool.Manager(config(s=definition), **options) as manager:
            await manager.connect_all()
            call = asyncio.create_task(manager.call_tool("s", "need", ASK))
            await asyncio.wait_for(began.wait(), 30)
            if ended_by == "the call":
                call.cancel()
            if ended_by == "the manager":
                await manager.close()
            with pytest.raises((asyncio.CancelledError, mcpool.McpoolError)):
                await call
            await asyncio.wait_for(cancelled.wait(), 30)
            assert manager.status()[0].calls.in_flight == 0

    asyncio.run(main())


def test_a_function_that_is_cancelled_from_within_refuses_at_once() -> None:
    async def main() -> None:
        async def sample(_request: mcpool.SamplingRequest) -> str:
            raise asyncio.CancelledError

        options: dict[str, Any] = {"on_sampling": sample, "server_request_timeout": 60, "cache_dir": False}
        async with mcpool.Manager(config(s=stdio()), **options) as manager:
            await manager.connect_all()
            result = await asyncio.wait_for(manager.call_tool("s", "ask", ASK), 30)
            assert '"error"' in result.text

    asyncio.run(main())
