"""The Python side of the line protocol: reads a work from stdin, does it, answers with one line.

Owns the measuring (clocks, latencies, memory) and nothing about any client. A contestant is a module with
`open_servers(servers)`: an async context manager which connects to and lists all servers at once and gives a
`Pool`; for servers in trouble also `connect_all`, see `life.py`. Everything that is timed runs the same code for
every contestant.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any

import life

Server = dict[str, Any]  # {"command", "args"} or {"url"}


@dataclass
class Pool:
    """What a contestant gives once it is connected: plain functions, so that no wrapper is timed."""

    calls: list[Callable[[str, dict[str, Any]], Awaitable[Any]]]  # one per server
    text: Callable[[Any], str]  # the text of a result's first content block
    tools: Callable[[], list[Any]]  # the tools of all servers
    name: Callable[[Any], str]
    schema: Callable[[Any], Any]
    for_model: Callable[[Any], str] | None = None  # a result made fit for a model, where there is such a thing


Open = Callable[[list[Server]], AbstractAsyncContextManager[Pool]]


def memory() -> tuple[int, int]:
    """Resident memory now and at its peak since the last reset, in kB."""
    found = {}
    with open("/proc/self/status", encoding="ascii") as status:
        for line in status:
            key, _, value = line.partition(":")
            if key in ("VmRSS", "VmHWM"):
                found[key] = int(value.split()[0])
    return found["VmRSS"], found["VmHWM"]


def reset_peak() -> None:
    with open("/proc/self/clear_refs", "w", encoding="ascii") as refs:
        refs.write("5")


async def burst(pool: Pool, tool: str, args: dict[str, Any], size: int, work: dict[str, Any]) -> dict[str, Any]:
    """`count` calls, `concurrency` of them in flight; every result's text is looked at."""
    call, text, clock = pool.calls[0], pool.text, time.perf_counter_ns
    left, took = work["count"], []

    async def lane() -> None:
        nonlocal left
        while left > 0:
            left -= 1
            begin = clock()
            result = await call(tool, args)
            if len(text(result)) != size:
                raise RuntimeError("the answer has the wrong length")
            took.append(clock() - begin)

    reset_peak()
    before = memory()[0]
    cpu, wall = time.process_time(), time.perf_counter()
    if work.get("concurrency", 1) == 1:
        await lane()
    else:
        await asyncio.gather(*(lane() for _ in range(work["concurrency"])))
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    rss, peak = memory()
    took.sort()
    return {
        "wall_s": wall,
        "cpu_s": cpu,
        "p50_us": took[len(took) // 2] / 1e3,
        "p99_us": took[min(len(took) - 1, len(took) * 99 // 100)] / 1e3,
        "before_kb": before,
        "rss_kb": rss,
        "peak_kb": peak,
    }


async def showing(pool: Pool, work: dict[str, Any]) -> dict[str, Any]:
    """Medians of what a large result's text costs, and of the same made fit for a model."""
    assert pool.for_model
    clock, plain, shown = time.perf_counter_ns, [], []
    for _ in range(work["count"]):
        result = await pool.calls[0]("big", {"bytes": work["bytes"], "shape": "text"})
        begin = clock()
        text = result.text
        middle = clock()
        for_model = pool.for_model(result)
        shown.append(clock() - middle)
        plain.append(middle - begin)
        if not len(for_model) > len(text) == work["bytes"]:
            raise RuntimeError("the text has the wrong length")
    half = work["count"] // 2
    return {"text_ms": sorted(plain)[half] / 1e6, "for_model_ms": sorted(shown)[half] / 1e6}


async def listing(open_servers: Open, work: dict[str, Any]) -> dict[str, Any]:
    """CPU of a connect with its list, the tools touched; the closing is not counted."""
    costs, seen = [], 0
    for _ in range(work["count"]):
        cpu = time.process_time()
        async with open_servers([work["server"]]) as pool:
            for tool in pool.tools():
                seen += len(pool.name(tool))
                if work["touch"] == "schemas":
                    seen += len(pool.schema(tool))
            costs.append(time.process_time() - cpu)
            tools = len(pool.tools())
    return {"cpu_s": sorted(costs)[len(costs) // 2], "tools": tools, "seen": seen}


async def gathering(open_servers: Open, work: dict[str, Any]) -> dict[str, Any]:
    """Connect and list many servers at once; with `idle_s` also what they cost while nothing happens."""
    before, _ = memory()
    cpu, wall = time.process_time(), time.perf_counter()
    async with open_servers([work["server"]] * work["count"]) as pool:
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        answer = {"wall_s": wall, "cpu_s": cpu, "before_kb": before}
        if work.get("idle_s"):
            await asyncio.sleep(0.5)
            answer["unread_kb"] = memory()[0]
        answer["tools"] = len(pool.tools())
        if work.get("idle_s"):
            answer["rss_kb"] = memory()[0]
            idle = time.process_time()
            await asyncio.sleep(work["idle_s"])
            answer["idle_cpu_s"] = time.process_time() - idle
        close = time.perf_counter()
    answer["close_s"] = time.perf_counter() - close
    return answer


OPENING = {"list": listing, "connect": gathering, "recover": life.recover}


async def serve(open_servers: Open | None, connect_all: life.ConnectAll | None) -> None:
    loop = asyncio.get_running_loop()
    lines = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)

    async def works(pool: Pool | None) -> None:
        print(json.dumps({"ready": True, "rss_kb": memory()[0]}), flush=True)
        while line := await lines.readline():
            work = json.loads(line)
            try:
                if work["work"] == "echo":
                    assert pool
                    answer = await burst(pool, "echo", {"text": "x" * 100}, 100, work)
                elif work["work"] == "big":
                    assert pool
                    args = {"bytes": work["bytes"], "shape": "text"}
                    answer = await burst(pool, "big", args, work["bytes"], work)
                elif work["work"] == "for_model":
                    assert pool
                    answer = await showing(pool, work)
                elif work["work"] == "trouble":
                    assert connect_all
                    answer = await life.trouble(connect_all, work)
                else:
                    assert open_servers
                    answer = await OPENING[work["work"]](open_servers, work)
            except Exception as error:  # noqa: BLE001 (whatever a client raises is its answer)
                answer = {"error": f"{type(error).__name__}: {error}"}
            print(json.dumps(answer), flush=True)

    server = json.loads(sys.argv[1])
    if server:
        assert open_servers
        async with open_servers([server]) as pool:
            await works(pool)
    else:
        await works(None)


def main(open_servers: Open | None, connect_all: life.ConnectAll | None = None) -> None:
    if os.environ.get("BENCH_LOOP") == "uvloop":
        import uvloop

        uvloop.run(serve(open_servers, connect_all))
    else:
        asyncio.run(serve(open_servers, connect_all))
