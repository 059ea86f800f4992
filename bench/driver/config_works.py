"""The works with config files and the command line: data only."""

from __future__ import annotations

from .config_kinds import EACH, FILES, HEALTHY
from .contestants import MCPOOL, MCPORTER, NODE_MCPOOL
from .model import Goal, Metric, Work

CONFIG = [
    Work(
        "discover",
        f"discover {FILES * EACH} servers in {FILES} files of many products",
        "discovering",
        [MCPOOL, NODE_MCPOOL],
        [Metric("cpu_ms", "CPU", "ms"), Metric("wall_ms", "wall", "ms")],
        {("cpu_ms", None): Goal("≤", 20, "≤ 20 ms")},
    ),
    Work(
        "command",
        f"list the tools of {HEALTHY + 1} stdio servers from the command line, 1 hangs: warm cache",
        "commanding",
        [MCPOOL, NODE_MCPOOL, MCPORTER],
        [Metric("wall_ms", "wall", "ms")],
        {("wall_ms", None): Goal("≤", 350, "≤ 350 ms")},
        most_rounds=3,
    ),
]
