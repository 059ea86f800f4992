"""The works with servers that get lost, hang or exit, and with very many of them: data only."""

from __future__ import annotations

from .contestants import (
    FASTMCP_CONFIG,
    FASTMCP_KEPT,
    LANGCHAIN,
    MASTRA,
    MCP,
    MCPOOL,
    MCPORTER,
    NODE_MCPOOL,
    SDK,
)
from .model import Goal, Metric, Work

SERVERS = 50
INTERPRETERS = 40
SESSIONS = 1000
TIMEOUT_MS = 1000

RECOVERY = Metric("recovery_ms", "recovery", "ms")
START = Metric("start_ms", "start", "ms")
OVER = Metric("over_ms", "recovery - start", "ms", alone=True)
WALL = Metric("wall_ms", "wall", "ms")
UNREAD = Metric("unread_kb", "memory/connection", "kB")
READ = Metric("connection_kb", "…, all tools read", "kB")
CONNECT = Metric("first_wall_ms", "connect", "ms")
CLOSE = Metric("close_ms", "close", "ms")

LIFE = [
    Work(
        "recovery",
        "kill -9 of an idle stdio server, until the next call goes well",
        "recovering",
        [MCPOOL, MCP, FASTMCP_KEPT, NODE_MCPOOL, SDK, MASTRA, MCPORTER],
        [RECOVERY, START, OVER],
        {("over_ms", None): Goal("≤", 50, "≤ 50 ms")},
    ),
    *(
        Work(
            f"trouble-{suffix}",
            f"connect {SERVERS} stdio servers, 5 hang and 5 exit: {how}",
            "troubled",
            [MCPOOL, MCP, FASTMCP_CONFIG, LANGCHAIN, NODE_MCPOOL, MASTRA],
            [WALL],
            {("wall_ms", None): Goal("≤", limit, f"≤ {limit:,} ms")},
            servers=SERVERS,
            timeout_ms=timeout_ms,
            cached=cached,
            most_rounds=3,
        )
        for suffix, how, timeout_ms, cached, limit in (
            ("cached", "warm cache, own timeouts", None, True, 300),
            ("timeout", f"no cache, timeout {TIMEOUT_MS:,} ms", TIMEOUT_MS, False, TIMEOUT_MS + 200),
        )
    ),
    Work(
        "interpreters",
        f"connect {INTERPRETERS} stdio servers, Python and Node programs: no cache, own timeouts",
        "interpreted",
        [MCPOOL, MCP, FASTMCP_CONFIG, LANGCHAIN, NODE_MCPOOL, MASTRA],
        [WALL],
        {},
        servers=INTERPRETERS,
        most_rounds=3,
    ),
    Work(
        "sessions",
        f"{SESSIONS:,} HTTP sessions with one server, idle",
        "idling",
        [MCPOOL, MCP, NODE_MCPOOL, SDK],
        [UNREAD, READ, CONNECT, CLOSE],
        {("unread_kb", None): Goal("≤", 60, "≤ 60 kB")},
        servers=SESSIONS,
        http=True,
        most_rounds=2,
    ),
]
