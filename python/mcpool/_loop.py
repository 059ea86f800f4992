"""The bridge of an event loop: found, or made on first use. Importing this does not load asyncio."""

from __future__ import annotations

import threading
from weakref import WeakKeyDictionary

from ._native import Bridge

TYPE_CHECKING = False  # Not from typing: importing this package stays cheap.
if TYPE_CHECKING:
    from asyncio import AbstractEventLoop


_bridges: WeakKeyDictionary[AbstractEventLoop, Bridge] = WeakKeyDictionary()


def bridge_of(loop: AbstractEventLoop) -> Bridge:
    """The bridge of this loop; the native module asks."""
    bridge = _bridges.get(loop)
    if bridge is None:
        bridge = _bridges[loop] = _attach(loop)
    return bridge


def _attach(loop: AbstractEventLoop) -> Bridge:
    bridge = Bridge()
    try:
        loop.add_reader(bridge.fileno(), bridge.drain)
    except NotImplementedError:
        # This kind of loop cannot watch a descriptor: a thread waits in its place.
        threading.Thread(target=_watch, args=(loop, bridge), name="mcpool-watch", daemon=True).start()
    return bridge


def _watch(loop: AbstractEventLoop, bridge: Bridge) -> None:
    while True:
        bridge.wait()
        drained = threading.Event()

        def drain(drained: threading.Event = drained) -> None:
            bridge.drain()
            drained.set()

        try:
            loop.call_soon_threadsafe(drain)
        except RuntimeError:
            return  # The loop is closed.
        # Not to ring again for letters that are about to be taken; a loop that ends takes none.
        while not drained.wait(1.0):
            if loop.is_closed():
                return
