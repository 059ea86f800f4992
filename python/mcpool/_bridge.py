"""The bridge of an event loop: found, or made on first use. Importing this does not load asyncio."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from ._native import Bridge

TYPE_CHECKING = False  # Not from typing: importing this package stays cheap.
if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, Future
    from typing import Any


_LOOK_UP = 0.5  # Seconds after which a watching thread sees that its loop is closed.
_bridges: WeakKeyDictionary[AbstractEventLoop, Bridge] = WeakKeyDictionary()


def bridge_of(loop: AbstractEventLoop) -> Bridge:
    """The bridge of this loop; called by the native module."""
    bridge = _bridges.get(loop)
    if bridge is None or bridge.is_inherited():
        bridge = _bridges[loop] = _attach(loop)
    return bridge


def give_up(future: Future[Any]) -> None:
    """Stops the work behind the future; does nothing if it is done, or in a forked child."""
    bridge = _bridges.get(future.get_loop())
    if bridge is not None:
        bridge.cancel(future)


async def finish(future: Future[Any]) -> Any:
    """Waits for a verb; stops it if the wait is cancelled."""
    try:
        return await future
    except BaseException:
        give_up(future)
        raise


def _attach(loop: AbstractEventLoop) -> Bridge:
    bridge = Bridge()
    try:
        loop.add_reader(bridge.fileno(), bridge.drain)
    except NotImplementedError:
        import threading

        # This kind of loop cannot watch a descriptor, so a thread waits instead.
        threading.Thread(target=_watch, args=(loop, bridge), name="mcpool-watch", daemon=True).start()
    return bridge


def _watch(loop: AbstractEventLoop, bridge: Bridge) -> None:
    import threading

    while not loop.is_closed():
        if not bridge.wait(_LOOK_UP):
            continue
        drained = threading.Event()

        def drain(drained: threading.Event = drained) -> None:
            bridge.drain()
            drained.set()

        try:
            loop.call_soon_threadsafe(drain)
        except RuntimeError:
            return  # The loop is closed.
        # Avoids a second wake-up for letters that are about to be drained; an ending loop drains none.
        while not drained.wait(_LOOK_UP):
            if loop.is_closed():
                return
