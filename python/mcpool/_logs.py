"""The core's log records on their way to `logging`. The first manager imports this, never the package itself.

The core makes only what a logger wants: `follow` tells it the lowest level that any of ours is set to.
"""

from __future__ import annotations

import atexit
import logging
import os
import sys
import threading
import time
from _thread import get_native_id
from collections import deque

from ._native import LogReader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import TypeAlias

    Row: TypeAlias = tuple[int, str | None, str, str, int]

_LEVELS = (5, logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR)
_SILENCE = logging.CRITICAL
_LOOK_UP = 60.0  # Seconds after which a new level is noticed without any log record.
_GREEN_PAUSE = 0.25  # Seconds between two looks for records, where a thread is not one of its own.
_FAREWELL = 1.0  # Seconds that handlers have for the last records when the interpreter ends.

_logger = logging.getLogger("mcpool")
# Without configured logging, Python would print warnings to stderr.
_logger.addHandler(logging.NullHandler())
_reader: LogReader | None = None
_thread: threading.Thread | _BesideGevent | None = None


def follow() -> None:
    """Sets the core's log level from our loggers; the first call in a process starts the listener."""
    global _reader
    first = LogReader.claim()
    if first is not None:
        _reader = first
        _listen(first)
    if _reader is not None:
        _reader.set_level(_lowest_level())


def _listen(reader: LogReader) -> None:
    global _thread
    gevent = _patched_gevent()
    if gevent is not None:
        _thread = _BesideGevent(reader, gevent)
        return
    starter = get_native_id()
    thread = threading.Thread(target=_read, args=(reader, starter), name="mcpool-logs", daemon=True)
    try:
        thread.start()
    except RuntimeError:
        reader.close()  # The interpreter is ending: there will be no more threads.
    else:
        _thread = thread


def _lowest_level() -> int:
    known = list(logging.root.manager.loggerDict.items())
    children = [logger for name, logger in known if name.startswith("mcpool.")]
    loggers = [_logger, *(logger for logger in children if isinstance(logger, logging.Logger))]
    wanted = (level for level in _LEVELS if any(logger.isEnabledFor(level) for logger in loggers))
    return next(wanted, _SILENCE)


def _read(reader: LogReader, starter: int) -> None:
    # Where a library has made threads cooperative, this runs on the starter's thread, which must not block.
    is_green = get_native_id() == starter
    while (batch := reader.next_batch(0 if is_green else _LOOK_UP)) is not None:
        _hand_on(batch, reader)
        if is_green:
            time.sleep(_GREEN_PAUSE)


def _hand_on(batch: list[Row], reader: LogReader) -> None:
    for level, server, target, message, time_ms in batch:
        try:
            _handle(level, server, target, message, time_ms)
        except BaseException as error:
            # A handler's error is shown like that of any thread and does not affect the other records.
            of = (type(error), error, error.__traceback__, threading.current_thread())
            threading.excepthook(threading.ExceptHookArgs(of))
    reader.set_level(_lowest_level())


class _BesideGevent:
    """A real thread that waits for records; a greenlet of the hub hands them on, as handlers may expect."""

    def __init__(self, reader: LogReader, gevent: ModuleType) -> None:
        self._reader = reader
        self._process = os.getpid()
        self._batches: deque[list[Row]] = deque()
        self._wake_hub = gevent.on_this_hub(self._hand_on_all)
        self._running = gevent.new_lock()
        self._running.acquire()
        gevent.start_thread(self._read)

    def _read(self) -> None:
        try:
            while (batch := self._reader.next_batch(_LOOK_UP)) is not None:
                self._batches.append(batch)
                self._wake()
        finally:
            self._running.release()

    def _wake(self) -> None:
        try:
            self._wake_hub()
        except Exception:  # The hub of the first manager is gone.
            self._hand_on_all()

    def _hand_on_all(self) -> None:
        while self._batches:
            _hand_on(self._batches.popleft(), self._reader)

    def join(self, timeout: float) -> None:
        # A forked child has no such thread.
        if self._process == os.getpid():
            self._running.acquire(timeout=timeout)
            self._hand_on_all()


def _patched_gevent() -> ModuleType | None:
    if "gevent.monkey" not in sys.modules:
        return None
    from . import _gevent

    return _gevent if _gevent.is_patched() else None


def _handle(level: int, server: str | None, target: str, message: str, time_ms: int) -> None:
    logger = logging.getLogger(f"mcpool.server.{server}") if server else _logger
    if not logger.isEnabledFor(level):
        return
    record = logger.makeRecord(logger.name, level, target, 0, message, (), None)
    late = record.created - time_ms / 1000
    vars(record).update(
        server=server,
        created=time_ms / 1000,
        msecs=float(time_ms % 1000),
        relativeCreated=record.relativeCreated - late * 1000,
    )
    logger.handle(record)


@atexit.register
def _stop() -> None:
    if _reader is not None and _thread is not None:
        _reader.close()
        _thread.join(_FAREWELL)
