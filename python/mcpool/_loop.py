"""The bridge of the running event loop: found, or made on first use."""

from __future__ import annotations

import threading

from ._native import Bridge

TYPE_CHECKING = False  # Not from typing: importing this package stays cheap.
if TYPE_CHECKING:
    from asyncio import AbstractEventLoop


class _Local(threading.local):
    loop: AbstractEventLoop | None = None
    bridge: Bridge


_local = _Local()


def current() -> tuple[AbstractEventLoop, Bridge]:
    """The running loop and its bridge."""
    loop = _get_running_loop()
    if _local.loop is not loop:
        _local.bridge = _attach(loop)
        _local.loop = loop
    return loop, _local.bridge


def _get_running_loop() -> AbstractEventLoop:
    """Stands in until the first use, so that importing the package does not load asyncio."""
    global _get_running_loop
    from asyncio import get_running_loop

    _get_running_loop = get_running_loop
    return get_running_loop()


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
