"""The works and their goals: data only. How each kind is measured is in `kinds.py`.

A goal compares ours with a peer as the ratio ours/peer, or, with no peer, our own figure with a limit. The works
with servers that get lost or into trouble are in `life_works.py`.
"""

from __future__ import annotations

from .config_works import CONFIG
from .contestants import (
    ASYNCIO,
    CLIENT,
    FASTMCP,
    MCP,
    MCPOOL,
    NODE,
    NODE_MCPOOL,
    OVER_HTTP,
    OVER_SSE,
    OVER_WEBSOCKET,
    PYTHON,
    SDK,
    UVLOOP,
    WITH_HEADER,
    WITH_LOGIN,
    C,
)
from .life_works import LIFE
from .model import Contestant, Goal, Metric, Work

BIG = 1_000_000  # bytes of text in the large result
SERVERS = 50


def at_most(part: str, limit: float) -> Goal:
    return Goal("≤", limit, f"≤ {part}")


def at_least(times: float) -> Goal:
    return Goal("≥", times, f"≥ {times:g} ×")


BELOW = Goal("<", 1.0, "below")
ABOVE = Goal(">", 1.0, "above")
PAYLOADS = Goal("<", 4 * BIG / 1e6, "< 4 × payload")

CPU = Metric("cpu_us", "CPU/call", "µs")
P50 = Metric("p50_us", "p50", "µs")
RATE = Metric("calls_s", "calls/s", "")
EACH = Metric("call_ms", "time/call", "ms")
PEAK = Metric("peak_mb", "peak over idle", "MB")
PEAK_LATER = Metric("peak_later_mb", "peak, after 1000", "MB")
NAMES = Metric("names_ms", "CPU, names read", "ms")
SCHEMAS = Metric("schemas_ms", "CPU, schemas read", "ms")
LOAD_CPU = Metric("cpu_ms", "CPU", "ms")
LOAD_RSS = Metric("rss_mb", "memory", "MB")
CHAIN = Metric("chain_ms", "scan + wrap", "ms")
WALL = Metric("wall_ms", "wall", "ms")
PER_CONNECTION = Metric("connection_kb", "memory/connection", "kB")
IDLE_CPU = Metric("idle_ms", "CPU in 2 s", "ms")


def one_at_a_time(
    language: str, contestants: list[Contestant], metrics: list[Metric], goals: dict[tuple[str, str | None], Goal]
) -> list[Work]:
    """Twice, with the same goals. Left alone, the scheduler has client and server now share a core and now not, and
    waking a core that sleeps costs more than the whole call: which of two clients is faster is then partly luck, and
    a light client looks better beside a heavy one than it is. On one core the figures repeat."""
    key, title = f"{language.lower()}-echo", f"{language}: 100 B echo over stdio, one at a time"
    return [
        Work(key, title, "calls", contestants, metrics, goals),
        Work(f"{key}-core", f"{title}, all on one core", "calls", contestants, metrics, goals, one_core=True),
    ]


WORKS = [
    *one_at_a_time(
        "Python",
        [MCPOOL, UVLOOP, MCP, FASTMCP, ASYNCIO],
        [CPU, P50],
        {
            (metric, peer): goal
            for metric in ("cpu_us", "p50_us")
            for peer, goal in (("mcp", at_most("1/8", 1 / 8)), ("asyncio floor", BELOW))
        },
    ),
    Work(
        "python-echo-64",
        "Python: 100 B echo over stdio, 64 in flight",
        "calls",
        [MCPOOL, UVLOOP, MCP, FASTMCP, ASYNCIO],
        [RATE, CPU],
        {("calls_s", "mcp"): at_least(30), ("calls_s", "asyncio floor"): at_least(3)},
        concurrency=64,
    ),
    *one_at_a_time(
        "Node",
        NODE,
        [P50, CPU],
        # "Far below" is read as less than half.
        {
            ("p50_us", "Node floor"): at_most("1.2 ×", 1.2),
            ("p50_us", "sdk"): BELOW,
            ("p50_us", "client"): Goal("<", 0.5, "< 1/2"),
        },
    ),
    Work(
        "node-echo-64",
        "Node: 100 B echo over stdio, 64 in flight",
        "calls",
        NODE,
        [RATE, CPU],
        {
            ("calls_s", "sdk"): at_least(4),
            ("calls_s", "Node floor"): ABOVE,
            ("cpu_us", "sdk"): at_most("1/4", 1 / 4),
            ("cpu_us", "Node floor"): BELOW,
        },
        concurrency=64,
    ),
    Work(
        "python-big",
        "Python: 1 MB text result",
        "big",
        PYTHON,
        [EACH, PEAK, PEAK_LATER],
        {("call_ms", "mcp"): at_most("1/5", 1 / 5), ("peak_mb", None): PAYLOADS, ("peak_later_mb", None): PAYLOADS},
    ),
    Work(
        "node-big",
        "Node: 1 MB text result",
        "big",
        NODE,
        [EACH, PEAK, PEAK_LATER],
        {
            ("call_ms", "sdk"): at_most("1/2", 1 / 2),
            ("call_ms", "client"): at_most("1/2", 1 / 2),
            ("peak_mb", None): PAYLOADS,
            ("peak_later_mb", None): PAYLOADS,
        },
    ),
    Work(
        "for-model",
        "1 MB text result: scanned and wrapped for a model",
        "showing",
        [MCPOOL, NODE_MCPOOL],
        [CHAIN],
        {("chain_ms", None): Goal("≤", 2, "≤ 2 ms")},
    ),
    Work(
        "python-list",
        "Python: fresh list of 1 000 tools × 2 kB",
        "listing",
        PYTHON,
        [NAMES, SCHEMAS],
        {("names_ms", "mcp"): at_most("1/10", 1 / 10)},
    ),
    Work(
        "node-list",
        "Node: fresh list of 1 000 tools × 2 kB",
        "listing",
        NODE,
        [NAMES, SCHEMAS],
        {("names_ms", "sdk"): at_most("1/6", 1 / 6)},
    ),
    *(
        Work(
            f"{language.lower()}-http{suffix}",
            f"{language}: 100 B echo over HTTP, {how}",
            "calls",
            contestants,
            [CPU, RATE],
            {("cpu_us", peer): at_most(part, limit), ("calls_s", peer): at_least(times)},
            concurrency=concurrency,
            http=True,
        )
        for language, contestants, peer, part, limit, times in (
            ("Python", [MCPOOL, MCP, FASTMCP], "mcp", "1/10", 1 / 10, 15),
            ("Node", [NODE_MCPOOL, SDK, CLIENT], "sdk", "1/5", 1 / 5, 5),
        )
        for suffix, how, concurrency in (("", "one at a time", 1), ("-64", "64 in flight", 64))
    ),
    *(
        Work(
            f"transports{suffix}",
            f"Python: 100 B echo over each transport of a network, {how}",
            "transports",
            [OVER_SSE, OVER_WEBSOCKET, OVER_HTTP],
            [CPU, RATE],
            {("cpu_us", "over HTTP"): at_most("1.05 ×", 1.05), ("calls_s", "over HTTP"): at_least(0.95)},
            concurrency=concurrency,
        )
        for suffix, how, concurrency in (("", "one at a time", 1), ("-64", "64 in flight", 64))
    ),
    *(
        Work(
            f"logins{suffix}",
            f"Python: 100 B echo over HTTP with a token, {how}",
            "logins",
            [WITH_LOGIN, WITH_HEADER],
            [CPU, RATE],
            {("cpu_us", "with a header"): at_most("1.02 ×", 1.02), ("calls_s", "with a header"): at_least(0.98)},
            concurrency=concurrency,
        )
        for suffix, how, concurrency in (("", "one at a time", 1), ("-64", "64 in flight", 64))
    ),
    Work(
        "python-import",
        "Python: import, over the bare interpreter",
        "importing",
        [MCPOOL, MCP, FASTMCP],
        [LOAD_CPU, LOAD_RSS],
        {("cpu_ms", None): Goal("≤", 30, "≤ 30 ms"), ("rss_mb", None): Goal("≤", 8, "≤ 8 MB")},
    ),
    Work(
        "node-import",
        "Node: require, over the bare interpreter",
        "importing",
        [NODE_MCPOOL, SDK, CLIENT],
        [LOAD_CPU, LOAD_RSS],
        {("cpu_ms", None): Goal("≤", 30, "≤ 30 ms")},
    ),
    Work(
        "connect",
        f"connect + list {SERVERS} stdio servers at once",
        "gathering",
        [C, MCPOOL, MCP, NODE_MCPOOL, SDK],
        [WALL],
        {("wall_ms", "C client"): at_most("1.3 ×", 1.3)},
        servers=SERVERS,
    ),
    Work(
        "idle",
        f"{SERVERS} stdio connections, idle",
        "idling",
        [MCPOOL, MCP, NODE_MCPOOL, SDK],
        [PER_CONNECTION, IDLE_CPU],
        {("connection_kb", None): Goal("≤", 150, "≤ 150 kB"), ("idle_ms", None): Goal("≤", 1, "≤ 1 ms")},
        servers=SERVERS,
        most_rounds=3,
    ),
    *LIFE,
    *CONFIG,
]
