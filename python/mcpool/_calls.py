"""The progress of one call, and its span."""

from __future__ import annotations

from typing import NamedTuple

from ._error_classes import InvalidArgumentsError

TYPE_CHECKING = False  # Not from typing: importing this package stays cheap.
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeAlias

    from ._telemetry import CallSpan


class Progress(NamedTuple):
    """The progress of a call, in the server's own unit."""

    progress: float
    total: float | None
    message: str | None


if TYPE_CHECKING:
    OnProgress: TypeAlias = Callable[[Progress], object]
    """Gets the progress of a call, on the thread of its loop, or on the one that waits for the call."""


def require_plain(on_progress: object) -> None:
    """Raises for an async function: nothing would await it."""
    from inspect import iscoroutinefunction

    of_object = getattr(on_progress, "__call__", None)  # noqa: B004
    if iscoroutinefunction(on_progress) or iscoroutinefunction(of_object):
        raise InvalidArgumentsError(
            'The option "on_progress" of a call must be a plain function, not an async one',
            hint="nothing awaits it; write `def` in place of `async def`",
            executed="no",
        )


_begin: Callable[..., CallSpan | None] | None = None


def begin_span(read_facts: Callable[..., dict[str, Any] | None], *which: Any) -> CallSpan | None:
    """The span of a call or request that starts now; only for callers that have checked for OpenTelemetry."""
    global _begin
    if _begin is None:
        from ._telemetry import begin

        _begin = begin
    return _begin(read_facts, *which)
