"""Restores exceptions from the core's errors; `_error_classes` has their classes."""

from __future__ import annotations

import os
import sys
from typing import Any

from ._error_classes import BY_CODE, Restart, RpcError
from ._error_classes import McpoolError as McpoolError


def restore(sent: dict[str, Any]) -> McpoolError:
    """The exception for an error of the core."""
    return _restore_fields(**sent)


def restore_raised(sent: dict[str, Any]) -> McpoolError:
    """Same for an error that the native module raises, where Python sets no context."""
    error = restore(sent)
    error.__context__ = sys.exc_info()[1]
    return error


def _restore_fields(
    code: str,
    message: str,
    rpc: dict[str, Any] | None = None,
    restart: dict[str, Any] | None = None,
    cause: dict[str, Any] | None = None,
    retryable: bool = False,  # The class says it.
    **others: Any,
) -> McpoolError:
    error = BY_CODE[code](
        message,
        rpc=RpcError(**rpc) if rpc else None,
        restart=_restore_restart(**restart) if restart else None,
        **others,
    )
    if cause:  # Setting a cause, even None, suppresses the context.
        error.__cause__ = _restore_cause(cause)
    return error


def _restore_cause(sent: dict[str, Any]) -> Exception:
    if "code" in sent:
        return restore(sent)
    errno = sent["errno"]
    # Python chooses the class by the number: ConnectionRefusedError, FileNotFoundError, …
    return Exception(sent["message"]) if errno is None else OSError(errno, os.strerror(errno))


def _restore_restart(last_error: dict[str, Any] | None, **others: Any) -> Restart:
    return Restart(last_error=restore(last_error) if last_error else None, **others)
