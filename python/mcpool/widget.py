"""The live status of a manager in a notebook. Needs anywidget, which `mcpool[notebook]` brings.

A thread of the widget follows the manager, so that the table moves while a cell is running, too. It ends with
the widget or with the manager; neither the thread nor the widget keeps a manager alive.
"""

from __future__ import annotations

import asyncio
import threading
import time
import weakref
from typing import TYPE_CHECKING, Any

from . import _html, _native
from ._bridge import give_up
from ._html.frame import script, static
from ._public import public_names

if TYPE_CHECKING:
    from ._base import ManagerBase

    class _AnyWidget:
        """What is beneath has no types."""

        def __getattr__(self, name: str) -> Any: ...
        def close(self) -> None: ...
else:
    try:
        from anywidget import AnyWidget as _AnyWidget
        from traitlets import Bool, Float, Unicode
    except ImportError as _error:
        raise ImportError(
            "the widget needs the package anywidget: pip install 'mcpool[notebook]'"
        ) from _error

__all__ = ["StatusWidget"]


def __dir__() -> list[str]:
    return public_names(globals())


# Calls are not events, so their numbers are polled at this interval. Events are shown at once.
_LOOK = 1.0
# Many events in a row are shown as one change.
_STORM = 0.1
_NOT_SHOWN = {"log", "progress"}
# What was lost may have been any of these.
_CHANGES_TOOLS = {"tools_changed", "tool_drift", "config_changed", "lost"}

_widgets: weakref.WeakKeyDictionary[ManagerBase, weakref.ref[StatusWidget]] = weakref.WeakKeyDictionary()


def widget_of(manager: ManagerBase) -> StatusWidget:
    """The manager's widget; a new one when there is none, or it was closed."""
    known = _widgets.get(manager)
    widget = known() if known is not None else None
    if widget is None or widget.closed:
        widget = StatusWidget(manager)
        _widgets[manager] = weakref.ref(widget)
    return widget


class StatusWidget(_AnyWidget):
    """The status table and the tools of a manager, kept up to date until it or the manager is closed."""

    _esm = script("search.js", "widget.js")
    _css = static("mcpool.css")
    servers: str
    """The table of servers, as HTML."""
    tools: str
    """The table of tools, as HTML."""
    now: float
    """When this was so, by the kernel's clock."""
    live: bool
    """Whether the manager is there to be followed."""
    closed: bool
    """Whether the updates have been stopped."""
    if not TYPE_CHECKING:
        servers = Unicode("").tag(sync=True)
        tools = Unicode("").tag(sync=True)
        now = Float(0.0).tag(sync=True)
        live = Bool(True).tag(sync=True)

    def __init__(self, manager: ManagerBase) -> None:
        super().__init__()
        self.closed = False
        self._seen: object = None
        self._listed: object = None
        self._show(manager, tools=True)
        loop, stop = asyncio.new_event_loop(), asyncio.Event()
        # Subscribed here, so that no event is missed before the thread starts.
        following = _follow(weakref.ref(self), weakref.ref(manager), manager._native.observe(), stop)
        self._thread = threading.Thread(
            target=_run, args=(loop, following), name="mcpool-widget", daemon=True
        )
        self._stop = weakref.finalize(self, _end, loop, stop)
        self._thread.start()

    def close(self) -> None:
        """Stops the updates; the display stays as it is."""
        self.closed = True
        self._stop()
        super().close()

    def _show(self, manager: ManagerBase, *, tools: bool) -> None:
        """Sends what has changed; `tools` says that they did, be their names the same or not."""
        rows: list[dict[str, Any]] = manager._native.status()
        # Clocks run on by themselves.
        state = [{**row, "next_retry_ms": row["next_retry_ms"] is None} for row in rows]
        offered = manager.get_tools()
        listed = [(tool.name, tool.state) for tool in offered]
        with self.hold_sync():
            if state != self._seen:
                self._seen = state
                self.now = time.time() * 1000
                self.servers = _html.status_table(manager.status())
            if tools or listed != self._listed:
                self._listed = listed
                self.tools = _html.tool_table(offered)


async def _follow(
    widget: weakref.ref[StatusWidget],
    manager: weakref.ref[ManagerBase],
    events: _native.NativeEvents,
    stop: asyncio.Event,
) -> None:
    halted: asyncio.Future[Any] = asyncio.ensure_future(stop.wait())
    coming: asyncio.Future[Any] = _native.events_ready(events)
    over = False
    try:
        while not over:
            kinds: set[str] = set()
            await asyncio.wait({coming, halted}, timeout=_LOOK, return_when=asyncio.FIRST_COMPLETED)
            if coming.done():
                over = not coming.result()
                if not over:
                    kinds = {event["type"] for event in events.take()}
                    coming = _native.events_ready(events)
                    if kinds <= _NOT_SHOWN:
                        continue
                    await asyncio.wait({halted}, timeout=_STORM)
            tools = over or not kinds.isdisjoint(_CHANGES_TOOLS)
            over = halted.done() or not _look(widget(), manager(), tools=tools, over=over)
    finally:
        give_up(coming)
        halted.cancel()


def _look(widget: StatusWidget | None, manager: ManagerBase | None, *, tools: bool, over: bool) -> bool:
    """Shows the current state; returns whether more may follow."""
    if widget is None or widget.closed:
        return False
    if manager is not None:
        widget._show(manager, tools=tools)
    if manager is None or over:
        widget.live = False
    return widget.live is True


def _run(loop: asyncio.AbstractEventLoop, following: Any) -> None:
    try:
        loop.run_until_complete(following)
    finally:
        loop.close()


def _end(loop: asyncio.AbstractEventLoop, stop: asyncio.Event) -> None:
    try:
        loop.call_soon_threadsafe(stop.set)
    except RuntimeError:
        return  # The loop has ended by itself.
