"""The core's log records on their way to `logging`. The first manager imports this, never the package itself.

The core makes only what a logger wants: `follow` tells it the lowest level that any of ours is set to.
"""

from __future__ import annotations

import atexit
import logging
import threading

from ._native import LogReader

_LEVELS = (5, logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR)
_SILENCE = logging.CRITICAL
_LOOK_UP = 60.0  # Seconds after which a new level is noticed without any log record.
_FAREWELL = 1.0  # Seconds that handlers have for the last records when the interpreter ends.

_logger = logging.getLogger("mcpool")
# Without configured logging, Python would print warnings to stderr.
_logger.addHandler(logging.NullHandler())
_reader: LogReader | None = None
_thread: threading.Thread | None = None


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
    thread = threading.Thread(target=_hand_on, args=(reader,), name="mcpool-logs", daemon=True)
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


def _hand_on(reader: LogReader) -> None:
    while (batch := reader.next_batch(_LOOK_UP)) is not None:
        for level, server, target, message, time_ms in batch:
            try:
                _handle(level, server, target, message, time_ms)
            except BaseException as error:
                # A handler's error is shown like that of any thread and does not affect the other records.
                of = (type(error), error, error.__traceback__, threading.current_thread())
                threading.excepthook(threading.ExceptHookArgs(of))
        reader.set_level(_lowest_level())


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
