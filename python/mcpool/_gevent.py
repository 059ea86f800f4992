"""Waiting under gevent: the hub runs other greenlets meanwhile. Imported only where gevent is loaded."""

from __future__ import annotations

from gevent import get_hub, getcurrent
from gevent.hub import Waiter
from gevent.monkey import get_original, is_module_patched

from ._native import WakeBox

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_READ = 1
_ATTRIBUTE = "_mcpool_waits"


class HubWaits:
    """The waits of the greenlets of one hub."""

    def __init__(self, hub: Any) -> None:
        self.box = WakeBox()
        self._hub = hub
        self._waiting: dict[int, Any] = {}
        self._watcher = hub.loop.io(self.box.fileno(), _READ)
        self._watcher.start(self._wake)
        # A hub without any other work must be able to end.
        self._watcher.ref = False

    def pause(self, key: int) -> None:
        """Returns when the core has woken this wait; other greenlets run meanwhile."""
        waiter = self._waiting[key] = Waiter(self._hub)
        self._watcher.ref = True
        try:
            waiter.get()
        finally:
            del self._waiting[key]
            self._watcher.ref = bool(self._waiting)

    def stop(self) -> None:
        self._watcher.stop()

    def _wake(self) -> None:
        for key in self.box.take():
            waiter = self._waiting.get(key)
            if waiter is not None:
                waiter.switch(None)


def hub_waits() -> HubWaits | None:
    """Called by the native module; None where a verb has to block its thread."""
    hub = get_hub() if is_patched() else _existing_hub()
    if hub is None or hub is getcurrent():
        return None
    waits: HubWaits | None = getattr(hub, _ATTRIBUTE, None)
    if waits is None or waits.box.is_inherited():
        if waits is not None:
            waits.stop()
        waits = HubWaits(hub)
        setattr(hub, _ATTRIBUTE, waits)
    return waits


def _existing_hub() -> Any:
    try:
        from gevent._hub_local import get_hub_if_exists
    except ImportError:  # It is not public.
        return None
    return get_hub_if_exists()


def is_patched() -> bool:
    """Whether `threading` makes greenlets."""
    return bool(is_module_patched("threading"))


def start_thread(function: Callable[..., object], *arguments: object) -> None:
    """Starts a real thread."""
    get_original("_thread", "start_new_thread")(function, arguments)


def new_lock() -> Any:
    """A lock between real threads."""
    return get_original("_thread", "allocate_lock")()


def on_this_hub(function: Callable[..., object]) -> Callable[..., None]:
    """The function, for other threads to have it called in a greenlet of this thread's hub."""
    hub = get_hub()

    def call(*arguments: object) -> None:
        hub.loop.run_callback_threadsafe(_spawn, function, *arguments)

    return call


def _spawn(function: Callable[..., object], *arguments: object) -> None:
    from gevent import spawn

    spawn(function, *arguments)
