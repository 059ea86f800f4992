"""The bridge of an event loop: found, or made on first use. Importing this does not load asyncio."""

from __future__ import annotations

import sys
from sys import modules
from weakref import WeakKeyDictionary

from ._native import Bridge

TYPE_CHECKING = False  # Not from typing: importing this package stays cheap.
if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, Future
    from types import FrameType
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


def require_loop() -> None:
    """Raises unless a loop of asyncio runs on this thread."""
    from asyncio import get_running_loop

    try:
        get_running_loop()
    except RuntimeError:
        raise no_loop() from None


def no_loop() -> RuntimeError:
    """The error of an async verb where no loop of asyncio runs; also for the native module."""
    if _is_in_trio():
        return RuntimeError(
            "mcpool.Manager needs a running asyncio event loop, and this is trio. Use "
            "mcpool.blocking.Manager in a worker thread, for example "
            "`await trio.to_thread.run_sync(manager.connect_all)`; or run the program on asyncio "
            '(with anyio: backend="asyncio").'
        )
    return RuntimeError(
        "mcpool.Manager needs a running asyncio event loop, and there is none on this thread. Await it in a "
        "coroutine that asyncio.run() runs, or use mcpool.blocking.Manager, which needs no event loop."
    )


def _is_in_trio() -> bool:
    trio = modules.get("trio")
    try:
        return trio is not None and bool(trio.lowlevel.in_trio_run())
    except Exception:  # A trio of another version, or half of one.
        return False


def warn_inside_loop() -> None:
    """Warns whoever calls a blocking verb on the thread of a running loop; called by the native module."""
    _warn_of_blocking(
        "mcpool.blocking is used inside a running asyncio event loop, which stands still meanwhile: use "
        "mcpool.Manager and await its methods, or call this in a thread with asyncio.to_thread"
    )


def warn_inside_trio() -> None:
    """Same for a task of trio; called only where trio is loaded."""
    if _is_in_trio():
        _warn_of_blocking(
            "mcpool.blocking is used inside a task of trio, whose loop stands still meanwhile: call this in "
            "a thread with trio.to_thread.run_sync"
        )


def _warn_of_blocking(message: str) -> None:
    from warnings import warn

    frame, level = sys._getframe(), 1
    while _is_ours(frame) and frame.f_back is not None:
        # A framework chose this thread for a tool that it calls.
        if _is_ours(frame, ".adapters"):
            return
        frame, level = frame.f_back, level + 1
    warn(message, RuntimeWarning, stacklevel=level)


def _is_ours(frame: FrameType, part: str = "") -> bool:
    return f"{frame.f_globals.get('__name__')}.".startswith(f"{__package__}{part}.")


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
