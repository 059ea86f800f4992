"""Event loops that are not like the usual one."""

from __future__ import annotations

import asyncio


class LoopWithoutReaders(asyncio.SelectorEventLoop):
    """Like the proactor loop of Windows: it cannot watch a descriptor."""

    def add_reader(self, *_: object) -> None:
        raise NotImplementedError
